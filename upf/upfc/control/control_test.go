package control

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/rules"
)

type source struct{}

func (source) Status() agent.Status {
	var w abi.WorkerStats
	w.Drops[abi.DropSpoofedSource], w.CyclesBusy, w.CyclesIdle = 4, 25, 75
	w.Port[abi.PortN6].TxPackets = 9
	return agent.Status{NodeID: "upf.test", Connected: true, Sessions: 1, Workers: []abi.WorkerStats{w},
		Associations: []agent.AssociationInfo{{Node: "smf.test", From: netip.MustParseAddrPort("10.0.0.1:8805"), Sessions: 1, Since: time.Unix(0, 0)}}}
}

func (source) Sessions() []agent.SessionInfo {
	return []agent.SessionInfo{{SEID: "0x1f00000001", Node: "smf.test", UE: netip.MustParseAddr("10.45.0.1"), PDRs: 4, UL: 84}}
}

func (s source) Session(seid uint64) (*agent.SessionDetail, bool) {
	if seid != 0x1f00000001 {
		return nil, false
	}
	set := rules.NewSet()
	set.FARs[7] = &rules.FAR{ID: 7, Action: rules.Forward}
	return &agent.SessionDetail{SessionInfo: s.Sessions()[0], Rules: set}, true
}

func TestCommands(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "ctl.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: Handler(source{}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })

	for name, tt := range map[string]struct {
		args      []string
		json      bool
		want      []string
		wantError string
	}{
		"sessions":        {args: []string{"sessions"}, want: []string{"0x1f00000001", "10.45.0.1", "smf.test"}},
		"sessions, JSON":  {args: []string{"sessions"}, json: true, want: []string{`"ueIPAddress": "10.45.0.1"`}},
		"one session":     {args: []string{"session", "0x1f00000001"}, want: []string{`"FARs"`, `"7"`}},
		"no such session": {args: []string{"session", "0x2"}, wantError: "no session"},
		"no SEID":         {args: []string{"session", "x"}, wantError: "SEID"},
		"associations":    {args: []string{"associations"}, want: []string{"smf.test", "10.0.0.1:8805", "up"}},
		"stats":           {args: []string{"stats"}, want: []string{"dropped spoofed_source  4 packets", "n6 sent", "busy 25.0 %"}},
		"nothing":         {wantError: "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(context.Background(), socket, tt.json, tt.args, &out)
			if tt.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantError) {
					t.Errorf("error %v, want %q", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tt.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("want %q in\n%s", w, out.String())
				}
			}
		})
	}
	if err := Run(context.Background(), socket+"-none", false, []string{"stats"}, &bytes.Buffer{}); err == nil {
		t.Error("no error without a upf-c")
	}
}
