package ue

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/free5gc/nas/nasMessage"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

type sessionState string

const (
	inactive  sessionState = "inactive"
	pending   sessionState = "pending"
	active    sessionState = "active"
	releasing sessionState = "releasing"
)

// defaultMTU is the link MTU when the network names none: 1500 less IP, UDP, GTP-U and the PDU
// Session Container, rounded down.
const defaultMTU = 1400

// defaultFrameMTU is that of a frame's payload, likewise.
const defaultFrameMTU = 1500

// maxHeld bounds the uplink packets that wait while the UE is idle.
const maxHeld = 32

// session is one PDU session of a UE.
type session struct {
	cfg        SessionConfig
	configured bool // listed in the UE's configuration
	lost       bool // the UPF does not know it any more; until it is established again
	keep       bool // configured, or active before: tried again after a failure
	revivals   int  // how often its user plane could not be had since it was there

	// Owned by the UE's goroutine.
	wish    bool
	state   sessionState
	pti     uint8
	address netip.Addr // IPv4; invalid without
	mtu     int
	waiters []chan error
	timer   *time.Timer
	retry   retry

	accepted     *uenas.SessionMessage // what the network has told; nil while inactive
	qos          qos
	modification *modification // asked for by the UE, under way
	backOff      time.Duration // that the network's last message asked for
	donePTI      uint8         // of the last modification that the UE asked for and got

	interfaceID   *[8]byte // nil without IPv6
	address6      netip.Addr
	advertisement *Advertisement
	solicited     int
	solicitor     *time.Timer
	hasIPv6       atomic.Bool // there is a global address; what comes from it may leave
	frames        atomic.Bool // the session is of type Ethernet

	tunnel  atomic.Pointer[gtpu.Tunnel]
	tap     atomic.Pointer[func(packet []byte) bool]
	classes atomic.Pointer[classifier]
	// The device outlives a session that the UE wishes back, so that programs bound to it go on.
	device   atomic.Pointer[Device]
	name     atomic.Pointer[string]
	deviceIs DeviceConfig

	heldMu sync.Mutex
	held   [][]byte
	waking atomic.Bool // the UE's goroutine has been told of held packets

	noDevice, notSent, noRule atomic.Uint64
	upByFlow, downByFlow      flowCounts
	past                      totals // of tunnels that are gone
}

// totals are packet counts of a session's earlier tunnels.
type totals struct{ upPackets, upOctets, downPackets, downOctets atomic.Uint64 }

func (t *totals) add(x *gtpu.Tunnel) {
	t.upPackets.Add(x.UplinkPackets.Load())
	t.upOctets.Add(x.UplinkOctets.Load())
	t.downPackets.Add(x.DownlinkPackets.Load())
	t.downOctets.Add(x.DownlinkOctets.Load())
}

// setTunnel swaps the tunnel and keeps the old one's counts.
func (s *session) setTunnel(t *gtpu.Tunnel) {
	if old := s.tunnel.Swap(t); old != nil && old != t {
		s.past.add(old)
	}
}

func (u *UE) answer(s *session, err error) {
	for _, w := range s.waiters {
		u.reply(w, err)
	}
	s.waiters = nil
}

func (s *session) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

func (s *session) closeDevice() {
	if d := s.device.Swap(nil); d != nil {
		(*d).Close()
	}
	s.name.Store(nil)
}

// Establish wishes for a session, and waits for the outcome of the next attempt. An active session
// with the same identity is left as it is.
func (u *UE) Establish(ctx context.Context, cfg SessionConfig) error {
	return u.command(ctx, func(done chan error) {
		if u.mm != registered {
			u.reply(done, ErrNotRegistered)
			return
		}
		s := u.session(cfg.PSI)
		if s == nil || s.state == inactive {
			if s == nil {
				s = &session{state: inactive, qos: newQoS()}
				u.sessMu.Lock()
				u.sessions[cfg.PSI] = s
				u.sessMu.Unlock()
			}
			if s.cfg != cfg {
				s.cfg, s.configured, s.keep = cfg, false, false
			}
		}
		s.wish = true
		s.retry.reset()
		if s.state == active {
			u.reply(done, nil)
			return
		}
		s.waiters = append(s.waiters, done)
	})
}

// EstablishAgain asks for a session that the UE has once more, under the same identity and without releasing it, as a UE
// does that has lost it (TS 24.501 6.4.1.7), and waits for the outcome.
func (u *UE) EstablishAgain(ctx context.Context, psi uint8) error {
	return u.command(ctx, func(done chan error) {
		s := u.session(psi)
		switch {
		case u.mm != registered:
			u.reply(done, ErrNotRegistered)
		case s == nil || s.state != active:
			u.reply(done, ErrNoSession)
		case u.conn == nil:
			u.reply(done, ErrIdle)
		default:
			s.wish = true
			u.sessionGone(s, nil)
			s.retry.reset()
			s.waiters = append(s.waiters, done)
		}
	})
}

// Release gives a session up and waits until it is gone.
func (u *UE) Release(ctx context.Context, psi uint8) error {
	return u.command(ctx, func(done chan error) {
		s := u.session(psi)
		if s == nil || s.state == inactive {
			if s != nil {
				s.wish = false
			}
			u.reply(done, ErrNoSession)
			return
		}
		s.wish = false
		if s.state == pending {
			u.reply(done, errors.New("the session is still being established"))
			return
		}
		s.waiters = append(s.waiters, done)
		if s.state == active {
			u.startRelease(s)
		}
	})
}

// nextPTI gives procedure transaction identities 1 to 254 in turn (TS 24.007 11.2.3.1a).
func (u *UE) nextPTI() uint8 {
	u.pti = u.pti%254 + 1
	return u.pti
}

func (u *UE) guard(s *session, d time.Duration, what string) {
	s.stopTimer()
	if s.lost {
		d = min(d, u.cfg.Timers.Lost)
	}
	pti := s.pti
	s.timer = time.AfterFunc(d, func() {
		u.q.push(func() {
			if s.pti == pti && (s.state == pending || s.state == releasing) {
				u.sessionFailed(s, fmt.Errorf("%s: no answer from the network in time", what))
			}
		})
	})
}

// startEstablishment sends PDU SESSION ESTABLISHMENT REQUEST (TS 24.501 6.4.1).
func (u *UE) startEstablishment(s *session) {
	s.pti = u.nextPTI()
	s.state = pending
	slice := s.cfg.Slice
	request := uenas.SessionEstablishment(s.cfg.PSI, s.pti, uenas.SessionRequest{
		Type: s.cfg.Type, AlwaysOn: s.cfg.AlwaysOn, PCSCF: s.cfg.PCSCF, MaxFilters: s.cfg.MaxFilters,
	})
	if s.cfg.Emergency {
		u.request(uenas.ULTransport(s.cfg.PSI, request, uenas.RequestEmergency, nil, ""))
	} else {
		u.request(uenas.ULTransport(s.cfg.PSI, request, uenas.RequestInitial, &slice, s.cfg.DNN))
	}
	u.guard(s, u.cfg.Timers.T3580, "PDU session establishment")
}

// startRelease sends PDU SESSION RELEASE REQUEST (6.4.3); an idle UE releases locally, and the next
// service request's PDU session status tells the network.
func (u *UE) startRelease(s *session) {
	if u.conn == nil {
		u.sessionGone(s, nil)
		u.resume = true
		return
	}
	s.pti = u.nextPTI()
	s.state = releasing
	u.request(uenas.ULTransport(s.cfg.PSI, uenas.SessionRelease(s.cfg.PSI, s.pti, nasMessage.Cause5GSMRegularDeactivation), uenas.RequestNone, nil, ""))
	u.guard(s, u.cfg.Timers.T3582, "PDU session release")
}

// reestablish replaces a session that has become useless, if the UE recovers by itself.
func (u *UE) reestablish(s *session) {
	if !u.cfg.Recover || s.state != active || u.conn == nil || !u.cellUp {
		return
	}
	s.lost = true
	u.startRelease(s)
}

// sessionGone drops a session; err tells why when nobody had asked for it.
func (u *UE) sessionGone(s *session, err error) {
	s.stopTimer()
	s.state = inactive
	s.setTunnel(nil)
	if !s.wish {
		s.closeDevice()
	}
	s.forgetAccept()
	u.modified(s, errors.New("the session is gone"))
	if err != nil {
		u.fail(fmt.Errorf("PDU session %d: %w", s.cfg.PSI, err))
		if !u.cfg.Recover {
			s.wish = false
			s.closeDevice()
		}
	}
	u.answer(s, err)
}

// sessionFailed ends an attempt to establish or release.
func (u *UE) sessionFailed(s *session, err error) {
	wasReleasing := s.state == releasing
	if s.lost {
		s.retry.reset() // programs wait: no pause between the steps of replacing it
	}
	s.retry.failed(u.cfg.Timers)
	u.sessionGone(s, err)
	if !s.keep && !wasReleasing {
		s.wish = false // a command's session is tried once
		s.closeDevice()
	}
}

// transport takes DL NAS TRANSPORT (TS 24.501 5.4.5.3).
func (u *UE) transport(m *nasMessage.DLNASTransport) {
	if m.SpareHalfOctetAndPayloadContainerType.GetPayloadContainerType() != nasMessage.PayloadContainerTypeN1SMInfo {
		u.drop("payload container type not handled")
		return
	}
	if m.Cause5GMM != nil { // our own message comes back: not forwarded
		if m.PduSessionID2Value != nil {
			if s := u.session(m.PduSessionID2Value.GetPduSessionID2Value()); s != nil && (s.state == pending || s.state == releasing) {
				u.count.Rejects++
				u.sessionFailed(s, &uenas.RejectError{Message: "DL NAS Transport", Cause: uenas.Cause5GMM(m.Cause5GMM.GetCauseValue())})
				return
			}
		}
		u.drop("5GSM message not forwarded")
		return
	}
	u.sessionManagement(m.PayloadContainer.GetPayloadContainerContents())
}

// status5GSM tells the network what the UE makes of its message (TS 24.501 7.3).
func (u *UE) status5GSM(psi, pti uint8, cause n1.Cause) {
	u.send(uenas.ULTransport(psi, uenas.Status5GSM(psi, pti, uint8(cause)), uenas.RequestNone, nil, ""))
}

func (u *UE) sessionManagement(raw []byte) {
	m, err := uenas.DecodeSessionMessage(raw)
	if err != nil {
		u.drop(err.Error())
		return
	}
	if u.behaviour.ignores(m.Type) {
		u.count.Ignored++
		return
	}
	psi, pti := m.SessionID, m.PTI
	s := u.session(psi)
	if s == nil || s.state == inactive {
		u.drop("5GSM message for a session that the UE does not have")
		u.status5GSM(psi, pti, n1.CauseInvalidPDUSessionIdentity)
		return
	}
	s.backOff = m.BackOff
	refused := func(message string) error {
		return &uenas.RejectError{Message: message, Cause: uenas.Cause5GSM(m.Cause), BackOff: m.BackOff}
	}
	switch m.Type {
	case n1.EstablishmentAcceptType:
		if s.state != pending || pti != s.pti {
			u.drop("PDU session establishment accept out of place")
			return
		}
		u.established(s, m)
	case n1.EstablishmentRejectType:
		if s.state != pending || pti != s.pti {
			u.drop("PDU session establishment reject out of place")
			return
		}
		u.count.Rejects++
		u.sessionFailed(s, refused("PDU Session Establishment Reject"))
	case n1.ReleaseCommandType:
		u.send(uenas.ULTransport(psi, uenas.SessionReleaseComplete(psi, pti), uenas.RequestNone, nil, ""))
		if s.state == releasing && pti == s.pti {
			u.sessionGone(s, nil)
			return
		}
		// 6.3.3: released by the network. The wish stays, after a pause.
		s.retry.failed(u.cfg.Timers)
		u.sessionGone(s, refused("PDU Session Release Command"))
	case n1.ReleaseRejectType:
		u.count.Rejects++
		if s.state == releasing {
			u.sessionFailed(s, refused("PDU Session Release Reject"))
		}
	case n1.ModificationCommandType:
		u.modificationCommand(s, m)
	case n1.ModificationRejectType:
		u.modificationReject(s, m)
	case n1.StatusType:
		err := refused("5GSM Status")
		switch {
		case s.state == pending || s.state == releasing:
			u.sessionFailed(s, err)
		case s.modification != nil && s.modification.pti == pti:
			u.modified(s, err)
		default:
			u.fail(err)
		}
	}
}

// forgetAccept drops what the network has told about a session.
func (s *session) forgetAccept() {
	s.accepted, s.qos, s.donePTI = nil, newQoS(), 0
	s.classes.Store(nil)
	s.address, s.address6, s.interfaceID, s.advertisement, s.solicited = netip.Addr{}, netip.Addr{}, nil, nil, 0
	s.hasIPv6.Store(false)
	s.frames.Store(false)
	if s.solicitor != nil {
		s.solicitor.Stop()
	}
}

// established takes PDU SESSION ESTABLISHMENT ACCEPT (TS 24.501 8.3.2).
func (u *UE) established(s *session, m *uenas.SessionMessage) {
	v4, v6 := m.SessionType == n1.IPv4 || m.SessionType == n1.IPv4v6, m.SessionType == n1.IPv6 || m.SessionType == n1.IPv4v6
	switch fault := faultOfType(s.cfg.Type, m); {
	case fault != nil:
		u.sessionFailed(s, fault)
		return
	case !v4 && !v6 && m.SessionType != n1.Ethernet:
		u.sessionFailed(s, fmt.Errorf("PDU session establishment accept of type %d, which the simulated UE cannot use", m.SessionType))
		return
	case v4 && !m.IPv4.IsValid():
		u.sessionFailed(s, errors.New("PDU session establishment accept without an IPv4 address"))
		return
	case v6 && m.InterfaceID == nil:
		u.sessionFailed(s, errors.New("PDU session establishment accept without an interface identifier"))
		return
	}
	s.stopTimer()
	s.forgetAccept()
	s.state, s.accepted, s.address, s.interfaceID = active, m, m.IPv4, m.InterfaceID
	s.frames.Store(m.SessionType == n1.Ethernet)
	s.takeOptions(m.Options)
	s.qos.ambr = *m.AMBR
	if q, fault := s.qos.apply(m.Rules, m.Flows); fault == nil {
		s.qos = q
	} else {
		m.QoSFault = fault
	}
	s.classify()
	s.keep, s.lost = true, false
	s.retry.reset()
	u.count.Sessions++
	u.lastError = ""
	if m.QoSFault != nil {
		u.fail(fmt.Errorf("PDU session %d: establishment accept: %s", s.cfg.PSI, m.QoSFault.Reason))
	}
	u.log.Info("PDU session active", "psi", s.cfg.PSI, "slice", s.cfg.Slice, "dnn", s.cfg.DNN, "type", typeName(m.SessionType), "address", s.address)
	u.ready(s)
	u.solicit(s)
}

// ready makes the device of the addresses that there are, and answers who waits once all are.
func (u *UE) ready(s *session) {
	if s.address.IsValid() || s.address6.IsValid() || s.frames.Load() {
		if err := u.openDevice(s); err != nil {
			u.fail(fmt.Errorf("PDU session %d: device: %w", s.cfg.PSI, err))
		}
	}
	if s.complete() {
		u.answer(s, nil)
	}
}

// complete says whether the session has every address that its type promises.
func (s *session) complete() bool { return s.interfaceID == nil || s.address6.IsValid() }

// typeName is how TS 24.501 9.11.4.11 calls a PDU session type.
func typeName(t n1.SessionType) string {
	names := map[n1.SessionType]string{n1.IPv4: "IPv4", n1.IPv6: "IPv6", n1.IPv4v6: "IPv4v6", n1.Unstructured: "Unstructured", n1.Ethernet: "Ethernet"}
	return names[t]
}

// faultOfType is what is wrong with an accept where Ethernet is asked for or given: one is nothing to who wants the other, and there is nothing of IP in it
// (TS 24.501 6.4.1.3, TS 23.501 5.6.10.2).
func faultOfType(asked n1.SessionType, m *uenas.SessionMessage) error {
	ofIP := slices.ContainsFunc(m.Options, func(o n1.Option) bool {
		return slices.Contains([]uint16{n1.OptionDNSv4, n1.OptionDNSv6, n1.OptionPCSCFv4, n1.OptionPCSCFv6, n1.OptionMTUv4, n1.OptionIPCP}, o.ID)
	})
	switch {
	case (asked == n1.Ethernet) != (m.SessionType == n1.Ethernet):
		return fmt.Errorf("PDU session establishment accept of type %s, and %s was asked for", typeName(m.SessionType), typeName(cmp.Or(asked, n1.IPv4)))
	case asked != n1.Ethernet:
		return nil
	case m.HasAddress:
		return errors.New("PDU session establishment accept of type Ethernet with a PDU address")
	case ofIP:
		return errors.New("PDU session establishment accept of type Ethernet with protocol configuration options of IP")
	}
	return nil
}

// takeOptions takes the link MTU out of protocol configuration options: of IPv4, or of a frame's payload.
func (s *session) takeOptions(options n1.Options) {
	wanted := n1.OptionMTUv4
	if s.mtu = defaultMTU; s.frames.Load() {
		wanted, s.mtu = n1.OptionMTUEthernet, defaultFrameMTU
	}
	for _, o := range options {
		if o.ID == wanted && len(o.Content) == 2 {
			if mtu := int(binary.BigEndian.Uint16(o.Content)); mtu >= 576 && mtu < s.mtu {
				s.mtu = mtu
			}
		}
	}
}

// servers lists the addresses that options of these numbers hold.
func servers(options n1.Options, ids ...uint16) (out []netip.Addr) {
	for _, o := range options {
		for _, id := range ids {
			if a, ok := netip.AddrFromSlice(o.Content); ok && o.ID == id {
				out = append(out, a)
			}
		}
	}
	return out
}

// classify puts the session's rules before its uplink packets.
func (s *session) classify() {
	c := s.qos.classifier()
	c.forced, c.frames = s.cfg.QFI, s.frames.Load()
	s.classes.Store(c)
}

func (u *UE) openDevice(s *session) error {
	if u.cfg.Device == nil {
		return nil
	}
	want := DeviceConfig{SUPI: u.cfg.SUPI, PSI: s.cfg.PSI, Address: s.address, Address6: s.address6, Ethernet: s.frames.Load(), MTU: s.mtu}
	if want.Address6.IsValid() {
		want.MTU = max(want.MTU, minimumIPv6MTU) // RFC 8200 5: no smaller link carries IPv6
	}
	if d := s.device.Load(); d != nil {
		if s.deviceIs == want {
			return nil
		}
		if grown := s.deviceIs; want.Address6.IsValid() && !grown.Address6.IsValid() && grown.Address == want.Address {
			// A second address does not disturb the programs that use the first one.
			if x, ok := (*d).(interface {
				AddIPv6(address netip.Addr, mtu int) error
			}); ok {
				if err := x.AddIPv6(want.Address6, want.MTU); err != nil {
					return err
				}
				s.deviceIs = want
				return nil
			}
		}
		s.closeDevice()
		s.heldMu.Lock()
		s.held = nil // from the address of before
		s.heldMu.Unlock()
	}
	d, err := u.cfg.Device(want)
	if err != nil {
		return err
	}
	s.deviceIs = want
	name := d.Name()
	s.device.Store(&d)
	s.name.Store(&name)
	go u.pump(s, d)
	return nil
}

// pump carries uplink packets from the device until it is closed.
func (u *UE) pump(s *session, d Device) {
	b := make([]byte, gtpu.HeaderLen+65536)
	for {
		n, err := d.Read(b[gtpu.HeaderLen:])
		if err != nil {
			if !errors.Is(err, os.ErrClosed) {
				u.log.Warn("device", "name", d.Name(), "err", err)
			}
			return
		}
		if !s.leaves(b[gtpu.HeaderLen : gtpu.HeaderLen+n]) {
			continue
		}
		u.uplink(s, b[:gtpu.HeaderLen+n])
	}
}

// leaves says whether a packet of the device is user data: any IPv4, and IPv6 from the session's global address on.
// The kernel's own solicitations and listener reports of a new link stay here.
func (s *session) leaves(p []byte) bool {
	switch {
	case s.frames.Load():
		return len(p) >= frameHeader
	case len(p) >= 20 && p[0]>>4 == 4:
		return true
	case len(p) >= ipv6Header && p[0]>>4 == 6:
		return s.hasIPv6.Load() && netip.AddrFrom16([16]byte(p[8:24])).IsGlobalUnicast()
	}
	return false
}

// uplink sends one packet (after HeaderLen octets of room), or holds it while the UE is idle.
func (u *UE) uplink(s *session, b []byte) {
	t := s.tunnel.Load()
	if t == nil {
		t = s.hold(b)
	}
	if t != nil {
		qfi, ok := t.QFI, true
		if c := s.classes.Load(); c != nil {
			qfi, ok = c.mark(b[gtpu.HeaderLen:], t.QFI)
		}
		switch {
		case !ok:
			s.noRule.Add(1)
		case u.n3.Send(t, qfi, b) != nil:
			s.notSent.Add(1)
		default:
			s.upByFlow[qfi&0x3F].Add(1)
		}
		return
	}
	if s.waking.CompareAndSwap(false, true) {
		u.q.push(func() {
			s.waking.Store(false)
			u.hasData(s)
		})
	}
}

// hasData asks for the session's user plane (TS 24.501 5.6.1.1 c, d): at once while the UE is idle. While it is connected, what the network has on its way may
// have the tunnel already.
func (u *UE) hasData(s *session) {
	switch {
	case s.state != active || u.resume:
	case u.conn == nil:
		u.resume = true
	case s.tunnel.Load() == nil:
		u.revive(s)
	}
}

// hold a packet while the session has no tunnel. Where it has one by now, that is returned: nobody looks at what is held any more.
func (s *session) hold(b []byte) *gtpu.Tunnel {
	s.heldMu.Lock()
	defer s.heldMu.Unlock()
	if t := s.tunnel.Load(); t != nil {
		return t
	}
	if len(s.held) < maxHeld {
		s.held = append(s.held, append([]byte(nil), b...))
	} else {
		s.notSent.Add(1)
	}
	return nil
}

// SendUplink sends one IP packet, or one frame, of the session from inside the process.
func (u *UE) SendUplink(psi uint8, packet []byte) error {
	s := u.session(psi)
	if s == nil {
		return ErrNoSession
	}
	u.uplink(s, append(make([]byte, gtpu.HeaderLen, gtpu.HeaderLen+len(packet)), packet...))
	return nil
}

// Tunnel gives the session's tunnel, nil while it has none.
func (u *UE) Tunnel(psi uint8) *gtpu.Tunnel {
	if s := u.session(psi); s != nil {
		return s.tunnel.Load()
	}
	return nil
}

// Sink gives where the session's downlink packets go.
func (u *UE) Sink(psi uint8) func([]byte, uint8) {
	s := u.session(psi)
	if s == nil {
		return nil
	}
	return func(p []byte, qfi uint8) {
		s.downByFlow[qfi&0x3F].Add(1)
		if !s.frames.Load() && isAdvertisement(p) {
			p = append([]byte(nil), p...)
			u.q.push(func() { u.advertised(s, p) })
			return
		}
		if tap := s.tap.Load(); tap != nil && (*tap)(p) {
			return
		}
		d := s.device.Load()
		if d == nil {
			s.noDevice.Add(1)
			return
		}
		if _, err := (*d).Write(p); err != nil {
			s.noDevice.Add(1)
		}
	}
}

// Tap shows a session's downlink packets to take before the device; a packet that take is true of goes no further. There
// is one tap a session at a time.
func (u *UE) Tap(psi uint8, take func(packet []byte) bool) (remove func(), err error) {
	s := u.session(psi)
	if s == nil {
		return nil, ErrNoSession
	}
	if !s.tap.CompareAndSwap(nil, &take) {
		return nil, errors.New("a stream of the session is under way")
	}
	return func() { s.tap.Store(nil) }, nil
}

// SessionUp takes the tunnel that the gNB has made.
func (u *UE) SessionUp(c *gnb.Connection, psi uint8, t *gtpu.Tunnel) {
	u.q.push(func() {
		s := u.session(psi)
		if s == nil || c != u.conn {
			return
		}
		if s.cfg.QFI != 0 {
			t.QFI = s.cfg.QFI
		}
		s.setTunnel(t)
		s.revivals = 0
		u.resume = u.resume && u.lacksTunnel()
		u.solicit(s)
		s.heldMu.Lock()
		held := s.held
		s.held = nil
		s.heldMu.Unlock()
		for _, b := range held {
			u.uplink(s, b)
		}
	})
}

// lacksTunnel says whether a session that there is has none.
func (u *UE) lacksTunnel() bool {
	return slices.ContainsFunc(u.list(), func(s *session) bool { return s.state == active && s.tunnel.Load() == nil })
}

// SessionDown tells that the session has no tunnel any more.
func (u *UE) SessionDown(c *gnb.Connection, psi uint8) {
	u.q.push(func() {
		if s := u.session(psi); s != nil && c == u.conn {
			s.setTunnel(nil)
		}
	})
}

// SessionLost tells that the UPF does not know the session.
func (u *UE) SessionLost(c *gnb.Connection, psi uint8) {
	u.q.push(func() {
		s := u.session(psi)
		if s == nil || c != u.conn {
			return
		}
		u.count.ErrorIndications++
		if s.state == active && u.proc == nil {
			u.fail(fmt.Errorf("PDU session %d: GTP-U error indication: the UPF does not know the session", psi))
			u.reestablish(s)
		}
	})
}
