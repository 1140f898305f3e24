package ue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasMessage"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/uenas"
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

// maxHeld bounds the uplink packets that wait while the UE is idle.
const maxHeld = 32

// session is one PDU session of a UE.
type session struct {
	cfg        SessionConfig
	configured bool // listed in the UE's configuration
	lost       bool // the UPF does not know it any more; until it is established again
	keep       bool // configured, or active before: tried again after a failure

	// Owned by the UE's goroutine.
	wish    bool
	state   sessionState
	pti     uint8
	address netip.Addr
	dns     []netip.Addr
	mtu     int
	waiters []chan error
	timer   *time.Timer
	retry   retry

	tunnel atomic.Pointer[gtpu.Tunnel]
	// The device outlives a session that the UE wishes back, so that programs bound to it go on.
	device   atomic.Pointer[Device]
	name     atomic.Pointer[string]
	deviceIs DeviceConfig

	heldMu sync.Mutex
	held   [][]byte
	waking atomic.Bool // the UE's goroutine has been told of held packets

	noDevice, notSent atomic.Uint64
	past              totals // of tunnels that are gone
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
				s = &session{state: inactive}
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
	u.send(uenas.ULTransport(s.cfg.PSI, uenas.SessionEstablishment(s.cfg.PSI, s.pti), uenas.RequestInitial, &slice, s.cfg.DNN))
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
	u.send(uenas.ULTransport(s.cfg.PSI, uenas.SessionRelease(s.cfg.PSI, s.pti, nasMessage.Cause5GSMRegularDeactivation), uenas.RequestNone, nil, ""))
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
	s.address, s.dns = netip.Addr{}, nil
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
	sm, err := uenas.Decode(m.PayloadContainer.GetPayloadContainerContents())
	if err != nil || sm.GsmMessage == nil {
		u.drop("N1 SM container without a 5GSM message")
		return
	}
	u.sessionManagement(sm.GsmMessage, m.PayloadContainer.GetPayloadContainerContents())
}

func (u *UE) sessionManagement(m *nas.GsmMessage, raw []byte) {
	psi, pti := raw[1], raw[2]
	s := u.session(psi)
	if s == nil || s.state == inactive {
		u.drop("5GSM message for a session that the UE does not have")
		u.send(uenas.ULTransport(psi, uenas.Status5GSM(psi, pti, nasMessage.Cause5GSMInvalidPDUSessionIdentity), uenas.RequestNone, nil, ""))
		return
	}
	switch m.GsmHeader.GetMessageType() {
	case nas.MsgTypePDUSessionEstablishmentAccept:
		if s.state != pending || pti != s.pti {
			u.drop("PDU session establishment accept out of place")
			return
		}
		u.established(s, m.PDUSessionEstablishmentAccept)
	case nas.MsgTypePDUSessionEstablishmentReject:
		if s.state != pending || pti != s.pti {
			u.drop("PDU session establishment reject out of place")
			return
		}
		u.count.Rejects++
		u.sessionFailed(s, &uenas.RejectError{Message: "PDU Session Establishment Reject", Cause: uenas.Cause5GSM(m.PDUSessionEstablishmentReject.GetCauseValue())})
	case nas.MsgTypePDUSessionReleaseCommand:
		u.send(uenas.ULTransport(psi, uenas.SessionReleaseComplete(psi, pti), uenas.RequestNone, nil, ""))
		if s.state == releasing && pti == s.pti {
			u.sessionGone(s, nil)
			return
		}
		// 6.3.3: released by the network. The wish stays, after a pause.
		s.retry.failed(u.cfg.Timers)
		u.sessionGone(s, &uenas.RejectError{Message: "PDU Session Release Command", Cause: uenas.Cause5GSM(m.PDUSessionReleaseCommand.GetCauseValue())})
	case nas.MsgTypePDUSessionReleaseReject:
		u.count.Rejects++
		if s.state == releasing {
			u.sessionFailed(s, &uenas.RejectError{Message: "PDU Session Release Reject", Cause: uenas.Cause5GSM(m.PDUSessionReleaseReject.GetCauseValue())})
		}
	case nas.MsgTypePDUSessionModificationCommand:
		u.send(uenas.ULTransport(psi, uenas.SessionModificationComplete(psi, pti), uenas.RequestNone, nil, ""))
	case nas.MsgTypeStatus5GSM:
		err := &uenas.RejectError{Message: "5GSM Status", Cause: uenas.Cause5GSM(m.Status5GSM.GetCauseValue())}
		if s.state == pending || s.state == releasing {
			u.sessionFailed(s, err)
		} else {
			u.fail(err)
		}
	default:
		u.drop("5GSM message type not handled")
	}
}

// established takes PDU SESSION ESTABLISHMENT ACCEPT (TS 24.501 8.3.2).
func (u *UE) established(s *session, m *nasMessage.PDUSessionEstablishmentAccept) {
	if m.PDUAddress == nil || m.PDUAddress.GetPDUSessionTypeValue() != nasMessage.PDUSessionTypeIPv4 {
		u.sessionFailed(s, errors.New("PDU session establishment accept without an IPv4 address"))
		return
	}
	info := m.PDUAddress.GetPDUAddressInformation()
	s.stopTimer()
	s.state = active
	s.address = netip.AddrFrom4([4]byte(info[:4]))
	s.mtu = defaultMTU
	if o := m.ExtendedProtocolConfigurationOptions; o != nil {
		var mtu int
		s.dns, mtu = readOptions(o.Buffer)
		if mtu >= 576 && mtu < s.mtu {
			s.mtu = mtu
		}
	}
	s.keep, s.lost = true, false
	s.retry.reset()
	u.count.Sessions++
	u.lastError = ""
	u.log.Info("PDU session active", "psi", s.cfg.PSI, "slice", s.cfg.Slice, "dnn", s.cfg.DNN, "address", s.address)
	if err := u.openDevice(s); err != nil {
		u.fail(fmt.Errorf("PDU session %d: device: %w", s.cfg.PSI, err))
	}
	u.answer(s, nil)
}

// readOptions reads DNS servers and the link MTU from extended protocol configuration options
// (TS 24.008 10.5.6.3).
func readOptions(b []byte) (dns []netip.Addr, mtu int) {
	if len(b) < 1 {
		return nil, 0
	}
	for b = b[1:]; len(b) >= 3; {
		id, n := binary.BigEndian.Uint16(b), int(b[2])
		if len(b) < 3+n {
			return dns, mtu
		}
		v := b[3 : 3+n]
		switch {
		case id == nasMessage.DNSServerIPv4AddressDL && n == 4:
			dns = append(dns, netip.AddrFrom4([4]byte(v)))
		case id == nasMessage.IPv4LinkMTUDL && n == 2:
			mtu = int(binary.BigEndian.Uint16(v))
		}
		b = b[3+n:]
	}
	return dns, mtu
}

func (u *UE) openDevice(s *session) error {
	if u.cfg.Device == nil {
		return nil
	}
	want := DeviceConfig{SUPI: u.cfg.SUPI, PSI: s.cfg.PSI, Address: s.address, MTU: s.mtu}
	if s.device.Load() != nil {
		if s.deviceIs == want {
			return nil
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
		// The kernel sends IPv6 router solicitations on any new link; the session is IPv4.
		if n < 20 || b[gtpu.HeaderLen]>>4 != 4 {
			continue
		}
		u.uplink(s, b[:gtpu.HeaderLen+n])
	}
}

// uplink sends one packet (after HeaderLen octets of room), or holds it while the UE is idle.
func (u *UE) uplink(s *session, b []byte) {
	if t := s.tunnel.Load(); t != nil {
		if err := u.n3.Send(t, b); err != nil {
			s.notSent.Add(1)
		}
		return
	}
	s.heldMu.Lock()
	if len(s.held) < maxHeld {
		s.held = append(s.held, append([]byte(nil), b...))
	} else {
		s.notSent.Add(1)
	}
	s.heldMu.Unlock()
	if s.waking.CompareAndSwap(false, true) {
		u.q.push(func() {
			s.waking.Store(false)
			u.resume = u.resume || u.conn == nil && s.state == active
		})
	}
}

// SendUplink sends one IP packet of the session from inside the process.
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
	return func(p []byte, _ uint8) {
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
		s.heldMu.Lock()
		held := s.held
		s.held = nil
		s.heldMu.Unlock()
		for _, b := range held {
			u.uplink(s, b)
		}
	})
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
