package ue

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

// Status is what a UE says about itself. Slice and Address are those of its first active session.
type Status struct {
	SUPI      string          `json:"supi"`
	State     string          `json:"state"` // deregistered, registering, registered, deregistering
	CM        string          `json:"cm"`    // idle, connected
	Procedure string          `json:"procedure,omitempty"`
	Ready     bool            `json:"ready"` // every wish is fulfilled
	Slice     string          `json:"slice,omitempty"`
	Address   string          `json:"address,omitempty"`
	GUTI      string          `json:"guti,omitempty"`
	Allowed   []string        `json:"allowed_nssai,omitempty"`
	Integrity string          `json:"integrity,omitempty"`
	Ciphering string          `json:"ciphering,omitempty"`
	Sessions  []SessionStatus `json:"sessions"`
	Counters  Counts          `json:"counters"`
	LastError string          `json:"last_error,omitempty"`
	// Radio is what the gNB holds of the UE, nil while it is idle.
	Radio *gnb.ConnectionStatus `json:"radio,omitempty"`

	Behaviour Behaviour `json:"behaviour,omitzero"`

	conn *gnb.Connection
}

// SessionStatus is one PDU session.
type SessionStatus struct {
	ID           uint8          `json:"id"`
	Slice        string         `json:"slice"`
	DNN          string         `json:"dnn"`
	State        string         `json:"state"` // inactive, pending, active, releasing
	Up           bool           `json:"up"`    // it has a tunnel
	Wanted       bool           `json:"wanted"`
	Type         string         `json:"type,omitempty"`       // that the network has chosen: IPv4, IPv6, IPv4v6, Ethernet
	Cause        string         `json:"cause,omitempty"`      // why it is not the one asked for
	Address      string         `json:"address,omitempty"`    // IPv4
	Address6     string         `json:"address6,omitempty"`   // IPv6, global
	LinkLocal    string         `json:"link_local,omitempty"` // IPv6, of the interface identifier that the network has given
	DNS          []string       `json:"dns,omitempty"`        // of protocol configuration options and Router Advertisement
	PCSCF        []string       `json:"pcscf,omitempty"`
	MTU          int            `json:"mtu,omitempty"`
	BackOff      int            `json:"back_off_seconds,omitempty"` // that the network's last refusal asked for, and the UE does not heed; -1: for good
	AlwaysOn     *bool          `json:"always_on,omitempty"`        // what the network has answered or told
	Router       *Advertisement `json:"router_advertisement,omitempty"`
	AMBRUplink   uint64         `json:"ambr_uplink,omitempty"` // bit/s
	AMBRDownlink uint64         `json:"ambr_downlink,omitempty"`
	Flows        []FlowStatus   `json:"flows,omitempty"`
	Device       string         `json:"device,omitempty"`
	QFI          uint8          `json:"qfi,omitempty"`
	Peer         string         `json:"upf,omitempty"`
	TEIDUL       string         `json:"teid_uplink,omitempty"`
	TEIDDL       string         `json:"teid_downlink,omitempty"`

	UplinkPackets   uint64 `json:"uplink_packets"`
	UplinkOctets    uint64 `json:"uplink_octets"`
	DownlinkPackets uint64 `json:"downlink_packets"`
	DownlinkOctets  uint64 `json:"downlink_octets"`
	NoDevice        uint64 `json:"downlink_without_device,omitempty"`
	NotSent         uint64 `json:"uplink_not_sent,omitempty"`
	NoRule          uint64 `json:"uplink_without_rule,omitempty"` // dropped: no QoS rule matched

	live *session
}

// view is the state as others see it: replaced after every event, with a signal to who waits.
type view struct {
	now     atomic.Pointer[Status]
	mu      sync.Mutex
	changed chan struct{}
}

func (v *view) init() { v.changed = make(chan struct{}) }

func (v *view) publish(s *Status) {
	v.now.Store(s)
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *view) next() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

func (u *UE) publish() {
	s := &Status{
		SUPI: u.cfg.SUPI, State: string(u.mm), CM: "idle", Counters: u.count, LastError: u.lastError,
		Sessions: []SessionStatus{},
	}
	if s.conn = u.conn; u.conn != nil {
		s.CM = "connected"
	}
	s.Behaviour = u.behaviour.clone()
	if u.proc != nil {
		s.Procedure = u.proc.name
	}
	if u.guti != nil {
		s.GUTI = u.guti.String()
	}
	if u.sec != nil {
		s.Integrity, s.Ciphering = fmt.Sprintf("NIA%d", u.sec.Integrity), fmt.Sprintf("NEA%d", u.sec.Ciphering)
	}
	for _, a := range u.allowed {
		s.Allowed = append(s.Allowed, a.String())
	}
	s.Ready = u.wish == (u.mm == registered)
	for _, x := range u.list() {
		e := SessionStatus{
			ID: x.cfg.PSI, Slice: x.cfg.Slice.String(), DNN: x.cfg.DNN, State: string(x.state), Wanted: x.wish,
			Up: x.tunnel.Load() != nil, live: x,
		}
		e.told(x)
		if e.BackOff = int(x.backOff.Seconds()); x.backOff == uenas.Never {
			e.BackOff = -1
		}
		if first := e.Address + e.Address6; s.Address == "" && first != "" && x.state == active {
			if s.Address, s.Slice = e.Address, e.Slice; s.Address == "" {
				s.Address = e.Address6
			}
		}
		if u.wish && x.wish && (x.state != active || u.conn != nil && !e.Up || !x.complete()) {
			s.Ready = false
		}
		s.Sessions = append(s.Sessions, e)
	}
	if s.Slice == "" && len(u.cfg.Sessions) > 0 {
		s.Slice = u.cfg.Sessions[0].Slice.String()
	}
	u.view.publish(s)
}

// told fills in what the network has told about a session.
func (e *SessionStatus) told(x *session) {
	m := x.accepted
	if m == nil {
		return
	}
	e.Type, e.MTU, e.AlwaysOn, e.Router = typeName(m.SessionType), x.mtu, m.AlwaysOn, x.advertisement
	e.AMBRUplink, e.AMBRDownlink, e.Flows = x.qos.ambr.Uplink, x.qos.ambr.Downlink, x.qos.status()
	if m.Cause != 0 {
		e.Cause = uenas.Cause5GSM(m.Cause).String()
	}
	text := func(list []netip.Addr) (out []string) {
		for _, a := range list {
			out = append(out, a.String())
		}
		return out
	}
	if x.address.IsValid() {
		e.Address = x.address.String()
	}
	if x.interfaceID != nil {
		e.LinkLocal = linkLocal(*x.interfaceID).String()
	}
	if x.address6.IsValid() {
		e.Address6 = x.address6.String()
	}
	e.DNS = text(servers(m.Options, n1.OptionDNSv4, n1.OptionDNSv6))
	if x.advertisement != nil {
		e.DNS = append(e.DNS, text(x.advertisement.DNS)...)
	}
	e.PCSCF = text(servers(m.Options, n1.OptionPCSCFv4, n1.OptionPCSCFv6))
}

// Status returns a copy of the state with the counters of this moment.
func (u *UE) Status() Status {
	s := *u.view.now.Load()
	s.Sessions = append([]SessionStatus{}, s.Sessions...)
	if s.conn != nil {
		radio := s.conn.Status()
		s.Radio = &radio
	}
	for i := range s.Sessions {
		s.Sessions[i].fill()
	}
	return s
}

// Downlink is where packets to the UE's first session come: its address, "" while it has none, and the TEID at the gNB, 0 while the UE is idle. It is what of Status
// costs nothing.
func (u *UE) Downlink() (address string, teid uint32) {
	s := u.view.now.Load()
	if len(s.Sessions) == 0 {
		return "", 0
	}
	if t := s.Sessions[0].live.tunnel.Load(); t != nil {
		teid = t.LocalTEID
	}
	return s.Address, teid
}

// fill reads what changes without an event.
func (e *SessionStatus) fill() {
	x := e.live
	if n := x.name.Load(); n != nil {
		e.Device = *n
	}
	e.UplinkPackets, e.UplinkOctets = x.past.upPackets.Load(), x.past.upOctets.Load()
	e.DownlinkPackets, e.DownlinkOctets = x.past.downPackets.Load(), x.past.downOctets.Load()
	e.NoDevice, e.NotSent, e.NoRule = x.noDevice.Load(), x.notSent.Load(), x.noRule.Load()
	e.Flows = slices.Clone(e.Flows)
	for i := range e.Flows {
		f := &e.Flows[i]
		f.UplinkPackets, f.DownlinkPackets = x.upByFlow[f.QFI].Load(), x.downByFlow[f.QFI].Load()
	}
	var t *gtpu.Tunnel
	if t = x.tunnel.Load(); t == nil {
		return
	}
	e.QFI, e.Peer = t.QFI, t.Peer.Addr().String()
	e.TEIDUL, e.TEIDDL = fmt.Sprintf("%#08x", t.PeerTEID), fmt.Sprintf("%#08x", t.LocalTEID)
	e.UplinkPackets += t.UplinkPackets.Load()
	e.UplinkOctets += t.UplinkOctets.Load()
	e.DownlinkPackets += t.DownlinkPackets.Load()
	e.DownlinkOctets += t.DownlinkOctets.Load()
}

// Wait returns when want is true of the state, or with ctx's error.
func (u *UE) Wait(ctx context.Context, want func(Status) bool) error {
	for {
		changed := u.view.next()
		if want(u.Status()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
