package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/trace"
)

// Source is what is looked into; *agent.Agent is one.
type Source interface {
	Status() agent.Status
	Sessions() []agent.SessionInfo
	Session(seid uint64) (*agent.SessionDetail, bool)
	// Compiled is the session as upf-u has it, JSON of upf-u's making.
	Compiled(seid uint64) ([]byte, error)
	Peers() []peers.Peer
	// RequestRelease asks a CP function to release its association within the grace period, and ends
	// it after that.
	RequestRelease(ctx context.Context, node string, grace time.Duration) error
	// Trace calls f for each event until the order is carried out or ctx ends.
	Trace(ctx context.Context, order agent.TraceOrder, f func(*trace.Event) error) error
}

// Stats are the workers' counters, summed, under the names of the metrics.
type Stats struct {
	agent.Status
	Interfaces map[string]abi.PortStats `json:"interfaces"`
	Forwarded  map[string]uint64        `json:"forwardedPackets"`
	Drops      map[string]uint64        `json:"droppedPackets"` // reasons that occurred
	Missed     map[string]uint64        `json:"missedFrames"`   // by interface that lost some before upf-u could take them
	Workers    []Worker                 `json:"workers"`
}

// Worker is how busy one worker was since upf-u started.
type Worker struct {
	Lcore      uint64  `json:"lcore"`
	Busy       float64 `json:"busy"` // 0 to 1
	CyclesBusy uint64  `json:"cyclesBusy"`
	CyclesIdle uint64  `json:"cyclesIdle"`
}

// Session is one session from both sides.
type Session struct {
	*agent.SessionDetail
	Compiled json.RawMessage `json:"compiled,omitempty"` // as upf-u has it
	// NotCompiled says why upf-u did not show it.
	NotCompiled string `json:"notCompiled,omitempty"`
}

// Handler serves /debug/sessions, /debug/sessions/{SEID or UE IP address}, /debug/stats, /debug/peers,
// /debug/trace, /topology and /associations/{Node ID}/release.
func Handler(s Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/sessions", func(w http.ResponseWriter, r *http.Request) {
		keep, err := filter(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		list := slices.DeleteFunc(s.Sessions(), func(i agent.SessionInfo) bool { return !keep(&i) })
		total := len(list)
		if limit := r.URL.Query().Get("limit"); limit != "" {
			n, err := strconv.Atoi(limit)
			if err != nil || n < 0 {
				http.Error(w, "limit wants a number of sessions", http.StatusBadRequest)
				return
			}
			list = list[:min(n, len(list))]
		}
		writeList(w, total, list)
	})
	mux.HandleFunc("GET /debug/sessions/{which}", func(w http.ResponseWriter, r *http.Request) {
		seid, err := find(s, r.PathValue("which"))
		if err != nil {
			http.Error(w, err.Error(), err.status)
			return
		}
		d, ok := s.Session(seid)
		if !ok {
			http.Error(w, noSession("SEID "+pfcp.Hex(seid)).Error(), http.StatusNotFound)
			return
		}
		out := Session{SessionDetail: d}
		if b, err := s.Compiled(seid); err != nil {
			out.NotCompiled = err.Error()
		} else {
			out.Compiled = b
		}
		write(w, out)
	})
	mux.HandleFunc("GET /debug/stats", func(w http.ResponseWriter, _ *http.Request) { write(w, sum(s.Status())) })
	mux.Handle("GET /topology", Topology(s))
	mux.HandleFunc("GET /debug/peers", func(w http.ResponseWriter, _ *http.Request) { write(w, s.Peers()) })
	mux.HandleFunc("POST /associations/{node}/release", func(w http.ResponseWriter, r *http.Request) { serveRelease(s, w, r) })
	mux.HandleFunc("GET /debug/trace", func(w http.ResponseWriter, r *http.Request) { serveTrace(s, w, r) })
	return mux
}

// Topology serves where upf-u's CPUs, ports and memory are. It says 503 while there is no upf-u.
func Topology(s interface{ Status() agent.Status }) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t := s.Status().Topology
		if t == nil {
			http.Error(w, "upf-u is not connected, or does not say where it is", http.StatusServiceUnavailable)
			return
		}
		write(w, t)
	})
}

// writeList writes how many sessions there are, and then one after the other: as one text, a full UPF's sessions
// are a good part of the memory that upf-c has.
func writeList(w http.ResponseWriter, total int, list []agent.SessionInfo) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	e := json.NewEncoder(w)
	if e.Encode(total) != nil {
		return // the asker went away
	}
	for i := range list {
		if e.Encode(&list[i]) != nil {
			return
		}
	}
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the asker went away
}

// failure is an error with its HTTP status.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func noSession(what string) *failure {
	return &failure{http.StatusNotFound, "no session has " + what + ": `upfctl sessions` lists those that are there"}
}

func parseSEID(v string) (uint64, *failure) {
	seid, err := strconv.ParseUint(v, 0, 64)
	if err != nil {
		return 0, &failure{http.StatusBadRequest, fmt.Sprintf("%q is not a SEID: give the number in the first column of `upfctl sessions`, such as 0x1f00000001", v)}
	}
	return seid, nil
}

// find is the SEID of a session that is named by SEID or UE IP address.
func find(s Source, which string) (uint64, *failure) {
	ue, err := netip.ParseAddr(which)
	if err != nil {
		seid, wrong := parseSEID(which)
		if wrong != nil {
			return 0, &failure{http.StatusBadRequest, fmt.Sprintf("%q is neither a SEID, such as 0x1f00000001, nor a UE IP address, such as 10.45.0.1", which)}
		}
		return seid, nil
	}
	var found []agent.SessionInfo
	for _, i := range s.Sessions() {
		if hasUE(&i, ue) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return 0, noSession("the UE IP address " + which)
	case 1:
		return parseSEID(found[0].SEID)
	}
	var names []string
	for i := range found {
		names = append(names, strings.TrimSpace(found[i].SEID+" "+found[i].NetworkInstance))
	}
	return 0, &failure{http.StatusConflict, fmt.Sprintf("%d sessions have the UE IP address %s: name one by its SEID, %s", len(found), which, strings.Join(names, ", "))}
}

func hasUE(i *agent.SessionInfo, ue netip.Addr) bool {
	return i.UE == ue || i.UE6.IsValid() && i.UE6.Contains(ue)
}

// filter makes a predicate of the query's seid, ue and node; what is not given matches all.
func filter(q url.Values) (func(*agent.SessionInfo) bool, error) {
	var seid string
	var ue netip.Addr
	if v := q.Get("seid"); v != "" {
		n, wrong := parseSEID(v)
		if wrong != nil {
			return nil, wrong
		}
		seid = pfcp.Hex(n)
	}
	if v := q.Get("ue"); v != "" {
		a, err := netip.ParseAddr(v)
		if err != nil {
			return nil, fmt.Errorf("%q is not a UE IP address, such as 10.45.0.1", v)
		}
		ue = a
	}
	node := q.Get("node")
	return func(i *agent.SessionInfo) bool {
		return (seid == "" || i.SEID == seid) && (!ue.IsValid() || hasUE(i, ue)) && (node == "" || i.Node == node)
	}, nil
}

// serveTrace streams events, one JSON object a line. The stream ends when the asker goes, when the
// order is carried out, or with a line {"error": …}.
func serveTrace(s Source, w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number := func(name string, most uint64) (uint64, error) {
		v := q.Get(name)
		if v == "" {
			return 0, nil
		}
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil || n > most {
			return 0, fmt.Errorf("%s: %q is not a number from 0 to %d", name, v, most)
		}
		return n, nil
	}
	packets, err := number("packets", 1<<24)
	snap, snapErr := number("snap", agent.TraceSnapMax)
	if err := errors.Join(err, snapErr); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	order := agent.TraceOrder{Packets: uint32(packets), Snap: uint16(snap)}
	if which := q.Get("session"); which != "" {
		seid, wrong := find(s, which)
		if wrong != nil {
			http.Error(w, wrong.Error(), wrong.status)
			return
		}
		order.SEID = seid
	} else if q.Get("all") == "" {
		http.Error(w, "name a session, by SEID or UE IP address, or all", http.StatusBadRequest)
		return
	}
	flush := http.NewResponseController(w)
	began := false
	e := json.NewEncoder(w)
	err = s.Trace(r.Context(), order, func(event *trace.Event) error {
		began = true
		if event != nil { // nil: the order stands, so that the asker knows
			if err := e.Encode(event); err != nil {
				return err
			}
		}
		return flush.Flush()
	})
	switch {
	case err == nil || r.Context().Err() != nil:
	case began:
		_ = e.Encode(map[string]string{"error": err.Error()})
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func sum(st agent.Status) Stats {
	out := Stats{Status: st, Interfaces: map[string]abi.PortStats{}, Forwarded: map[string]uint64{}, Drops: map[string]uint64{}, Missed: map[string]uint64{}, Workers: []Worker{}}
	for p := range st.Missed {
		if port, ok := st.Networks.Port(p); ok && st.Missed[p] > 0 {
			out.Missed[port.String()] = st.Missed[p]
		}
	}
	for _, w := range st.Workers {
		for p := range w.Port {
			port, ok := st.Networks.Port(p)
			if !ok {
				continue
			}
			name := port.String()
			t := out.Interfaces[name]
			t.RxPackets += w.Port[p].RxPackets
			t.RxBytes += w.Port[p].RxBytes
			t.TxPackets += w.Port[p].TxPackets
			t.TxBytes += w.Port[p].TxBytes
			if name == "n9" && t == (abi.PortStats{}) {
				continue // not configured, or nobody uses it
			}
			out.Interfaces[name] = t
		}
		out.Forwarded["ul"] += w.Forwarded[abi.Ul]
		out.Forwarded["dl"] += w.Forwarded[abi.Dl]
		for r, reason := range abi.DropReasons {
			for p := range w.Drops {
				if n := w.Drops[p].Reason[r]; n > 0 {
					out.Drops[reason.Label] += n
				}
			}
		}
		out.Workers = append(out.Workers, Worker{
			Lcore: w.Lcore, Busy: share(w.CyclesBusy, w.CyclesIdle), CyclesBusy: w.CyclesBusy, CyclesIdle: w.CyclesIdle,
		})
	}
	return out
}

func share(busy, idle uint64) float64 {
	if busy+idle == 0 {
		return 0
	}
	return float64(busy) / float64(busy+idle)
}
