package agent_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// What a request costs upf-c, from the datagram to the answer, without the system calls and without anybody else to wait
// for: the sessions are those of `make bench-n4`.

// bench is an agent that executes a request in the thread that hands it over, beside a upf-u that takes everything.
type bench struct {
	tb      testing.TB
	server  *pfcp.Server
	agent   *agent.Agent
	machine *inline
	answer  []byte
	asked   uint32
}

// inline is the machine, with threads of requests inlined. What comes by the clock does not come.
type inline struct {
	machine.Machine
	now bool
}

func (m *inline) Wait(d time.Duration, ready ...<-chan struct{}) bool {
	if d >= time.Second {
		d = -1
	}
	return m.Machine.Wait(d, ready...)
}

func (m *inline) Go(f func()) {
	if m.now {
		f()
	} else {
		go f()
	}
}

var smfAddr = netip.MustParseAddrPort("127.77.0.9:8805")

// newBench has a CP function with features (TS 29.244 8.2.58).
func newBench(tb testing.TB, sessions uint32, features uint8) *bench {
	tb.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	b := &bench{tb: tb, machine: &inline{Machine: machine.Real()}}
	upfu := fakeupfu.InMemory(fakeupfu.Options{Sessions: sessions, Pairs: 2 * sessions, Boot: 1, Now: time.Now, Takes: true})
	cfg, err := config.Parse([]byte(`
nodeID: upf.test
pfcp: {listen: "127.77.0.1:0", advertise: 127.77.0.1}
heartbeat: {interval: 0s}
n3: {endpoints: [172.30.3.16/28]}
dataplane: {socket: "/nowhere"}
`))
	if err != nil {
		tb.Fatal(err)
	}
	serving := make(chan struct{})
	b.agent = agent.NewIn(agent.World{
		Machine: b.machine,
		Dial: func(_ context.Context, events dataplane.Events) (*dataplane.Conn, error) {
			return upfu.Dial(events, log)
		},
		Serve: func(ctx context.Context, o pfcp.Options, h pfcp.Handler) (*pfcp.Server, func() error, error) {
			b.server = pfcp.New(ctx, o, h, func(octets []byte, _ netip.AddrPort) { b.answer = octets })
			return b.server, func() error { close(serving); <-ctx.Done(); return nil }, nil
		},
	}, cfg, log, nowhere{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.agent.Run(ctx) }()
	tb.Cleanup(func() {
		b.machine.now = false
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("agent: %v", err)
		}
	})
	<-serving
	b.machine.now = true
	setup := message.NewAssociationSetupRequest(1, ie.NewNodeID(smfAddr.Addr().String(), "", ""),
		ie.NewRecoveryTimeStamp(time.Unix(1_700_000_000, 0)), ie.NewCPFunctionFeatures(features))
	b.ask(octets(tb, setup))
	return b
}

func octets(tb testing.TB, m message.Message) []byte {
	tb.Helper()
	out := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// ask hands over a request, under a sequence number of its own where it is a session's.
func (b *bench) ask(request []byte) {
	b.answer = nil
	if request[0]&1 != 0 {
		b.asked++
		binary.BigEndian.PutUint32(request[12:], b.asked<<8)
	}
	b.server.Receive(b.agent, smfAddr, request)
	if b.answer == nil || b.answer[1] != request[1]+1 {
		b.tb.Fatalf("message %d is answered with % x", request[1], b.answer)
	}
}

// accepted is the answer to a session's request: the UP SEID, if it is there.
func (b *bench) accepted() uint64 {
	seid := uint64(0)
	for rest := b.answer[16:]; len(rest) >= 4; {
		n := int(binary.BigEndian.Uint16(rest[2:]))
		switch v := rest[4 : 4+n]; binary.BigEndian.Uint16(rest) {
		case ie.Cause:
			if v[0] != ie.CauseRequestAccepted {
				b.tb.Fatalf("refused: % x", b.answer)
			}
		case ie.FSEID:
			seid = binary.BigEndian.Uint64(v[1:])
		}
		rest = rest[4+n:]
	}
	return seid
}

// necSession is that of NEC's measurement: 2 PDRs, 2 FARs, 2 QERs, 2 URRs. tunnel and UE address are octets that
// stand nowhere else.
func necSession(choose bool) []*ie.IE {
	u := fakesmf.UE{TEID: 0x5a5a5a5a, N3: "172.30.3.16", Addr: "90.90.90.91"}
	ip4 := func(s string) net.IP { return net.ParseIP(s).To4() }
	rest := func(ies ...*ie.IE) []*ie.IE {
		return append(ies, ie.NewQERID(1), ie.NewQERID(2), ie.NewURRID(1), ie.NewURRID(2))
	}
	fteid := u.FTEID()
	if choose {
		fteid = ie.NewFTEID(0x05, 0, nil, nil, 0)
	}
	ies := []*ie.IE{
		ie.NewNodeID(smfAddr.Addr().String(), "", ""), ie.NewFSEID(0x5b5b5b5b5b5b5b5b, ip4(smfAddr.Addr().String()), nil), ie.NewPDNType(1),
		ie.NewCreatePDR(rest(ie.NewPDRID(1), ie.NewPrecedence(255), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), fteid,
			ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x02, u.Addr, "", 0, 0)), ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1))...),
		ie.NewCreatePDR(rest(ie.NewPDRID(2), ie.NewPrecedence(255), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore),
			ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x06, u.Addr, "", 0, 0)), ie.NewFARID(2))...),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet"))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, 0x5c5c5c5c, "172.30.3.100", "", 0, 0, 0))),
	}
	for id := range uint32(2) {
		qer := []*ie.IE{ie.NewQERID(id + 1), ie.NewGateStatus(0, 0), ie.NewMBR(1_000_000, 2_000_000)}
		if id == 1 {
			qer = append(qer, ie.NewQFI(9))
		}
		ies = append(ies, ie.NewCreateQER(qer...), ie.NewCreateURR(ie.NewURRID(id+1), ie.NewMeasurementMethod(0, 1, 0),
			ie.NewReportingTriggers(2, 0, 0), ie.NewVolumeThreshold(1, 1<<50, 0, 0)))
	}
	return ies
}

// template is a request and where its session's numbers stand.
type template struct {
	octets []byte
	marks  map[string][]int
}

func newTemplate(tb testing.TB, m message.Message) *template {
	t := &template{octets: octets(tb, m), marks: map[string][]int{}}
	for _, mark := range []string{"\x5a\x5a\x5a\x5a", "\x5b\x5b\x5b\x5b\x5b\x5b\x5b\x5b", "\x5a\x5a\x5a\x5b", "\x5c\x5c\x5c\x5c"} {
		for at := range t.octets {
			if at+len(mark) <= len(t.octets) && string(t.octets[at:at+len(mark)]) == mark {
				t.marks[mark] = append(t.marks[mark], at+len(mark)-4)
			}
		}
	}
	return t
}

// of writes it for session n.
func (t *template) of(n uint32, seid uint64) []byte {
	binary.BigEndian.PutUint64(t.octets[4:], seid)
	for _, at := range t.marks {
		for _, at := range at {
			binary.BigEndian.PutUint32(t.octets[at:], n)
		}
	}
	return t.octets
}

// requests are those of a session's life, its establishment in two ways.
type requests struct{ establish, chosen, modify, remove *template }

func newRequests(tb testing.TB) requests {
	modify := ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
		ie.NewOuterHeaderCreation(0x0100, 0x5c5c5c5c, "172.30.3.100", "", 0, 0, 0)))
	return requests{
		newTemplate(tb, message.NewSessionEstablishmentRequest(0, 0, 0, 0, 0, necSession(false)...)),
		newTemplate(tb, message.NewSessionEstablishmentRequest(0, 0, 0, 0, 0, necSession(true)...)),
		newTemplate(tb, message.NewSessionModificationRequest(0, 0, 1, 0, 0, modify)),
		newTemplate(tb, message.NewSessionDeletionRequest(0, 0, 1, 0, 0)),
	}
}

const benchSessions = 1 << 16

// ueNumber makes session n's UE address and tunnel one of a UE's: 90.0.0.0/8.
func ueNumber(n uint32) uint32 { return 90<<24 | n + 1 }

// What is allocated a request is the same on a machine that others use, and says most of what upf-c itself spends: these are bounds of
// it. `go test -bench Requests -memprofile` says where.
func TestWhatARequestAllocates(t *testing.T) {
	if slower > 1 {
		t.Skip("the race detector allocates, too")
	}
	for name, features := range map[string]uint8{"for a CP function as most are": 0, "for one that wants to hear of load and overload": 3} {
		t.Run(name, func(t *testing.T) { whatARequestAllocates(t, features) })
	}
}

func whatARequestAllocates(t *testing.T, features uint8) {
	const n = 500
	l, r := newBench(t, benchSessions, features), newRequests(t)
	seids := make([]uint64, n)
	establish := func(with *template) func(i int) {
		return func(i int) {
			l.ask(with.of(ueNumber(uint32(i)), 0))
			seids[i] = l.accepted()
		}
	}
	modify := func(i int) { l.ask(r.modify.of(ueNumber(uint32(i))+1, seids[i])); l.accepted() }
	remove := func(i int) { l.ask(r.remove.of(ueNumber(uint32(i)), seids[i])); l.accepted() }
	for _, round := range []struct {
		what string
		ask  func(i int)
		most uint64
	}{
		{"the first establishments fill tables and pools", establish(r.establish), 1000},
		{"their deletions likewise", remove, 1000},
		{"an establishment", establish(r.establish), 23},
		{"a modification", modify, 35},
		{"a deletion, with the last usage", remove, 23},
		{"an establishment for which an F-TEID is chosen", establish(r.chosen), 26},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range n {
			round.ask(i)
		}
		runtime.ReadMemStats(&after)
		if got := (after.Mallocs - before.Mallocs) / n; got > round.most {
			t.Errorf("%s: %d allocations, want %d at most", round.what, got, round.most)
		} else {
			t.Logf("%s: %d allocations", round.what, got)
		}
	}
}

func BenchmarkRequests(b *testing.B) {
	for _, of := range []string{"establish", "establish with a chosen F-TEID", "modify", "delete"} {
		b.Run(of, func(b *testing.B) {
			l, r := newBench(b, benchSessions, 0), newRequests(b)
			seids := make([]uint64, 0, benchSessions/2)
			fill := func(t *template, n int) {
				for i := range n {
					l.ask(t.of(ueNumber(uint32(i)), 0))
					seids = append(seids, l.accepted())
				}
			}
			empty := func() {
				for i, seid := range seids {
					l.ask(r.remove.of(ueNumber(uint32(i)), seid))
				}
				seids = seids[:0]
			}
			b.ReportAllocs()
			b.ResetTimer()
			spent := time.Duration(0) // of a machine that others use, too
			start := func() { b.StartTimer(); spent -= cpuTime(b) }
			stop := func() { spent += cpuTime(b); b.StopTimer() }
			b.StopTimer()
			start()
			for done := 0; done < b.N; {
				n := min(cap(seids), b.N-done)
				done += n
				switch of {
				case "establish":
					fill(r.establish, n)
					stop()
					empty()
				case "establish with a chosen F-TEID":
					fill(r.chosen, n)
					stop()
					empty()
				case "modify":
					stop()
					fill(r.establish, n)
					start()
					for i, seid := range seids {
						l.ask(r.modify.of(ueNumber(uint32(i))+1, seid))
					}
					stop()
					empty()
				default:
					stop()
					fill(r.establish, n)
					start()
					empty()
					stop()
				}
				start()
			}
			stop()
			b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
		})
	}
}
