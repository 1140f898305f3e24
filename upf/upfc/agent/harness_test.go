package agent_test

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// nowhere counts nothing.
type nowhere struct{}

func (nowhere) Message(string, string, string) {}
func (nowhere) Retransmission(string, string)  {}
func (nowhere) Latency(string, time.Duration)  {}
func (nowhere) Restart(string)                 {}
func (nowhere) SessionsDropped(string, int)    {}
func (nowhere) Report(string)                  {}
func (nowhere) UsageReport(uint32)             {}

// lab is an agent between an SMF over UDP and a stand-in for upf-u.
type lab struct {
	t      *testing.T
	socket string
	upfu   *fakeupfu.UPFU
	agent  *agent.Agent
	addr   netip.AddrPort
	stop   func()
	edit   func(*config.Config)
	// networks are the network instances of upf-u.
	networks []string
	// of, where it is not nil, are they with their NAT44.
	of []fakeupfu.Network
	// log is the agent's; nil: nobody reads it.
	log slog.Handler
}

func newLab(t *testing.T, edit func(*config.Config)) *lab {
	t.Helper()
	return (&lab{t: t, edit: edit}).start()
}

// start is for a lab that has more to say.
func (l *lab) start() *lab {
	t := l.t
	t.Helper()
	l.socket = filepath.Join(t.TempDir(), "upf.sock")
	l.startUPFU()
	l.startAgent()
	t.Cleanup(func() { l.stop(); l.upfu.Kill() })
	return l
}

func (l *lab) startUPFU() {
	l.t.Helper()
	start := func() (*fakeupfu.UPFU, error) { return fakeupfu.StartWith(l.socket, l.networks...) }
	if l.of != nil {
		start = func() (*fakeupfu.UPFU, error) { return fakeupfu.StartOf(l.socket, l.of...) }
	}
	u, err := start()
	if err != nil {
		l.t.Fatal(err)
	}
	l.upfu = u
}

func (l *lab) config() *config.Config {
	c, err := config.Parse([]byte(`
nodeID: upf.test
pfcp: {listen: "127.77.0.1:0", advertise: 127.77.0.1, retransmit: {interval: 200ms, attempts: 3}, dataplaneWait: 300ms}
heartbeat: {interval: 0s}
n3: {endpoints: [172.30.3.16/28]}
dataplane: {socket: "` + l.socket + `"}
state: {file: "` + l.socket + `.state"}
`))
	if err != nil {
		l.t.Fatal(err)
	}
	if l.edit != nil {
		l.edit(c)
	}
	return c
}

func (l *lab) startAgent() {
	l.t.Helper()
	var out io.Writer = io.Discard
	if os.Getenv("UPFC_TEST_LOG") != "" {
		out = os.Stderr
	}
	var handler slog.Handler = slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})
	if l.log != nil {
		handler = l.log
	}
	l.agent = agent.New(l.config(), slog.New(handler), nowhere{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.agent.Run(ctx) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Errorf("agent: %v", err)
		}
	})
	l.addr = l.agent.Addr()
}

// restartAgent is upf-c killed and started again: only upf-u's memory survives.
func (l *lab) restartAgent() {
	l.t.Helper()
	l.stop()
	l.startAgent()
}

// only is the stand-in's one session.
func (l *lab) only() (uint32, fakeupfu.Session) {
	l.t.Helper()
	all := l.upfu.Sessions()
	if len(all) != 1 {
		l.t.Fatalf("%d sessions in upf-u, want 1", len(all))
	}
	for index, s := range all {
		return index, s
	}
	panic("unreachable")
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func parseHex(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 0, 64)
	return v, err == nil
}
