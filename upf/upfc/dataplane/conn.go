package dataplane

// A Conn lives from one HELLO to one end-of-file.
//
// Transactions that are wanted at the same time travel in one datagram, a group: one system call on
// either side, one wait for upf-u's workers. upf-u applies a datagram whole or not at all, so when it
// refuses a group, the record that it names tells which transaction is to blame; that one is refused
// and the others are sent again without it. A group is whatever came while the last ones were under
// way, so a single transaction never waits for company.
//
// When upf-u dies, all transactions fail at once and Done is closed; nobody is left waiting.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

var (
	// ErrLost says that upf-u went away; what was under way may have happened or not.
	ErrLost         = errors.New("the connection to upf-u is lost")
	errRecordLength = errors.New("a record does not fit its datagram")
)

// Refused is upf-u's no: nothing of the transaction was applied.
type Refused struct {
	Errno   syscall.Errno
	Record  uint32
	Refusal uint32 // abi.Refused…: what of the record; 0 when upf-u did not say
	Holder  uint32 // abi.RefusedFteid, RefusedUeIp: the session that has it
}

func (r *Refused) Error() string {
	return fmt.Sprintf("upf-u refused record %d: %s", r.Record, r.Errno.Error())
}

// Events receives what upf-u says on its own. The methods run in the reader's goroutine and must
// not block.
type Events interface {
	URR(session, slot uint32)
	DownlinkData(session uint32, pdr uint16, qfi, tos uint8)
	ErrorIndication(peer netip.Addr, teid uint32)
	Echo(peer netip.Addr, sequence uint16) // a peer answered an Echo Request
	Station(e abi.EvMac)                   // a MAC address came to a session, or left it
	Flow(e abi.EvFlow)                     // a flow of an application by domain began, or ended
	Trace(e abi.EvTrace, octets []byte)    // octets are the reader's: copy what is kept
}

// Conn is a connection to one life of upf-u.
type Conn struct {
	c      *net.UnixConn
	raw    syscall.RawConn // the same
	peer   Peer            // instead of c (Attach)
	hello  abi.Hello
	shm    *Shm
	events Events
	log    *slog.Logger
	done   chan struct{}
	err    error // why, once done is closed
	lost   atomic.Bool

	write sync.Mutex // one datagram at a time

	mu     sync.Mutex
	work   sync.Cond // queue has become longer, groups fewer, or the connection is lost
	seq    uint32
	queue  []*Batch // transactions to be sent
	groups map[uint32]*group
	closed bool
	dump   func(body []byte) error
	dumped chan error

	shows sync.Map // sequence number → chan shown
}

// group is a datagram under way.
type group struct {
	members []*Batch
	sent    time.Time
}

const (
	groupsMax  = 2         // under way at once: upf-u has the next one when it has answered one
	groupMax   = 64 * 1024 // octets
	membersMax = 128
)

// Timeout bounds the wait for one answer. upf-u answers in microseconds; one that takes so long is
// as good as dead, and the connection is given up.
const Timeout = 2 * time.Second

// Dial connects, says HELLO and maps the shared memory.
func Dial(ctx context.Context, path string, events Events, log *slog.Logger) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unixpacket", path)
	if err != nil {
		return nil, err
	}
	c := &Conn{c: nc.(*net.UnixConn), events: events, log: log, done: make(chan struct{}), groups: map[uint32]*group{}}
	c.work.L = &c.mu
	if c.raw, err = c.c.SyscallConn(); err == nil {
		err = c.greet()
	}
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("HELLO: %w", err)
	}
	go c.read()
	go c.sendGroups()
	go c.watch()
	return c, nil
}

func (c *Conn) greet() error {
	if err := c.c.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	if _, err := c.c.Write(NewBatch().finish(abi.OpHello, 0)); err != nil {
		return err
	}
	buf, oob := make([]byte, abi.MsgMax), make([]byte, unix.CmsgSpace(4*8))
	n, oobn, _, _, err := c.c.ReadMsgUnix(buf, oob)
	fds := descriptors(oob[:oobn])
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	if err != nil {
		return err
	}
	m, body, err := open(buf[:n])
	if err != nil {
		return err
	}
	if m.Op != abi.OpHello {
		return fmt.Errorf("answered with op %d, status %d", m.Op, m.Status)
	}
	if m.Status != 0 {
		return syscall.Errno(m.Status)
	}
	if c.hello, err = abi.Read[abi.Hello](body); err != nil {
		return err
	}
	if len(fds) != 1 {
		return fmt.Errorf("%d descriptors came along, want 1", len(fds))
	}
	if c.shm, err = mapShm(fds[0], c.hello.ShmSize); err != nil {
		return err
	}
	return c.c.SetDeadline(time.Time{})
}

func descriptors(oob []byte) []int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var fds []int
	for i := range messages {
		if f, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, f...)
		}
	}
	return fds
}

// open checks a datagram's head.
func open(b []byte) (abi.Msg, []byte, error) {
	m, err := abi.Read[abi.Msg](b)
	switch {
	case err != nil:
		return m, nil, err
	case m.Magic != abi.AbiMagic:
		return m, nil, fmt.Errorf("magic %#x", m.Magic)
	case m.Version != abi.AbiVersion:
		return m, nil, fmt.Errorf("upf-u speaks version %d of the contract, upf-c %d", m.Version, abi.AbiVersion)
	case int(m.Length) != len(b):
		return m, nil, fmt.Errorf("datagram of %d octets says %d", len(b), m.Length)
	}
	return m, b[headSize:], nil
}

// Hello is what upf-u said of itself.
func (c *Conn) Hello() abi.Hello { return c.hello }

// Shm is upf-u's memory. It stays readable after Done.
func (c *Conn) Shm() *Shm { return c.shm }

// Done is closed when upf-u is gone.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why, once Done is closed.
func (c *Conn) Err() error {
	<-c.done
	return c.err
}

// Abandon gives the connection up. The memory stays readable for whoever still holds it.
func (c *Conn) Abandon() {
	c.lost.Store(true)
	if c.peer != nil {
		c.hangUp()
		return
	}
	_ = c.c.Close()
}

// Lost says whether the connection is of no use any more. It is true at the latest when a
// transaction has returned ErrLost, which can be before Done is closed.
func (c *Conn) Lost() bool { return c.lost.Load() }

// Transact sends a transaction and waits for upf-u's answer: nil, a *Refused or ErrLost.
func (c *Conn) Transact(t *Batch) error {
	if t.Size() > abi.MsgMax {
		return &Refused{Errno: syscall.EMSGSIZE}
	}
	if c.peer != nil {
		return c.transactHere(t)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrLost
	}
	c.queue = append(c.queue, t)
	if len(c.queue) == 1 {
		c.work.Signal()
	}
	c.mu.Unlock()
	err := <-t.answer
	t.reuse()
	return err
}

// sendGroups sends what waits, until the connection is lost.
func (c *Conn) sendGroups() {
	datagram := NewBatch()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for !c.closed && (len(c.queue) == 0 || len(c.groups) >= groupsMax) {
			c.work.Wait()
		}
		if c.closed {
			return
		}
		// Those who are about to want something, because the same answer woke them, come along.
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
		if c.closed {
			return
		}
		g := &group{sent: time.Now()}
		datagram.b, datagram.n = datagram.b[:headSize], 0
		n := 0
		for _, t := range c.queue {
			if n == membersMax || n > 0 && datagram.Size()+t.Size() > groupMax {
				break
			}
			datagram.b = append(datagram.b, t.b[headSize:]...)
			datagram.n += t.n
			n++
		}
		g.members = append(g.members, c.queue[:n]...)
		c.queue = append(c.queue[:0], c.queue[n:]...)
		c.seq++
		c.groups[c.seq] = g
		b := datagram.finish(abi.OpTransaction, c.seq)
		c.mu.Unlock()
		_ = c.send(b) // when it fails, the reader tells the members
		c.mu.Lock()
	}
}

// answered ends a group: all of it was applied, or nothing. It is false when no group is meant.
func (c *Conn) answered(m abi.Msg) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[m.Seq]
	if g == nil {
		return false
	}
	delete(c.groups, m.Seq)
	c.work.Signal()
	if m.Status == 0 {
		for _, t := range g.members {
			t.answer <- nil
		}
		return true
	}
	r := &Refused{Errno: syscall.Errno(m.Status), Record: m.Record, Refusal: m.Refusal, Holder: m.Records}
	blamed := -1
	first := uint32(0) // record of the member
	for i, t := range g.members {
		if r.Record >= first && r.Record < first+t.n {
			blamed = i
			r.Record -= first
			break
		}
		first += t.n
	}
	var rest []*Batch
	for i, t := range g.members {
		if i == blamed || blamed < 0 {
			t.answer <- r
		} else {
			rest = append(rest, t)
		}
	}
	c.queue = append(rest, c.queue...)
	return true
}

// fail ends everything that waits.
func (c *Conn) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, t := range c.queue {
		t.answer <- ErrLost
	}
	for _, g := range c.groups {
		for _, t := range g.members {
			t.answer <- ErrLost
		}
	}
	c.queue, c.groups = nil, nil
	c.work.Broadcast()
}

// watch gives the connection up when upf-u does not answer.
func (c *Conn) watch() {
	ticker := time.NewTicker(Timeout / 8)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
		}
		now, late := time.Now(), false
		c.mu.Lock()
		for _, g := range c.groups {
			late = late || now.Sub(g.sent) > Timeout
		}
		c.mu.Unlock()
		if late {
			c.log.Error("upf-u does not answer, connection given up", "timeout", Timeout)
			c.Abandon()
			return
		}
	}
}

func (c *Conn) send(b []byte) error {
	if c.peer != nil {
		return c.exchange(b, nil)
	}
	c.write.Lock()
	defer c.write.Unlock()
	if err := c.c.SetWriteDeadline(time.Now().Add(Timeout)); err != nil {
		return ErrLost
	}
	if _, err := c.call(c.raw.Write, unix.SYS_WRITE, b); err != nil {
		c.Abandon()
		return ErrLost
	}
	return nil
}

// call reads or writes a datagram. Go's scheduler hears nothing of it: it would take what lasts longer than 20 µs for a call that blocks, and give the rest of
// the work to another thread. The socket does not block.
func (c *Conn) call(ready func(func(fd uintptr) bool) error, trap uintptr, b []byte) (n int, err error) {
	var errno syscall.Errno
	err = ready(func(fd uintptr) bool {
		for {
			var r uintptr
			if r, _, errno = unix.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))); errno != unix.EINTR {
				n = int(r)
				return errno != unix.EAGAIN
			}
		}
	})
	if err == nil && errno != 0 {
		err = errno
	}
	if err != nil {
		n = 0
	}
	return n, err
}

// Dump reads back what upf-u keeps: f gets the records, META and SESSION_STATE, of one datagram after
// the other. It runs in the reader's goroutine and must not keep them.
func (c *Conn) Dump(f func(body []byte) error) error {
	done := make(chan error, 1)
	c.mu.Lock()
	c.seq++
	seq := c.seq
	c.dump, c.dumped = f, done
	c.mu.Unlock()
	if err := c.send(NewBatch().finish(abi.OpDump, seq)); err != nil {
		return err
	}
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-c.done:
		return ErrLost
	case <-timer.C:
		c.Abandon()
		return fmt.Errorf("DUMP did not end: %w", ErrLost)
	}
}

func (c *Conn) read() {
	defer close(c.done)
	defer c.fail()
	defer c.Abandon()
	buf := make([]byte, abi.MsgMax+1)
	for {
		n, err := c.call(c.raw.Read, unix.SYS_READ, buf)
		if err != nil || n == 0 {
			c.err = fmt.Errorf("%w: %v", ErrLost, err)
			return
		}
		m, body, err := open(buf[:n])
		if err == nil {
			err = c.dispatch(m, body)
		}
		if err != nil {
			// The two sides no longer understand each other; begin anew.
			c.err = err
			c.log.Error("datagram of upf-u cannot be read, connection given up", "err", err)
			return
		}
	}
}

func (c *Conn) dispatch(m abi.Msg, body []byte) error {
	switch m.Op {
	case abi.OpAnswer:
		if !c.answered(m) {
			c.answerShow(m, nil)
		}
	case abi.OpDump, abi.OpDumpEnd:
		c.mu.Lock()
		f, done := c.dump, c.dumped
		c.mu.Unlock()
		if f == nil {
			return errors.New("DUMP that nobody asked for")
		}
		err := f(body)
		if m.Status != 0 {
			err = syscall.Errno(m.Status)
		}
		if err != nil || m.Op == abi.OpDumpEnd {
			c.mu.Lock()
			c.dump = nil
			c.mu.Unlock()
			done <- err
		}
	case abi.OpShow:
		c.answerShow(m, body)
	case abi.OpEvent:
		return EachRecord(body, c.event)
	default:
		return fmt.Errorf("op %d is not known", m.Op)
	}
	return nil
}

func (c *Conn) event(recType uint16, r []byte) error {
	switch recType {
	case abi.RecEvUrr:
		e, err := abi.Read[abi.EvUrr](r)
		if err != nil {
			return err
		}
		c.events.URR(e.Session, e.Slot)
	case abi.RecEvDlData:
		e, err := abi.Read[abi.EvDlData](r)
		if err != nil {
			return err
		}
		c.events.DownlinkData(e.Session, e.PdrId, e.Qfi, e.Tos)
	case abi.RecEvErrorInd:
		e, err := abi.Read[abi.EvErrorInd](r)
		if err != nil {
			return err
		}
		c.events.ErrorIndication(e.PeerAddr.IP(e.Ohc == abi.OhcGtpu6), e.Teid)
	case abi.RecEvEcho:
		e, err := abi.Read[abi.Echo](r)
		if err != nil {
			return err
		}
		c.events.Echo(e.PeerAddr.IP(e.Ohc == abi.OhcGtpu6), e.Sequence)
	case abi.RecEvMac:
		e, err := abi.Read[abi.EvMac](r)
		if err != nil {
			return err
		}
		c.events.Station(e)
	case abi.RecEvFlow:
		e, err := abi.Read[abi.EvFlow](r)
		if err != nil {
			return err
		}
		c.events.Flow(e)
	case abi.RecEvTrace:
		e, octets, err := traceEvent(r)
		if err != nil {
			return err
		}
		c.events.Trace(e, octets)
	default:
		c.log.Debug("event of a type that is not known", "type", recType)
	}
	return nil
}

// Blob is the opaque part of a SESSION_STATE or META record that upf-u sends back.
func Blob(record []byte) (session uint32, blob []byte, err error) {
	ref, err := abi.Read[abi.SessionRef](record)
	if err != nil {
		return 0, nil, err
	}
	rest := record[unsafe.Sizeof(ref):]
	if int(ref.BlobLen) > len(rest) {
		return 0, nil, errRecordLength
	}
	return ref.Session, rest[:ref.BlobLen], nil
}
