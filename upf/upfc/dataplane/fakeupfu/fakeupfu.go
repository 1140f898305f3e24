// Package fakeupfu stands in for upf-u in tests: it speaks the contract of upf/abi over a real
// SEQPACKET socket and real shared memory, keeps what it is told, and refuses, stays silent or dies
// on demand. It forwards no packets; tests write the counters.
package fakeupfu

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/nat"
)

// Session is what a SESSION_PUT installed.
type Session struct {
	PDRs   []abi.Pdr
	FARs   []abi.Far
	QERs   []abi.Qer
	URRs   []abi.Urr
	BARs   []abi.Bar
	SDFs   []abi.Sdf
	SDF6s  []abi.Sdf6
	Routes []abi.Route
	// Applications are those that are known by domain names.
	Applications    []abi.Application
	EthernetFilters []abi.EthernetFilter
	Ethernet        bool
	Text            string
	Blob            []byte
	Group           uint16 // by which its drops are counted
	// Network of N6 in which the UE's addresses are.
	Network uint16
	NAT     nat.Block // of NAT44; invalid: none
}

// Network is one of N6.
type Network struct {
	Name string
	NAT  nat.Config // without ports: it has no NAT44
	// Ethernet: it is a bridge.
	Ethernet bool
}

// UPFU is one life of the stand-in.
type UPFU struct {
	listener *net.UnixListener // nil: it is in memory alone
	boot     uint64
	shm      *os.File
	mem      []byte
	layout   layout
	most     uint32        // sessions
	clock    func() uint64 // by which packets are stamped
	hz       uint64        // of the clock

	mu         sync.Mutex
	conn       line // nil: nobody is connected
	sessions   map[uint32]Session
	meta       []byte
	arms       map[uint32]abi.UrrArm
	fired      map[uint32]uint8 // what of an arm was reached already
	endMarkers []abi.EndMarker
	echoes     []abi.Echo
	dropped    []uint32    // sessions whose buffered packets were dropped on demand
	told       []abi.EvMac // stations that upf-c has told of
	deleted    int
	trace      abi.Trace
	refuse     syscall.Errno
	silent     bool
	holding    bool
	answers    []abi.Msg // that Hold keeps
	mute       bool
	ignored    int
	endpoints  [4]abi.Endpoint
	networks   []Network
	datagrams  int
	changed    chan struct{}
	ready      bool // the upf-c that is connected has stored META
	restoring  bool // the last META said so
	granted    abi.Grant
	domains    []dataplane.Domain   // nil: there was no word of any
	atGrant    *AtGrant             // nil: it never was granted an epoch
	puts       int                  // SESSION_PUT
	held       [][]byte             // events that wait for one that has
	stations   map[uint32][][6]byte // those that Learn has learned, by session
}

// line is a connection to upf-c.
type line interface {
	Write(datagram []byte) (int, error)
	Close() error
	// greet answers HELLO.
	greet(datagram []byte) error
}

// socket is a real one.
type socket struct {
	*net.UnixConn
	shm *os.File
}

func (s *socket) greet(datagram []byte) error {
	_, _, err := s.WriteMsgUnix(datagram, unix.UnixRights(int(s.shm.Fd())), nil)
	return err
}

// Sizes that HELLO announces, unless other ones are asked for.
const (
	SessionsMax = 65536
	Pairs       = 65536
)

// layout is how the shared memory is laid out for so many slot pairs.
type layout struct {
	pairs                                                              uint32
	workersAt, placesAt, groupsAt, linksAt, pairsAt, metersAt, timesAt uintptr
	size                                                               uintptr
}

func layoutFor(pairs uint32) layout {
	l, n := layout{pairs: pairs}, uintptr(pairs)
	l.workersAt = unsafe.Sizeof(abi.Shm{})
	l.placesAt = l.workersAt + unsafe.Sizeof(abi.WorkerStats{})
	l.groupsAt = l.placesAt + unsafe.Sizeof(abi.Topology{})
	l.linksAt = l.groupsAt + abi.Groups*unsafe.Sizeof(abi.DropStats{})
	l.pairsAt = l.linksAt + abi.Ports*unsafe.Sizeof(abi.LinkState{})
	l.metersAt = l.pairsAt + n*unsafe.Sizeof(abi.SlotPair{})
	l.timesAt = l.metersAt + n*abi.LineSlots*unsafe.Sizeof(abi.UrrMeter{})
	l.size = l.timesAt + n*abi.LineSlots*unsafe.Sizeof(abi.UrrTimes{})
	return l
}

// tscHz measures the clock's rate.
var tscHz = sync.OnceValue(func() uint64 {
	start, tsc := time.Now(), dataplane.Now()
	time.Sleep(20 * time.Millisecond)
	return (dataplane.Now() - tsc) * 1e9 / uint64(time.Since(start))
})

// Start listens at path, as a upf-u that was just started does.
func Start(path string) (*UPFU, error) { return start(path, false) }

// StartOf is Start of one whose N6 has these networks.
func StartOf(path string, networks ...Network) (*UPFU, error) { return start(path, false, networks...) }

// StartWith is Start of one whose N6 has these network instances. Others say nothing of them, and have one for all.
func StartWith(path string, networks ...string) (*UPFU, error) {
	return start(path, false, named(networks)...)
}

func named(names []string) (out []Network) {
	for _, name := range names {
		out = append(out, Network{Name: name})
	}
	return out
}

// StartSilent is Start with Silence on from the beginning.
func StartSilent(path string) (*UPFU, error) { return start(path, true) }

func start(path string, silent bool, networks ...Network) (*UPFU, error) {
	fd, err := unix.MemfdCreate("fakeupfu", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	u := born(rand.Uint64(), SessionsMax, Pairs)
	u.networks = networks
	u.silent, u.shm, u.clock, u.hz = silent, os.NewFile(uintptr(fd), "shm"), dataplane.Now, tscHz()
	if err := u.shm.Truncate(int64(u.layout.size)); err != nil {
		return nil, err
	}
	if u.mem, err = unix.Mmap(fd, 0, int(u.layout.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	u.lay()
	_ = os.Remove(path)
	if u.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"}); err != nil {
		return nil, err
	}
	u.listener.SetUnlinkOnClose(false) // as a process that is killed leaves it
	go u.accept()
	return u, nil
}

// born is one that has no memory yet.
func born(boot uint64, sessions, pairs uint32) *UPFU {
	return &UPFU{
		boot: boot, most: sessions, layout: layoutFor(pairs),
		sessions: map[uint32]Session{}, arms: map[uint32]abi.UrrArm{}, fired: map[uint32]uint8{}, changed: make(chan struct{}), stations: map[uint32][][6]byte{},
	}
}

// lay writes the head of the memory, and where it is.
func (u *UPFU) lay() {
	l := &u.layout
	copy(u.mem, abi.Bytes([]abi.Shm{{
		Magic: abi.AbiMagic, Version: abi.AbiVersion, BootId: u.boot, TscHz: u.hz, Tsc0: u.clock(),
		Workers: 1, WorkersOffset: uint64(l.workersAt), Pairs: l.pairs, PairsOffset: uint64(l.pairsAt),
		MetersOffset: uint64(l.metersAt), TimesOffset: uint64(l.timesAt), TopologyOffset: uint64(l.placesAt),
		GroupsOffset: uint64(l.groupsAt), LinksOffset: uint64(l.linksAt),
	}}))
	copy(u.mem[l.placesAt:], abi.Bytes([]abi.Topology{places()}))
}

// places are those of a worker in cell 1 of two, with its buffers, and an N6 port in cell 0.
func places() abi.Topology {
	t := abi.Topology{Nodes: 2, Page: 2 << 20, Control: abi.ThreadPlace{Cpu: 2, Node: 1}}
	t.Worker[0] = abi.ThreadPlace{Cpu: 3, Node: 1}
	t.Memory[1], t.Pool[1] = 64<<20, 40<<20
	for i := range t.Port {
		t.Port[i].Node = abi.NodeNone
	}
	for i, p := range []struct {
		port   int
		device string
		node   uint32
	}{{abi.PortN3, "0000:81:10.0", 1}, {abi.PortN6, "0000:01:10.0", 0}} {
		to := &t.Port[p.port]
		copy(to.Device[:], p.device)
		copy(to.Driver[:], "net_e1000_igb_vf")
		to.Mac = [6]uint8{2, 0, 0, 0, 0, uint8(i)}
		to.Node, to.Mtu = p.node, 1500
	}
	return t
}

// Kill ends it without a word, as SIGKILL does. Its memory stays with whoever mapped it.
func (u *UPFU) Kill() {
	if u.listener != nil {
		_ = u.listener.Close()
	}
	u.Disconnect()
	if u.shm != nil {
		_ = u.shm.Close()
	}
}

// Disconnect cuts the connection; upf-u lives on.
func (u *UPFU) Disconnect() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil {
		_ = u.conn.Close()
		u.conn = nil
	}
}

func (u *UPFU) accept() {
	for {
		c, err := u.listener.AcceptUnix()
		if err != nil {
			return
		}
		l := &socket{c, u.shm}
		u.mu.Lock()
		u.conn, u.ready = l, false
		u.mu.Unlock()
		go u.serve(l)
	}
}

func (u *UPFU) serve(c *socket) {
	buf := make([]byte, abi.MsgMax)
	for {
		n, err := c.Read(buf)
		if err != nil || n == 0 {
			u.gone(c)
			return
		}
		if err := u.handle(c, buf[:n]); err != nil {
			_ = c.Close()
			return
		}
	}
}

// gone notes the end of a connection.
func (u *UPFU) gone(c *socket) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == c {
		u.conn = nil
	}
}

func message(op uint16, seq uint32, records uint32, body []byte) []byte {
	m := abi.Msg{Magic: abi.AbiMagic, Version: abi.AbiVersion, Op: op, Seq: seq, Records: records, Length: uint32(unsafe.Sizeof(abi.Msg{})) + uint32(len(body))}
	return append(append([]byte(nil), abi.Bytes([]abi.Msg{m})...), body...)
}

func (u *UPFU) handle(c line, b []byte) error {
	m, err := abi.Read[abi.Msg](b)
	if err != nil {
		return err
	}
	if m.Magic != abi.AbiMagic || m.Version != abi.AbiVersion || int(m.Length) != len(b) {
		return errors.New("bad head")
	}
	body := b[unsafe.Sizeof(m):]
	u.mu.Lock()
	defer u.mu.Unlock()
	switch m.Op {
	case abi.OpHello:
		h := abi.Hello{Endpoint: u.endpoints, BootId: u.boot, ShmSize: uint64(u.layout.size), SessionsMax: u.most, QerSlots: u.layout.pairs * abi.LineSlots, UrrSlots: u.layout.pairs * abi.LineSlots, Sessions: uint32(len(u.sessions))}
		h.Networks = uint32(len(u.networks))
		for i, of := range u.networks {
			n := &h.Network[i]
			copy(n.Name[:], of.Name)
			if of.Ethernet {
				n.Ethernet = 1
			}
			n.NatPorts, n.NatPrefixes = of.NAT.Ports, uint32(len(of.NAT.Prefixes))
			for j, p := range of.NAT.Prefixes {
				n.NatPrefix[j] = abi.NatPrefix{AddrBe: abi.AddrBe(p.Addr()), Len: uint8(p.Bits())}
			}
		}
		return c.greet(message(abi.OpHello, m.Seq, 0, abi.Bytes([]abi.Hello{h})))
	case abi.OpTransaction:
		if u.silent {
			u.ignored++
			return nil
		}
		answer := abi.Msg{Magic: abi.AbiMagic, Version: abi.AbiVersion, Op: abi.OpAnswer, Seq: m.Seq, Length: uint32(unsafe.Sizeof(m))}
		known := u.ready
		if record, no := u.apply(body, m.Records); no.errno != 0 {
			answer.Status, answer.Record, answer.Refusal, answer.Records = int32(no.errno), record, no.what, no.holder
		}
		maps.DeleteFunc(u.stations, func(session uint32, _ [][6]byte) bool { _, there := u.sessions[session]; return !there })
		if u.ready && !known {
			u.tellStations()
		}
		u.datagrams++
		close(u.changed)
		u.changed = make(chan struct{})
		if u.mute {
			return nil
		}
		if u.holding && puts(body) {
			u.answers = append(u.answers, answer)
			return nil
		}
		if _, err := c.Write(abi.Bytes([]abi.Msg{answer})); err != nil || !u.ready {
			return err
		}
		for _, e := range u.held {
			if _, err := c.Write(e); err != nil {
				return err
			}
		}
		u.held = nil
		return nil
	case abi.OpDump:
		return u.dump(c, m.Seq)
	case abi.OpShow:
		return u.show(c, m.Seq, body)
	case abi.OpLine: // what came along is closed: nobody receives it
		_, err := c.Write(abi.Bytes([]abi.Msg{{Magic: abi.AbiMagic, Version: abi.AbiVersion, Op: abi.OpAnswer, Seq: m.Seq, Length: uint32(unsafe.Sizeof(m))}}))
		return err
	}
	return fmt.Errorf("op %d", m.Op)
}

// puts says whether a transaction installs rules.
func puts(body []byte) bool {
	found := false
	_ = dataplane.EachRecord(body, func(recType uint16, _ []byte) error {
		found = found || recType == abi.RecSessionPut
		return nil
	})
	return found
}

func ref(rec uint16, session uint32, blob []byte) []byte {
	r := abi.SessionRef{Rec: abi.Record{Type: rec}, Session: session, BlobLen: uint32(len(blob))}
	b := append(append([]byte(nil), abi.Bytes([]abi.SessionRef{r})...), blob...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	copy(b, abi.Bytes([]abi.Record{{Type: rec, Length: uint32(len(b))}}))
	return b
}

func (u *UPFU) show(c line, seq uint32, body []byte) error {
	r, err := abi.Read[abi.SessionRef](body)
	if err != nil {
		return err
	}
	s, known := u.sessions[r.Session]
	text := fmt.Appendf(nil, `{"session":%d`, r.Session)
	for i, a := range s.Applications {
		text = fmt.Appendf(text, `%s"%016x"`, map[bool]string{true: `,"applications":[`, false: ","}[i == 0], a.Number)
	}
	if len(s.Applications) > 0 {
		text = append(text, ']')
	}
	b := message(abi.OpShow, seq, 1, append(text, '}'))
	if !known {
		answer := abi.Msg{Magic: abi.AbiMagic, Version: abi.AbiVersion, Op: abi.OpShow, Seq: seq, Length: uint32(unsafe.Sizeof(abi.Msg{})), Status: int32(syscall.ENOENT)}
		b = abi.Bytes([]abi.Msg{answer})
	}
	_, err = c.Write(b)
	return err
}

func (u *UPFU) dump(c line, seq uint32) error {
	var body []byte
	var n uint32
	flush := func() error {
		_, err := c.Write(message(abi.OpDump, seq, n, body))
		body, n = nil, 0
		return err
	}
	if u.meta != nil {
		body, n = ref(abi.RecMeta, 0, u.meta), 1
	}
	for _, index := range slices.Sorted(maps.Keys(u.sessions)) {
		body = append(body, ref(abi.RecSessionState, index, u.sessions[index].Blob)...)
		if n++; len(body) > abi.MsgMax/2 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	_, err := c.Write(message(abi.OpDumpEnd, seq, 0, nil))
	return err
}

// apply executes all records or none.
func (u *UPFU) apply(body []byte, records uint32) (uint32, refusal) {
	if u.refuse != 0 {
		return 0, refusal{errno: u.refuse}
	}
	sessions, arms := journal[Session]{all: u.sessions}, journal[abi.UrrArm]{all: u.arms}
	meta, markers, echoes, dropped, order := u.meta, u.endMarkers, u.echoes, u.dropped, u.trace
	var armed []uint32
	stored, restoring := false, u.restoring // META
	granted, domains, told := u.granted, u.domains, u.told
	deleted, puts := u.deleted, u.puts
	var n uint32
	var no refusal
	err := dataplane.EachRecord(body, func(recType uint16, r []byte) error {
		switch recType {
		case abi.RecTrace:
			var err error
			order, err = abi.Read[abi.Trace](r)
			n++
			return err
		case abi.RecGrant:
			g, err := abi.Read[abi.Grant](r)
			granted = g
			n++
			return err
		case abi.RecDomains:
			var ok bool
			if domains, ok = readDomains(r); !ok {
				no.errno = syscall.EINVAL
				return no
			}
			n++
			return nil
		case abi.RecUrrArm:
			if a, err := abi.Read[abi.UrrArm](r); err == nil {
				armed = append(armed, a.Slot)
			}
		case abi.RecMeta:
			ref, err := abi.Read[abi.SessionRef](r)
			if err != nil {
				no.errno = syscall.EBADMSG
				return no
			}
			stored, restoring = true, ref.Session == abi.MetaRestoring
		case abi.RecEcho:
			e, err := abi.Read[abi.Echo](r)
			if err != nil {
				no.errno = syscall.EBADMSG
				return no
			}
			echoes = append(slices.Clone(echoes), e)
			n++
			return nil
		case abi.RecDropBuffered:
			ref, err := abi.Read[abi.SessionRef](r)
			if err != nil {
				no.errno = syscall.EBADMSG
				return no
			}
			dropped = append(slices.Clone(dropped), ref.Session)
			n++
			return nil
		case abi.RecStation:
			s, err := abi.Read[abi.EvMac](r)
			if _, ok := sessions.all[s.Session]; err != nil || !ok {
				no.errno = syscall.ENOENT
				return no
			}
			told = append(slices.Clone(told), s)
			n++
			return nil
		}
		no = one(recType, r, &sessions, &arms, &meta, &markers)
		if no.errno != 0 {
			return no
		}
		switch recType {
		case abi.RecSessionDel:
			deleted++
		case abi.RecSessionPut:
			puts++
		}
		n++
		return nil
	})
	if err != nil || n != records {
		sessions.undo()
		arms.undo()
		if no.errno == 0 {
			no.errno = syscall.EBADMSG
		}
		return n, no
	}
	u.granted, u.puts, u.domains, u.told = granted, puts, domains, told
	u.ready, u.restoring, u.deleted = u.ready || stored, restoring, deleted
	u.meta, u.endMarkers, u.echoes, u.dropped, u.trace = meta, markers, echoes, dropped, order
	if u.atGrant == nil && granted.UntilNs != 0 {
		u.atGrant = &AtGrant{Sessions: maps.Clone(u.sessions), Arms: maps.Clone(u.arms), Puts: puts, Meta: slices.Clone(meta), Datagrams: u.datagrams + 1}
	}
	for _, slot := range armed {
		delete(u.fired, slot)
		u.look(slot)
	}
	return 0, no
}

// journal is a map and what has to be done to have it as it was, the last change first.
type journal[V any] struct {
	all  map[uint32]V
	back []func()
}

func (j *journal[V]) keep(k uint32) {
	if v, ok := j.all[k]; ok {
		j.back = append(j.back, func() { j.all[k] = v })
	} else {
		j.back = append(j.back, func() { delete(j.all, k) })
	}
}

func (j *journal[V]) set(k uint32, v V) {
	j.keep(k)
	j.all[k] = v
}

func (j *journal[V]) remove(k uint32) {
	j.keep(k)
	delete(j.all, k)
}

func (j *journal[V]) undo() {
	for _, f := range slices.Backward(j.back) {
		f()
	}
}

func one(recType uint16, r []byte, sessions *journal[Session], arms *journal[abi.UrrArm], meta *[]byte, markers *[]abi.EndMarker) refusal {
	switch recType {
	case abi.RecSessionPut:
		index, s, errno := readPut(r)
		if errno != 0 {
			return refusal{errno: errno}
		}
		// A scan of more is too dear for a stand-in, and one of a session that is found as before finds nothing new.
		if before, ok := sessions.all[index]; len(sessions.all) < 1024 && !(ok && foundAs(before, s)) {
			var no refusal
			for other, o := range sessions.all { // of several holders the first one, whatever the map's order
				if what := overlap(o, s); other != index && what != 0 && (no.errno == 0 || other < no.holder) {
					no = refusal{syscall.EEXIST, what, other}
				}
			}
			if no.errno != 0 {
				return no
			}
		}
		sessions.set(index, s)
	case abi.RecSessionDel, abi.RecSessionState, abi.RecMeta:
		index, blob, err := dataplane.Blob(r)
		if err != nil {
			return refusal{errno: syscall.EBADMSG}
		}
		blob = slices.Clone(blob)
		s, known := sessions.all[index]
		switch {
		case recType == abi.RecMeta:
			*meta = blob
		case !known:
			return refusal{errno: syscall.ENOENT}
		case recType == abi.RecSessionDel:
			sessions.remove(index)
		default:
			s.Blob = blob
			sessions.set(index, s)
		}
	case abi.RecUrrArm:
		a, err := abi.Read[abi.UrrArm](r)
		if err != nil {
			return refusal{errno: syscall.EBADMSG}
		}
		owner, ok := sessions.all[a.Session]
		if !ok || !slices.ContainsFunc(owner.URRs, func(u abi.Urr) bool { return u.Slot == a.Slot }) {
			return refusal{errno: syscall.EINVAL}
		}
		arms.set(a.Slot, a)
	case abi.RecEndMarker:
		m, err := abi.Read[abi.EndMarker](r)
		if err != nil {
			return refusal{errno: syscall.EBADMSG}
		}
		*markers = append(slices.Clone(*markers), m)
	default:
		return refusal{errno: syscall.EINVAL}
	}
	return refusal{}
}

// readDomains checks a record as upf-u does.
func readDomains(r []byte) ([]dataplane.Domain, bool) {
	h, err := abi.Read[abi.Domains](r)
	if err != nil || h.N > abi.DomainsMax {
		return nil, false
	}
	entries, text, ok := array[abi.Domain](r[unsafe.Sizeof(h):], uint16(h.N), true)
	if !ok || len(text) < int(h.TextLen) || len(text) > int(h.TextLen)+7 {
		return nil, false
	}
	list := []dataplane.Domain{}
	for _, e := range entries {
		end := int(e.TextFirst) + int(e.TextLen)
		if e.TextLen == 0 || end > int(h.TextLen) || e.Flags&(abi.DomainDns|abi.DomainTls) == 0 || e.Flags&(abi.DomainItself|abi.DomainBelow) == 0 {
			return nil, false
		}
		list = append(list, dataplane.Domain{Application: e.Application, Name: string(text[e.TextFirst:end]), Flags: e.Flags})
	}
	return list, true
}

// foundAs says whether packets of both are found by the same keys.
func foundAs(a, b Session) bool {
	return a.Network == b.Network && a.NAT == b.NAT && slices.Equal(a.Routes, b.Routes) && slices.EqualFunc(a.PDRs, b.PDRs, func(p, q abi.Pdr) bool {
		return p.Flags == q.Flags && p.SourceInterface == q.SourceInterface && p.N3Addr == q.N3Addr && p.Teid == q.Teid && p.UeAddrBe == q.UeAddrBe && p.UePrefix == q.UePrefix
	})
}

// overlap says what two sessions both have.
func overlap(a, b Session) uint32 {
	for _, p := range a.PDRs {
		for _, q := range b.PDRs {
			if p.Flags&q.Flags&abi.PdrTeid != 0 && p.N3Addr == q.N3Addr && p.Teid == q.Teid {
				return abi.RefusedFteid
			}
			if a.Network == b.Network && p.SourceInterface == abi.IfCore && q.SourceInterface == abi.IfCore &&
				(p.Flags&q.Flags&abi.PdrUeIpv4 != 0 && p.UeAddrBe == q.UeAddrBe || p.Flags&q.Flags&abi.PdrUeIpv6 != 0 && p.UePrefix == q.UePrefix) {
				return abi.RefusedUeIp
			}
		}
	}
	if a.Network == b.Network && a.NAT.IsValid() && a.NAT == b.NAT {
		return abi.RefusedNat
	}
	if a.Network == b.Network && slices.ContainsFunc(a.Routes, func(r abi.Route) bool { return slices.Contains(b.Routes, r) }) {
		return abi.RefusedUeIp
	}
	return 0
}

// refusal is why a record is not taken.
type refusal struct {
	errno  syscall.Errno
	what   uint32 // enum upf_refusal
	holder uint32
}

func (r refusal) Error() string { return r.errno.Error() }

func readPut(r []byte) (uint32, Session, syscall.Errno) {
	var s Session
	h, err := abi.Read[abi.SessionPut](r)
	if err != nil || h.Session >= SessionsMax {
		return 0, s, syscall.EBADMSG
	}
	if s.Group, s.Network = h.Group, h.Network; s.Group >= abi.Groups {
		return 0, s, syscall.EINVAL
	}
	if h.NatAddrBe != 0 {
		s.NAT = nat.Block{Addr: abi.AddrFromBe(h.NatAddrBe), Port: h.NatPort}
	}
	b := r[unsafe.Sizeof(h):]
	ok := true
	s.PDRs, b, ok = array[abi.Pdr](b, h.NPdr, ok)
	s.FARs, b, ok = array[abi.Far](b, h.NFar, ok)
	s.QERs, b, ok = array[abi.Qer](b, h.NQer, ok)
	s.URRs, b, ok = array[abi.Urr](b, h.NUrr, ok)
	s.BARs, b, ok = array[abi.Bar](b, h.NBar, ok)
	s.SDFs, b, ok = array[abi.Sdf](b, h.NSdf, ok)
	s.SDF6s, b, ok = array[abi.Sdf6](b, h.NSdf6, ok)
	s.Routes, b, ok = array[abi.Route](b, h.NRoute, ok)
	s.EthernetFilters, b, ok = array[abi.EthernetFilter](b, h.NEthernet, ok)
	s.Ethernet = h.Flags&abi.SessionEthernet != 0
	s.Applications, b, ok = array[abi.Application](b, h.NApplication, ok)
	if !ok || len(b) < int(h.TextLen)+int(h.BlobLen) || len(b) > int(h.TextLen)+int(h.BlobLen)+7 {
		return 0, s, syscall.EBADMSG
	}
	s.Text, b = string(b[:h.TextLen]), b[h.TextLen:]
	s.Blob = slices.Clone(b[:h.BlobLen])
	for _, p := range s.PDRs {
		filters := len(s.SDFs)
		if p.Flags&abi.PdrEthernet != 0 {
			filters = len(s.EthernetFilters)
		}
		if int(p.Far) >= len(s.FARs) || int(p.SdfFirst)+int(p.SdfCount) > filters || int(p.Sdf6First)+int(p.Sdf6Count) > len(s.SDF6s) || p.NQer > abi.PdrQers || p.NUrr > abi.PdrUrrs ||
			int(p.Application) > len(s.Applications) || p.Application != 0 && p.Flags&abi.PdrSdf == 0 {
			return 0, s, syscall.EINVAL
		}
		for _, q := range p.Qer[:p.NQer] {
			if int(q) >= len(s.QERs) {
				return 0, s, syscall.EINVAL
			}
		}
		for _, q := range p.Urr[:p.NUrr] {
			if int(q) >= len(s.URRs) {
				return 0, s, syscall.EINVAL
			}
		}
	}
	return h.Session, s, 0
}

func array[T any](b []byte, n uint16, ok bool) ([]T, []byte, bool) {
	var out []T
	for range n {
		v, err := abi.Read[T](b)
		if err != nil {
			return nil, nil, false
		}
		out, b = append(out, v), b[unsafe.Sizeof(v):]
	}
	return out, b, ok
}

// ---- what tests do and see -------------------------------------------------------------------

// Refuse answers every transaction with an errno; 0 accepts again.
func (u *UPFU) Refuse(e syscall.Errno) { u.mu.Lock(); u.refuse = e; u.mu.Unlock() }

// Silence leaves transactions without answer.
func (u *UPFU) Silence(on bool) { u.mu.Lock(); u.silent = on; u.mu.Unlock() }

// Hold applies transactions that install rules and keeps their answers, until Hold(false) sends these.
func (u *UPFU) Hold(on bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.holding = on
	if !on && len(u.answers) > 0 && u.conn != nil {
		for _, answer := range u.answers {
			_, _ = u.conn.Write(abi.Bytes([]abi.Msg{answer}))
		}
		u.answers = nil
	}
}

// Own says which IPv4 block of GTP-U addresses it has on N3. Without it says nothing of them.
func (u *UPFU) Own(n3 netip.Prefix) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.endpoints[0] = abi.Endpoint{Addr: abi.AddrOf(n3.Addr()), PrefixLen: uint8(n3.Bits())}
}

// Ignored counts the datagrams that Silence left without answer.
func (u *UPFU) Ignored() int { u.mu.Lock(); defer u.mu.Unlock(); return u.ignored }

// Mute executes transactions and leaves them without answer.
func (u *UPFU) Mute(on bool) { u.mu.Lock(); u.mute = on; u.mu.Unlock() }

// Sessions is a copy of what is installed, by index.
func (u *UPFU) Sessions() map[uint32]Session {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.sessions)
}

// Len is how many sessions there are. Who waits for many asks for no more than that, and does not keep it from its work.
func (u *UPFU) Len() int { u.mu.Lock(); defer u.mu.Unlock(); return len(u.sessions) }

// Deleted counts the sessions that were deleted: one may have taken the place of another since.
func (u *UPFU) Deleted() int { u.mu.Lock(); defer u.mu.Unlock(); return u.deleted }

// Install puts a session there as an earlier upf-c had, together with META.
func (u *UPFU) Install(index uint32, s Session, meta []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sessions[index], u.meta = s, meta
}

// Granted is the last grant.
func (u *UPFU) Granted() abi.Grant {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.granted
}

// AtGrant is what there was when an epoch was granted first.
type AtGrant struct {
	Sessions map[uint32]Session
	Arms     map[uint32]abi.UrrArm
	Meta     []byte
	// Until then:
	Puts      int // SESSION_PUT
	Datagrams int // transactions, the grant's included
}

// AtGrant is nil while no epoch was granted.
func (u *UPFU) AtGrant() *AtGrant {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.atGrant
}

// Puts counts the SESSION_PUTs that were applied.
func (u *UPFU) Puts() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.puts
}

// Domains are those of all applications; nil: there was no word of any.
func (u *UPFU) Domains() []dataplane.Domain {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.domains)
}

// Meta is the META blob.
func (u *UPFU) Meta() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.meta)
}

// Restoring says whether META has it that CP functions restore sessions.
func (u *UPFU) Restoring() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.restoring
}

// Arm is a slot's armed volumes.
func (u *UPFU) Arm(slot uint32) abi.UrrArm {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.arms[slot]
}

// EndMarkers lists those sent.
func (u *UPFU) EndMarkers() []abi.EndMarker {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.endMarkers)
}

// TraceOrder is the last order to trace.
func (u *UPFU) TraceOrder() abi.Trace {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trace
}

// Trace reports one step of a packet.
func (u *UPFU) Trace(e abi.EvTrace, octets []byte) error {
	padded := append(append([]byte(nil), octets...), make([]byte, (8-len(octets)%8)%8)...)
	e.Rec = abi.Record{Type: abi.RecEvTrace, Length: uint32(unsafe.Sizeof(e)) + uint32(len(padded))}
	e.Captured = uint16(len(octets))
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == nil {
		return errors.New("nobody is connected")
	}
	_, err := u.conn.Write(message(abi.OpEvent, 0, 1, append(append([]byte(nil), abi.Bytes([]abi.EvTrace{e})...), padded...)))
	return err
}

// Datagrams counts transactions.
func (u *UPFU) Datagrams() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.datagrams
}

// Await waits until cond holds, looking after every transaction and every few milliseconds.
func (u *UPFU) Await(d time.Duration, cond func() bool) error {
	deadline := time.After(d)
	for {
		u.mu.Lock()
		changed := u.changed
		u.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			return errors.New("condition not met in time")
		}
	}
}

// counter is a direction's of a slot.
func (u *UPFU) counter(slot uint32, direction int) *abi.UrrCounter {
	pair := (*abi.SlotPair)(unsafe.Pointer(&u.mem[u.layout.pairsAt+uintptr(slot/abi.LineSlots)*unsafe.Sizeof(abi.SlotPair{})]))
	return &pair.Dir[direction].Urr[slot%abi.LineSlots]
}

// limits says which of an arm's values are reached: thresholds and, as bit 3, the quota.
func (u *UPFU) limits(a abi.UrrArm) (reached uint8) {
	ul, dl := atomic.LoadUint64(&u.counter(a.Slot, abi.Ul).Bytes), atomic.LoadUint64(&u.counter(a.Slot, abi.Dl).Bytes)
	for bit, yes := range []bool{ul+dl >= a.Total, ul >= a.Ul, dl >= a.Dl, ul+dl >= a.QuotaTotal || ul >= a.QuotaUl || dl >= a.QuotaDl} {
		if yes {
			reached |= 1 << bit
		}
	}
	return reached
}

// look raises the event of what was reached and not said yet. The caller holds u.mu.
func (u *UPFU) look(slot uint32) {
	a, armed := u.arms[slot]
	if !armed || u.conn == nil {
		return
	}
	if news := u.limits(a) &^ u.fired[slot]; news != 0 {
		u.fired[slot] |= news
		e := abi.EvUrr{Rec: abi.Record{Type: abi.RecEvUrr, Length: 16}, Session: a.Session, Slot: slot}
		_, _ = u.conn.Write(message(abi.OpEvent, 0, 1, abi.Bytes([]abi.EvUrr{e})))
	}
}

// Forward is one packet of a slot's URR, as a worker treats it: false when its quota is used up.
func (u *UPFU) Forward(slot uint32, direction int, bytes uint64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a, armed := u.arms[slot]; armed && u.limits(a)&8 != 0 {
		return false
	}
	u.add(slot, direction, bytes, 1)
	u.look(slot)
	return true
}

// Counters are the octets of a slot.
func (u *UPFU) Counters(slot uint32) (ul, dl uint64) {
	return atomic.LoadUint64(&u.counter(slot, abi.Ul).Bytes), atomic.LoadUint64(&u.counter(slot, abi.Dl).Bytes)
}

// Count adds octets and packets to a slot, whatever its quota.
func (u *UPFU) Count(slot uint32, direction int, bytes, packets uint64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == nil {
		return errors.New("nobody is connected")
	}
	u.add(slot, direction, bytes, packets)
	u.look(slot)
	return nil
}

func (u *UPFU) add(slot uint32, direction int, bytes, packets uint64) {
	c := u.counter(slot, direction)
	atomic.AddUint64(&c.Bytes, bytes)
	atomic.AddUint64(&c.Packets, packets)
	head := (*abi.Shm)(unsafe.Pointer(&u.mem[0]))
	t := (*abi.UrrTimes)(unsafe.Pointer(&u.mem[u.layout.timesAt+uintptr(slot)*unsafe.Sizeof(abi.UrrTimes{})]))
	now := dataplane.Milliseconds(head, u.clock())
	if t.FirstMs == 0 {
		atomic.StoreUint32(&t.LastMs, now)
		atomic.StoreUint32(&t.FirstMs, now)
		return
	}
	gap := now - t.LastMs
	if i := u.arms[slot].InactivityMs; i != 0 {
		gap = min(gap, i)
	}
	atomic.AddUint32(&t.ActiveMs, gap)
	atomic.StoreUint32(&t.LastMs, now)
}

// Drop counts a packet of a group as dropped.
func (u *UPFU) Drop(group uint16, reason int) {
	d := (*abi.DropStats)(unsafe.Pointer(&u.mem[u.layout.groupsAt+uintptr(group)*unsafe.Sizeof(abi.DropStats{})]))
	atomic.AddUint64(&d.Reason[reason], 1)
}

// Work has its worker spend cycles.
func (u *UPFU) Work(busy, idle uint64) {
	w := (*abi.WorkerStats)(unsafe.Pointer(&u.mem[u.layout.workersAt]))
	atomic.AddUint64(&w.CyclesBusy, busy)
	atomic.AddUint64(&w.CyclesIdle, idle)
}

// Echoes lists the Echo Requests that were to be sent.
func (u *UPFU) Echoes() []abi.Echo {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.echoes)
}

// EchoResponse is a peer's answer to an Echo Request.
func (u *UPFU) EchoResponse(e abi.Echo) error {
	e.Rec = abi.Record{Type: abi.RecEvEcho, Length: uint32(unsafe.Sizeof(e))}
	return event(u, e)
}

// Dropped lists the sessions whose buffered packets were dropped on demand.
func (u *UPFU) Dropped() []uint32 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.dropped)
}

// Stations lists those that it was told of.
func (u *UPFU) Stations() []abi.EvMac {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.told)
}

// DownlinkData reports the first packet for a FAR with NOCP.
func (u *UPFU) DownlinkData(session uint32, pdr uint16, qfi uint8) error {
	return event(u, abi.EvDlData{Rec: abi.Record{Type: abi.RecEvDlData, Length: 16}, Session: session, PdrId: pdr, Qfi: qfi})
}

// Station reports that a MAC address came to an Ethernet PDU session, or left it.
func (u *UPFU) Station(session uint32, mac [6]byte, flags uint16) error {
	return u.StationIs(abi.EvMac{Session: session, Mac: mac, Flags: flags})
}

// StationIs reports the same, with its VLANs.
func (u *UPFU) StationIs(s abi.EvMac) error {
	return event(u, stationRecord(s))
}

// Flow reports that a flow of an application began, or has ended.
func (u *UPFU) Flow(f abi.EvFlow) error {
	f.Rec = abi.Record{Type: abi.RecEvFlow, Length: 64}
	return event(u, f)
}

// Learn has a bridge learn a MAC address behind a session, as a frame from there does. It is told once, and again to each upf-c that comes, until
// the session has ended. false: there is no such session of a bridge, or the address is known already.
func (u *UPFU) Learn(session uint32, mac [6]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, there := u.sessions[session]
	if !there || int(s.Network) >= len(u.networks) || !u.networks[s.Network].Ethernet || slices.Contains(u.stations[session], mac) {
		return false
	}
	u.stations[session] = append(u.stations[session], mac)
	if u.conn != nil && u.ready { // else who comes hears of all
		_, _ = u.conn.Write(stationEvent(session, mac)) // likewise where it has just gone
	}
	return true
}

// tellStations to a upf-c that is new. The caller holds u.mu.
func (u *UPFU) tellStations() {
	for _, session := range slices.Sorted(maps.Keys(u.stations)) {
		for _, mac := range u.stations[session] {
			u.held = append(u.held, stationEvent(session, mac))
		}
	}
}

func stationEvent(session uint32, mac [6]byte) []byte {
	return message(abi.OpEvent, 0, 1, abi.Bytes([]abi.EvMac{stationRecord(abi.EvMac{Session: session, Mac: mac})}))
}

func stationRecord(s abi.EvMac) abi.EvMac {
	s.Rec = abi.Record{Type: abi.RecEvMac, Length: 24}
	return s
}

// ErrorIndication reports that a peer has no such tunnel.
func (u *UPFU) ErrorIndication(peer netip.Addr, teid uint32) error {
	ohc := uint8(abi.OhcGtpu4)
	if peer.Is6() {
		ohc = abi.OhcGtpu6
	}
	return event(u, abi.EvErrorInd{Rec: abi.Record{Type: abi.RecEvErrorInd, Length: 32}, PeerAddr: abi.AddrOf(peer), Teid: teid, Ohc: ohc})
}

// event reaches the upf-c that is connected once it has stored META, or the next one.
func event[T any](u *UPFU, e T) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	b := message(abi.OpEvent, 0, 1, abi.Bytes([]T{e}))
	if u.conn != nil && u.ready {
		if _, err := u.conn.Write(b); err == nil {
			return nil
		}
	}
	u.held = append(u.held, b)
	return nil
}
