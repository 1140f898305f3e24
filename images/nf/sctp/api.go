package sctp

import "syscall"

// Event subscription bits of SubscribeEvents (RFC 6458 6.2.1).
const (
	SCTP_EVENT_DATA_IO = 1 << iota
	SCTP_EVENT_ASSOCIATION
	SCTP_EVENT_ADDRESS
	SCTP_EVENT_SEND_FAILURE
	SCTP_EVENT_PEER_ERROR
	SCTP_EVENT_SHUTDOWN
	SCTP_EVENT_PARTIAL_DELIVERY
	SCTP_EVENT_ADAPTATION_LAYER
	SCTP_EVENT_AUTHENTICATION
	SCTP_EVENT_SENDER_DRY

	SCTP_EVENT_ALL = 1<<iota - 1
)

const (
	// SCTP_MAX_STREAM asks for as many outbound streams as the protocol allows.
	SCTP_MAX_STREAM = 0xffff
	// SCTP_DEFAULT_MAXSEG leaves the fragmentation point to the path MTU.
	SCTP_DEFAULT_MAXSEG = 0
)

// SCTPAssocID identifies an association of one socket; one-to-one sockets have a single one.
type SCTPAssocID int32

// InitMsg holds what an endpoint asks for in its INIT (RFC 6458 8.1.3). MaxInitTimeout is in
// milliseconds and bounds the retransmission timeout of the INIT.
type InitMsg struct {
	NumOstreams    uint16
	MaxInstreams   uint16
	MaxAttempts    uint16
	MaxInitTimeout uint16
}

// RtoInfo bounds the retransmission timeout, in milliseconds (RFC 6458 8.1.1).
type RtoInfo struct {
	SrtoAssocID int32
	SrtoInitial uint32
	SrtoMax     uint32
	StroMin     uint32
}

// AssocInfo holds the association parameters of RFC 6458 8.1.2. AsocMaxRxt is the number of
// unanswered transmissions after which the peer counts as dead.
type AssocInfo struct {
	AssocID                SCTPAssocID
	AsocMaxRxt             uint16
	NumberPeerDestinations uint16
	PeerRwnd               uint32
	LocalRwnd              uint32
	CookieLife             uint32
}

// SndRcvInfo accompanies a message (RFC 6458 5.3.2). PPID is in network byte order.
type SndRcvInfo struct {
	Stream  uint16
	SSN     uint16
	Flags   uint16
	_       uint16
	PPID    uint32
	Context uint32
	TTL     uint32
	TSN     uint32
	CumTSN  uint32
	AssocID int32
}

// SocketConfig is the set of options of a socket before it listens or connects.
type SocketConfig struct {
	// Control, if set, is called with the socket before it is bound.
	Control func(network, address string, c syscall.RawConn) error
	// InitMsg is what INIT and INIT ACK offer.
	InitMsg InitMsg
	// RtoInfo, if set, bounds the retransmission timeout.
	RtoInfo *RtoInfo
	// AssocInfo, if set, bounds the retransmissions.
	AssocInfo *AssocInfo
	// MaxSeg, if above 0, bounds the user data in one DATA chunk, in octets.
	MaxSeg int
}

// Listen opens a listener at laddr; network is "sctp", "sctp4" or "sctp6".
func (cfg *SocketConfig) Listen(network string, laddr *SCTPAddr) (*SCTPListener, error) {
	if err := checkNetwork(network); err != nil {
		return nil, err
	}
	t, err := selectTransport()
	if err != nil {
		return nil, err
	}
	l, err := t.listen(network, laddr, cfg)
	if err != nil {
		return nil, err
	}
	return newListener(l), nil
}

// Dial sets up an association with raddr. laddr may be nil, or hold addresses without a port.
func (cfg *SocketConfig) Dial(network string, laddr, raddr *SCTPAddr) (*SCTPConn, error) {
	if err := checkNetwork(network); err != nil {
		return nil, err
	}
	if raddr == nil || len(raddr.IPAddrs) == 0 || raddr.Port == 0 {
		return nil, &AddrError{Addr: raddr, Reason: "a peer needs an address and a port"}
	}
	t, err := selectTransport()
	if err != nil {
		return nil, err
	}
	a, err := t.dial(network, laddr, raddr, cfg)
	if err != nil {
		return nil, err
	}
	return newConn(a), nil
}

// ListenSCTP opens a listener with default options.
func ListenSCTP(network string, laddr *SCTPAddr) (*SCTPListener, error) {
	return (&SocketConfig{InitMsg: InitMsg{NumOstreams: SCTP_MAX_STREAM}}).Listen(network, laddr)
}

// ListenSCTPExt opens a listener with the given options.
func ListenSCTPExt(network string, laddr *SCTPAddr, options InitMsg, rtoInfo *RtoInfo,
	assocInfo *AssocInfo, maxSeg int,
) (*SCTPListener, error) {
	cfg := &SocketConfig{InitMsg: options, RtoInfo: rtoInfo, AssocInfo: assocInfo, MaxSeg: maxSeg}
	return cfg.Listen(network, laddr)
}

// DialSCTP sets up an association with raddr with default options.
func DialSCTP(network string, laddr, raddr *SCTPAddr) (*SCTPConn, error) {
	return (&SocketConfig{InitMsg: InitMsg{NumOstreams: SCTP_MAX_STREAM}}).Dial(network, laddr, raddr)
}

// DialSCTPExt sets up an association with raddr with the given options.
func DialSCTPExt(network string, laddr, raddr *SCTPAddr, options InitMsg, rtoInfo *RtoInfo,
	assocInfo *AssocInfo, maxSeg int,
) (*SCTPConn, error) {
	cfg := &SocketConfig{InitMsg: options, RtoInfo: rtoInfo, AssocInfo: assocInfo, MaxSeg: maxSeg}
	return cfg.Dial(network, laddr, raddr)
}
