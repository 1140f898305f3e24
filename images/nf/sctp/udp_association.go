package sctp

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const (
	// heartbeatInterval is the silence after which the peer is asked for a sign of life, and
	// defaultMaxRxt how many of these may stay unanswered (AssocInfo.AsocMaxRxt).
	heartbeatInterval = 2 * time.Second
	defaultMaxRxt     = 4
	// handshakeTimeout bounds the set-up of an association on either side.
	handshakeTimeout = 10 * time.Second
	// shutdownTimeout bounds Close: an AMF that stops closes its associations one by one.
	shutdownTimeout = time.Second

	maxMessageSize = 256 << 10
	// sendLimit bounds what waits to be sent or acknowledged, receiveWindow what waits to be read.
	sendLimit     = 4 << 20
	receiveWindow = 1 << 20
	// inboxLength bounds the messages read ahead of the caller. Beyond it pion holds them back, and its
	// receiver window closes.
	inboxLength = 64
	// readerBuffer fits nearly all of NGAP; a stream's buffer grows when a message needs it.
	readerBuffer = 8 << 10
)

// message is what SCTPRead gives: data with its SndRcvInfo, or a notification.
type message struct {
	data         []byte
	info         SndRcvInfo
	notification Notification
}

// udpAssociation is an association that pion/sctp carries over a path. One goroutine per stream moves
// messages into inbox; when the association is over the last of them appends the notifications that say
// why and closes inbox.
type udpAssociation struct {
	pion *sctp.Association
	path *path

	inbox   chan message
	closing chan struct{}
	once    sync.Once

	mu      sync.Mutex
	streams map[uint16]*sctp.Stream
	over    bool
	readers sync.WaitGroup
	sent    SndRcvInfo

	events                      atomic.Int32
	readBuf, writeBuf           atomic.Int64
	readTimeout                 atomic.Int64
	readDeadline, writeDeadline atomic.Pointer[time.Time]
}

// pionConfig sets pion up; its log is off, because what matters surfaces as an error or a notification.
func pionConfig(p *path, cfg *SocketConfig) sctp.Config {
	config := sctp.Config{
		NetConn:              p,
		MaxReceiveBufferSize: receiveWindow,
		MaxMessageSize:       maxMessageSize,
		RTOMax:               1500,
		LoggerFactory: &logging.DefaultLoggerFactory{
			Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled,
		},
	}
	if cfg.RtoInfo != nil && cfg.RtoInfo.SrtoMax > 0 {
		config.RTOMax = float64(cfg.RtoInfo.SrtoMax)
	}
	if cfg.MaxSeg > 0 {
		// Beside the user data a packet holds the common header and the header of a DATA chunk.
		config.MTU = uint32(min(max(cfg.MaxSeg, 512), 1200)) + commonHeaderLength + 16
	}
	return config
}

func newUDPAssociation(p *path, pion *sctp.Association, cfg *SocketConfig) *udpAssociation {
	a := &udpAssociation{
		pion: pion, path: p,
		inbox: make(chan message, inboxLength), closing: make(chan struct{}),
		streams: map[uint16]*sctp.Stream{},
	}
	a.readBuf.Store(receiveWindow)
	a.writeBuf.Store(sendLimit)
	maxRxt := defaultMaxRxt
	if cfg.AssocInfo != nil && cfg.AssocInfo.AsocMaxRxt > 0 {
		maxRxt = int(cfg.AssocInfo.AsocMaxRxt)
	}
	go a.acceptStreams()
	// Half an interval more leaves the last heartbeat time to be answered.
	go a.watchPeer(time.Duration(maxRxt)*heartbeatInterval + heartbeatInterval/2)
	return a
}

// watchPeer sends heartbeats to a silent peer and ends the association when it stays silent
// (RFC 9260 8.1, 8.3): pion itself retransmits for ever.
func (a *udpAssociation) watchPeer(limit time.Duration) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-a.path.closed:
			return
		case now := <-tick.C:
			silence := now.Sub(time.Unix(0, a.path.lastHeard.Load()))
			switch {
			case silence >= limit:
				a.path.fail(syscall.ETIMEDOUT)
				return
			case silence >= heartbeatInterval/2:
				a.path.heartbeat()
			}
		}
	}
}

func (a *udpAssociation) acceptStreams() {
	for {
		s, err := a.pion.AcceptStream()
		if err != nil {
			break
		}
		a.mu.Lock()
		a.startReader(s)
		a.mu.Unlock()
	}
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.readers.Wait()
	a.reportEnd()
	close(a.inbox)
}

// startReader begins to read a stream that is not read yet. The caller holds mu.
func (a *udpAssociation) startReader(s *sctp.Stream) {
	id := s.StreamIdentifier()
	if a.over || a.streams[id] == s {
		return
	}
	a.streams[id] = s
	a.readers.Add(1)
	go func() {
		defer a.readers.Done()
		a.readStream(s, id)
	}()
}

func (a *udpAssociation) readStream(s *sctp.Stream, id uint16) {
	buf := make([]byte, readerBuffer)
	for {
		n, ppid, err := s.ReadSCTP(buf)
		if errors.Is(err, io.ErrShortBuffer) {
			// The message stays in the stream, and n is its length.
			if n > maxMessageSize {
				a.path.fail(syscall.EMSGSIZE)
				return
			}
			buf = make([]byte, n)
			continue
		}
		if err != nil {
			return
		}
		m := message{data: append([]byte(nil), buf[:n]...)}
		m.info.Stream, m.info.PPID = id, wirePPID(uint32(ppid))
		select {
		case a.inbox <- m:
		case <-a.closing:
			return
		}
	}
}

// reportEnd appends what the kernel would notify when an association ends (RFC 6458 6.1.1, 6.1.5).
func (a *udpAssociation) reportEnd() {
	events := int(a.events.Load())
	var notifications []Notification
	if ending(a.path.end.Load()) == endShutdown {
		if events&SCTP_EVENT_SHUTDOWN != 0 {
			notifications = append(notifications, newShutdownEvent())
		}
		if events&SCTP_EVENT_ASSOCIATION != 0 {
			notifications = append(notifications, newAssocChangeEvent(SCTP_SHUTDOWN_COMP))
		}
	} else if events&SCTP_EVENT_ASSOCIATION != 0 {
		notifications = append(notifications, newAssocChangeEvent(SCTP_COMM_LOST))
	}
	for _, n := range notifications {
		select {
		case a.inbox <- message{notification: n}:
		case <-a.closing:
			return
		}
	}
}

func (a *udpAssociation) read(b []byte) (int, *SndRcvInfo, Notification, error) {
	deadline := earlier(loadDeadline(&a.readDeadline), deadlineAfter(time.Duration(a.readTimeout.Load())))
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case m, ok := <-a.inbox:
		switch {
		case !ok:
			return 0, nil, nil, io.EOF
		case m.notification != nil:
			return int(m.notification.Length()), nil, m.notification, nil
		}
		n := copy(b, m.data)
		// RFC 6458 6.2.1: SndRcvInfo comes only to who subscribed to it.
		if a.events.Load()&SCTP_EVENT_DATA_IO == 0 {
			return n, nil, nil, nil
		}
		return n, &m.info, nil, nil
	case <-a.closing:
		return 0, nil, nil, syscall.EBADF
	case <-expired:
		return 0, nil, nil, syscall.EAGAIN
	}
}

func (a *udpAssociation) write(b []byte, info *SndRcvInfo) (int, error) {
	if len(b) == 0 {
		return 0, syscall.EINVAL
	}
	if len(b) > maxMessageSize {
		return 0, syscall.EMSGSIZE
	}
	if d := loadDeadline(&a.writeDeadline); !d.IsZero() && !time.Now().Before(d) {
		return 0, syscall.EAGAIN
	}
	if info == nil {
		a.mu.Lock()
		sent := a.sent
		a.mu.Unlock()
		info = &sent
	}
	if int64(a.pion.BufferedAmount()+len(b)) > a.writeBuf.Load() {
		return 0, syscall.ENOBUFS
	}
	s, err := a.stream(info.Stream)
	if err != nil {
		return 0, err
	}
	n, err := s.WriteSCTP(b, sctp.PayloadProtocolIdentifier(wirePPID(info.PPID)))
	if err != nil {
		// The peer or the path ended the association: a reader learns why.
		return n, syscall.EPIPE
	}
	return n, nil
}

// stream gives the stream to write to, and reads it too: pion announces only streams the peer opened.
func (a *udpAssociation) stream(id uint16) (*sctp.Stream, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return nil, syscall.EPIPE
	}
	if s := a.streams[id]; s != nil && s.State() == sctp.StreamStateOpen {
		return s, nil
	}
	s, err := a.pion.OpenStream(id, sctp.PayloadTypeUnknown)
	if err != nil {
		return nil, syscall.EPIPE
	}
	a.startReader(s)
	return s, nil
}

func (a *udpAssociation) close() error {
	a.once.Do(func() {
		close(a.closing)
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		a.drain(ctx)
		if err := a.pion.Shutdown(ctx); err != nil {
			a.path.abort()
		}
		_ = a.pion.Close()
	})
	return nil
}

// drain waits until what was written is acknowledged: pion's Shutdown leaves out what it has not sent yet.
func (a *udpAssociation) drain(ctx context.Context) {
	a.mu.Lock()
	streams := make([]*sctp.Stream, 0, len(a.streams))
	for _, s := range a.streams {
		streams = append(streams, s)
	}
	a.mu.Unlock()
	for _, s := range streams {
		low := make(chan struct{}, 1)
		s.OnBufferedAmountLow(func() {
			select {
			case low <- struct{}{}:
			default:
			}
		})
		for s.BufferedAmount() > 0 {
			select {
			case <-low:
			case <-a.path.closed:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

func (a *udpAssociation) abort() error {
	a.once.Do(func() {
		close(a.closing)
		a.path.abort()
		_ = a.pion.Close()
	})
	return nil
}

func (a *udpAssociation) subscribe(events int) error {
	a.events.Store(int32(events))
	return nil
}

func (a *udpAssociation) setDefaultSent(info SndRcvInfo) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = info
	return nil
}

func (a *udpAssociation) defaultSent() (SndRcvInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent, nil
}

// setReadBuffer only remembers the size: the receiver window is fixed when the association begins.
func (a *udpAssociation) setReadBuffer(octets int) error {
	if octets <= 0 {
		return syscall.EINVAL
	}
	a.readBuf.Store(int64(octets))
	return nil
}

func (a *udpAssociation) readBuffer() (int, error) { return int(a.readBuf.Load()), nil }

func (a *udpAssociation) setWriteBuffer(octets int) error {
	if octets <= 0 {
		return syscall.EINVAL
	}
	a.writeBuf.Store(int64(octets))
	return nil
}

func (a *udpAssociation) writeBuffer() (int, error) { return int(a.writeBuf.Load()), nil }

func (a *udpAssociation) setReadTimeout(d time.Duration) error {
	a.readTimeout.Store(int64(d))
	return nil
}

// outboundStreams: this end asks for as many as there can be, the peer's INIT or INIT ACK says how many it takes.
func (a *udpAssociation) outboundStreams() (uint16, error) {
	return uint16(a.path.streams.Load()), nil
}

// setWriteTimeout has nothing to do: a write never waits, it ends in ENOBUFS.
func (a *udpAssociation) setWriteTimeout(time.Duration) error { return nil }

// setReadDeadline applies to reads that begin after it.
func (a *udpAssociation) setReadDeadline(t time.Time) error {
	a.readDeadline.Store(&t)
	return nil
}

func (a *udpAssociation) setWriteDeadline(t time.Time) error {
	a.writeDeadline.Store(&t)
	return nil
}

func (a *udpAssociation) localAddr() (*SCTPAddr, error)  { return a.path.local, nil }
func (a *udpAssociation) remoteAddr() (*SCTPAddr, error) { return a.path.remote, nil }

// wirePPID turns a PPID in network byte order, as the API has it, into the number, and back.
func wirePPID(ppid uint32) uint32 {
	var octets [4]byte
	binary.NativeEndian.PutUint32(octets[:], ppid)
	return binary.BigEndian.Uint32(octets[:])
}
