package control

import (
	"encoding/json"
	"net/http"
	"strconv"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
)

// Source is what is looked into; *agent.Agent is one.
type Source interface {
	Status() agent.Status
	Sessions() []agent.SessionInfo
	Session(seid uint64) (*agent.SessionDetail, bool)
}

// Stats are the workers' counters, summed, under the names of the metrics.
type Stats struct {
	agent.Status
	Interfaces map[string]abi.PortStats `json:"interfaces"`
	Forwarded  map[string]uint64        `json:"forwardedPackets"`
	Drops      map[string]uint64        `json:"droppedPackets"` // reasons that occurred
	Workers    []Worker                 `json:"workers"`
}

// Worker is how busy one worker was since upf-u started.
type Worker struct {
	Lcore uint64  `json:"lcore"`
	Busy  float64 `json:"busy"` // 0 to 1
}

// Handler serves /debug/sessions, /debug/sessions/{seid} and /debug/stats.
func Handler(s Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/sessions", func(w http.ResponseWriter, _ *http.Request) { write(w, s.Sessions()) })
	mux.HandleFunc("GET /debug/sessions/{seid}", func(w http.ResponseWriter, r *http.Request) {
		seid, err := strconv.ParseUint(r.PathValue("seid"), 0, 64)
		if err != nil {
			http.Error(w, "the SEID is a number, such as 0x1f00000001", http.StatusBadRequest)
			return
		}
		d, ok := s.Session(seid)
		if !ok {
			http.Error(w, "no session has this SEID", http.StatusNotFound)
			return
		}
		write(w, d)
	})
	mux.HandleFunc("GET /debug/stats", func(w http.ResponseWriter, _ *http.Request) { write(w, sum(s.Status())) })
	return mux
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the asker went away
}

func sum(st agent.Status) Stats {
	out := Stats{Status: st, Interfaces: map[string]abi.PortStats{}, Forwarded: map[string]uint64{}, Drops: map[string]uint64{}, Workers: []Worker{}}
	for _, w := range st.Workers {
		for p, name := range [abi.Ports]string{abi.PortN3: "n3", abi.PortN6: "n6"} {
			t := out.Interfaces[name]
			t.RxPackets += w.Port[p].RxPackets
			t.RxBytes += w.Port[p].RxBytes
			t.TxPackets += w.Port[p].TxPackets
			t.TxBytes += w.Port[p].TxBytes
			out.Interfaces[name] = t
		}
		out.Forwarded["ul"] += w.Forwarded[abi.Ul]
		out.Forwarded["dl"] += w.Forwarded[abi.Dl]
		for r, reason := range abi.DropReasons {
			if n := w.Drops[r]; n > 0 {
				out.Drops[reason.Label] += n
			}
		}
		busy := 0.0
		if all := w.CyclesBusy + w.CyclesIdle; all > 0 {
			busy = float64(w.CyclesBusy) / float64(all)
		}
		out.Workers = append(out.Workers, Worker{Lcore: w.Lcore, Busy: busy})
	}
	return out
}
