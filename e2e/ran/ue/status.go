package ue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"core5g.dev/core5g/e2e/ran/gtpu"
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
}

// SessionStatus is one PDU session.
type SessionStatus struct {
	ID      uint8    `json:"id"`
	Slice   string   `json:"slice"`
	DNN     string   `json:"dnn"`
	State   string   `json:"state"` // inactive, pending, active, releasing
	Up      bool     `json:"up"`    // it has a tunnel
	Wanted  bool     `json:"wanted"`
	Address string   `json:"address,omitempty"`
	DNS     []string `json:"dns,omitempty"`
	MTU     int      `json:"mtu,omitempty"`
	Device  string   `json:"device,omitempty"`
	QFI     uint8    `json:"qfi,omitempty"`
	Peer    string   `json:"upf,omitempty"`
	TEIDUL  string   `json:"teid_uplink,omitempty"`
	TEIDDL  string   `json:"teid_downlink,omitempty"`

	UplinkPackets   uint64 `json:"uplink_packets"`
	UplinkOctets    uint64 `json:"uplink_octets"`
	DownlinkPackets uint64 `json:"downlink_packets"`
	DownlinkOctets  uint64 `json:"downlink_octets"`
	NoDevice        uint64 `json:"downlink_without_device,omitempty"`
	NotSent         uint64 `json:"uplink_not_sent,omitempty"`

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
	if u.conn != nil {
		s.CM = "connected"
	}
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
		if x.address.IsValid() {
			e.Address, e.MTU = x.address.String(), x.mtu
			if s.Address == "" && x.state == active {
				s.Address, s.Slice = e.Address, e.Slice
			}
		}
		for _, d := range x.dns {
			e.DNS = append(e.DNS, d.String())
		}
		if u.wish && x.wish && (x.state != active || u.conn != nil && !e.Up) {
			s.Ready = false
		}
		s.Sessions = append(s.Sessions, e)
	}
	if s.Slice == "" && len(u.cfg.Sessions) > 0 {
		s.Slice = u.cfg.Sessions[0].Slice.String()
	}
	u.view.publish(s)
}

// Status returns a copy of the state with the counters of this moment.
func (u *UE) Status() Status {
	s := *u.view.now.Load()
	s.Sessions = append([]SessionStatus{}, s.Sessions...)
	for i := range s.Sessions {
		s.Sessions[i].fill()
	}
	return s
}

// fill reads what changes without an event.
func (e *SessionStatus) fill() {
	x := e.live
	if n := x.name.Load(); n != nil {
		e.Device = *n
	}
	e.UplinkPackets, e.UplinkOctets = x.past.upPackets.Load(), x.past.upOctets.Load()
	e.DownlinkPackets, e.DownlinkOctets = x.past.downPackets.Load(), x.past.downOctets.Load()
	e.NoDevice, e.NotSent = x.noDevice.Load(), x.notSent.Load()
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
