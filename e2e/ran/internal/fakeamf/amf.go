package fakeamf

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasConvert"
	"github.com/free5gc/nas/nasMessage"
	"github.com/free5gc/ngap/ngapType"
	"github.com/free5gc/util/milenage"

	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

// Knobs change what the AMF does. Zero values mean a core that works.
type Knobs struct {
	Integrity, Ciphering uint8 // selected algorithms; Integrity 0 means NIA2

	RefuseSetup     bool  // NG Setup Failure
	Silent          bool  // swallow initial messages
	RejectReg       uint8 // Registration Reject with this 5GMM cause
	RejectAuth      bool  // Authentication Reject
	WrongKey        bool  // vectors of another K: the UE answers MAC failure
	BidDown         bool  // replay other security capabilities
	NullIntegrity   bool  // select NIA0
	AskIdentity     bool  // Identity Request (SUCI) before authentication
	RejectSession   uint8 // PDU Session Establishment Reject with this 5GSM cause
	NotForwarded    uint8 // DL NAS Transport with this 5GMM cause instead of an answer
	SilentSession   bool  // no answer to session requests
	RejectService   uint8 // Service Reject with this 5GMM cause
	ForgetSessions  bool  // Service Accept with an empty PDU session status
	SilentService   bool  // no answer to service requests
	NoConfiguration bool  // no Configuration Update Command after registration
	OddSlice        bool  // session resources for a slice that the gNB does not have

	BackOff       time.Duration  // in a PDU Session Establishment Reject
	AddressOfNone bool           // a PDU address in an accept of type Ethernet
	Options       n1.Options     // told beside what was asked for
	Grant         n1.SessionType // granted whatever is asked for; 0: what is asked for
	AlwaysOn      *bool          // the indication in the accept
	Flows         []n1.Flow      // QoS flows beside the default one, in accept and N2
	Rules         []n1.Rule      // and their rules
	RejectModify  uint8          // PDU Session Modification Reject with this 5GSM cause
	SilentModify  bool           // no answer to modification requests

	RefuseSwitch  bool    // Path Switch Request Failure
	ReleaseSwitch []uint8 // sessions released with the path switch
	SilentSwitch  bool    // no answer to Path Switch Request
	Indirect      bool    // forwarding goes through the UPF: TEID 0xF000 and the session's identity
	NoForwarding  bool    // the Handover Command offers no tunnel
	SilentLoss    bool    // the SMF is not told of UEs that were lost with their gNB
	TakeReplays   bool    // note NAS messages that are repeated with their COUNT, instead of failing the test
	Early         bool    // an AMF Configuration Update comes before the NG Setup Response, as what is sent behind it may on another stream
	Retain        bool    // UE Retention Information in the NG Setup Response, if the gNB sends it
}

// AMF is the fake. UPF is where sessions' uplink packets shall go.
type AMF struct {
	T   testing.TB
	UPF netip.Addr
	SNN string

	mu          sync.Mutex
	knobs       Knobs
	subscribers map[string]*Subscriber // by SUPI digits
	conn        n2.Conn                // where messages go: of what is being handled
	live        map[n2.Conn]struct{}
	gnbs        map[uint32]n2.Conn  // by gNB ID, once NG Setup is done
	moves       map[int64]*handover // by the target's AMF UE NGAP ID
	old         map[int64]struct{}  // AMF UE NGAP IDs of sources that are being released
	ues         map[int64]*ue       // by AMF UE NGAP ID, connected ones
	known       map[uint32]*ue
	nextID      int64
	trace       []string
	changed     chan struct{}
	up          bool

	// Of an SMF of its own (smf.go).
	smf                *SMF
	root               string // our own API root
	client             *http.Client
	contexts, messages int // numbers given
	ended              bool
}

type ue struct {
	supi         string
	conn         n2.Conn
	amfID, ranID int64 // amfID 0: idle
	sec          *uenas.Context
	vec          vector
	tmsi         uint32
	sessions     map[uint8]*Session
	icsDone      bool

	asks     []func()           // of the SMF: the first one is under way
	contexts map[int]*Session   // by number
	waits    map[uint8]*waiting // by session, while it is paged
	paging   int
	where    map[string]any // location, as the SMF is told
	gnb      uint32
	why      *ngapType.Cause // of the release that goes on
}

// Session is one PDU session as the core sees it.
type Session struct {
	PSI     uint8
	DNN     string
	Slice   [4]byte
	Address netip.Addr
	TEID    uint32 // uplink
	GNB     netip.Addr
	GNBTEID uint32
	Up      bool
	QFI     int64

	Type        n1.SessionType
	InterfaceID [8]byte
	Prefix      netip.Prefix // a /64 of IPv6
	Asked       *n1.EstablishmentRequest
	Flows       []n1.Flow // beside the default one

	// ForwardTo and ForwardTEID are the target's end of indirect forwarding.
	ForwardTo   netip.Addr
	ForwardTEID uint32

	context string // path of the SM context
	number  int
	setup   []byte // PDU Session Resource Setup Request Transfer
}

// New makes an AMF that knows the subscribers, by SUPI digits.
func New(t testing.TB, upf netip.Addr, subscribers map[string]*Subscriber) *AMF {
	return &AMF{
		T: t, UPF: upf, SNN: "5G:mnc093.mcc208.3gppnetwork.org", subscribers: subscribers,
		live: map[n2.Conn]struct{}{}, gnbs: map[uint32]n2.Conn{}, moves: map[int64]*handover{}, old: map[int64]struct{}{},
		ues: map[int64]*ue{}, known: map[uint32]*ue{}, nextID: 1, changed: make(chan struct{}), up: true,
	}
}

// Set changes the knobs.
func (a *AMF) Set(k Knobs) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.knobs = k
}

// Dial is the n2.Dialer that leads here.
func (a *AMF) Dial(context.Context, string) (n2.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.up {
		return nil, errors.New("connection refused")
	}
	gnb, amf := n2.Pipe()
	a.conn = amf
	a.live[amf] = struct{}{}
	go a.serve(amf)
	return gnb, nil
}

// Stop ends N2 and refuses new associations; Start takes them again. With forget, every UE context is
// lost meanwhile, as with an AMF that restarted.
func (a *AMF) Stop(forget bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up = false
	for conn := range a.live {
		conn.Close()
	}
	clear(a.live)
	clear(a.gnbs)
	for _, u := range a.ues {
		u.amfID = 0
	}
	a.ues = map[int64]*ue{}
	if forget {
		a.known = map[uint32]*ue{}
	}
}

// Cut ends N2 and refuses new associations, and keeps every UE's context as it is.
func (a *AMF) Cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up = false
	for conn := range a.live {
		conn.Close()
	}
	clear(a.live)
	clear(a.gnbs)
}

// Start accepts associations (again).
func (a *AMF) Start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up = true
}

// Trace returns what has been received, in order.
func (a *AMF) Trace() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.trace...)
}

func (a *AMF) note(format string, args ...any) {
	a.trace = append(a.trace, fmt.Sprintf(format, args...))
	close(a.changed)
	a.changed = make(chan struct{})
}

// WaitTrace returns when the trace holds want n times.
func (a *AMF) WaitTrace(want string, n int) {
	a.T.Helper()
	deadline := time.After(time.Minute)
	for {
		a.mu.Lock()
		seen := 0
		for _, x := range a.trace {
			if x == want {
				seen++
			}
		}
		changed, trace := a.changed, strings.Join(a.trace, "; ")
		a.mu.Unlock()
		if seen >= n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			a.T.Fatalf("the AMF did not receive %q %d times: %s", want, n, trace)
		}
	}
}

// Session returns a copy of a UE's session.
func (a *AMF) Session(supi string, psi uint8) (Session, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u := a.bySUPI(supi); u != nil && u.sessions[psi] != nil {
		return *u.sessions[psi], true
	}
	return Session{}, false
}

func (a *AMF) bySUPI(supi string) *ue {
	for _, u := range a.known {
		if u.supi == supi {
			return u
		}
	}
	return nil
}

func (a *AMF) serve(conn n2.Conn) {
	for {
		b, err := conn.Recv()
		if err != nil {
			return
		}
		m, err := n2.Decode(b)
		if err != nil {
			a.T.Errorf("the gNB sent an NGAP message that does not decode: %v: %x", err, b)
			continue
		}
		a.mu.Lock()
		if _, live := a.live[conn]; live {
			a.conn = conn
			a.handle(m)
		}
		a.mu.Unlock()
	}
}

func (a *AMF) send(b []byte, err error) {
	if err != nil {
		a.T.Errorf("fake AMF: %v", err)
		return
	}
	_ = a.conn.Send(0, b)
}

func (a *AMF) handle(m any) {
	switch m := m.(type) {
	case *ngapType.NGSetupRequest:
		a.setup(m)
	case *ngapType.InitialUEMessage:
		l := m.ProtocolIEs.List
		ran := n2.Find[ngapType.RANUENGAPID](l).Value
		pdu := n2.Find[ngapType.NASPDU](l).Value
		if n2.Find[ngapType.UserLocationInformation](l) == nil || n2.Find[ngapType.RRCEstablishmentCause](l) == nil {
			a.T.Error("initial UE message without location or cause")
		}
		if a.knobs.Silent {
			a.note("initial message swallowed")
			return
		}
		u := &ue{sessions: map[uint8]*Session{}}
		if s := n2.Find[ngapType.FiveGSTMSI](l); s != nil {
			if k := a.known[binary.BigEndian.Uint32(s.FiveGTMSI.Value)]; k != nil {
				u = k
			}
		}
		if u.amfID != 0 && a.smf != nil { // it has come by another gNB, or this one has lost it
			a.supersede(u)
		}
		u.amfID, u.ranID, u.icsDone, u.conn = a.nextID, ran, false, a.conn
		u.where, u.gnb = location(n2.Find[ngapType.UserLocationInformation](l)), a.gnbOf(a.conn)
		a.nextID++
		a.ues[u.amfID] = u
		a.initial(u, pdu)
	case *ngapType.UplinkNASTransport:
		l := m.ProtocolIEs.List
		if u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]; u != nil {
			a.uplink(u, n2.Find[ngapType.NASPDU](l).Value)
		} else {
			a.T.Error("uplink NAS transport for an unknown UE")
		}
	case *ngapType.InitialContextSetupResponse:
		l := m.ProtocolIEs.List
		a.note("Initial Context Setup Response")
		if u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]; u != nil {
			if s := n2.Find[ngapType.PDUSessionResourceSetupListCxtRes](l); s != nil {
				for _, x := range s.List {
					a.resourceUp(u, x.PDUSessionID.Value, x.PDUSessionResourceSetupResponseTransfer)
				}
			}
			if s := n2.Find[ngapType.PDUSessionResourceFailedToSetupListCxtRes](l); s != nil && a.smf != nil {
				for _, x := range s.List {
					a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_SETUP_FAIL", x.PDUSessionResourceSetupUnsuccessfulTransfer)
				}
			}
		}
	case *ngapType.PDUSessionResourceSetupResponse:
		l := m.ProtocolIEs.List
		u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]
		if s := n2.Find[ngapType.PDUSessionResourceSetupListSURes](l); s != nil && u != nil {
			for _, x := range s.List {
				a.resourceUp(u, x.PDUSessionID.Value, x.PDUSessionResourceSetupResponseTransfer)
			}
		}
		if s := n2.Find[ngapType.PDUSessionResourceFailedToSetupListSURes](l); s != nil {
			for _, x := range s.List {
				var t ngapType.PDUSessionResourceSetupUnsuccessfulTransfer
				_ = n2.Unmarshal(x.PDUSessionResourceSetupUnsuccessfulTransfer, &t)
				a.note("PDU Session Resource failed: %s", n2.CauseText(&t.Cause))
				if a.smf != nil && u != nil {
					a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_SETUP_FAIL", x.PDUSessionResourceSetupUnsuccessfulTransfer)
				}
			}
		}
	case *ngapType.PDUSessionResourceReleaseResponse:
		a.note("PDU Session Resource Release Response")
		u := a.ues[n2.Find[ngapType.AMFUENGAPID](m.ProtocolIEs.List).Value]
		if l := n2.Find[ngapType.PDUSessionResourceReleasedListRelRes](m.ProtocolIEs.List); l != nil && a.smf != nil && u != nil {
			for _, x := range l.List {
				a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_REL_RSP", x.PDUSessionResourceReleaseResponseTransfer)
			}
		}
	case *ngapType.PDUSessionResourceModifyResponse:
		l := m.ProtocolIEs.List
		u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]
		if done := n2.Find[ngapType.PDUSessionResourceModifyListModRes](l); done != nil {
			a.note("PDU Session Resource modified")
			for _, x := range done.List {
				a.modified(x.PDUSessionID.Value, x.PDUSessionResourceModifyResponseTransfer)
				if a.smf != nil && u != nil {
					a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_MOD_RSP", x.PDUSessionResourceModifyResponseTransfer)
				}
			}
		}
		if failed := n2.Find[ngapType.PDUSessionResourceFailedToModifyListModRes](l); failed != nil {
			a.note("PDU Session Resource not modified")
			for _, x := range failed.List {
				if a.smf != nil && u != nil {
					a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_MOD_FAIL", x.PDUSessionResourceModifyUnsuccessfulTransfer)
				}
			}
		}
	case *ngapType.PathSwitchRequest:
		a.pathSwitch(m)
	case *ngapType.HandoverRequired:
		a.required(m)
	case *ngapType.HandoverRequestAcknowledge:
		a.admitted(m)
	case *ngapType.HandoverFailure:
		a.failed(m)
	case *ngapType.HandoverNotify:
		a.arrived(m)
	case *ngapType.HandoverCancel:
		a.cancelled(m)
	case *ngapType.UplinkRANStatusTransfer:
		a.status(m)
	case *ngapType.PDUSessionResourceNotify:
		a.notify(m)
	case *ngapType.PDUSessionResourceModifyIndication:
		a.indication(m)
	case *ngapType.UEContextReleaseRequest:
		l := m.ProtocolIEs.List
		a.note("UE Context Release Request (%s)", n2.CauseText(n2.Find[ngapType.Cause](l)))
		if u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]; u != nil {
			u.why = n2.Find[ngapType.Cause](l)
			a.releaseCommand(u, u.why)
		}
	case *ngapType.UEContextReleaseComplete:
		l := m.ProtocolIEs.List
		id := n2.Find[ngapType.AMFUENGAPID](l).Value
		if _, source := a.old[id]; source {
			delete(a.old, id)
			a.note("source released")
			return
		}
		a.note("UE Context Release Complete")
		if u := a.ues[id]; u != nil {
			delete(a.ues, id)
			u.amfID = 0
			if a.smf != nil {
				a.inactive(u, u.why)
			}
			for _, s := range u.sessions {
				s.Up = false
			}
		}
	case *ngapType.NGResetAcknowledge:
		a.note("NG Reset Acknowledge")
	case *ngapType.AMFConfigurationUpdateAcknowledge:
		a.note("AMF Configuration Update Acknowledge")
	case *ngapType.UEContextModificationResponse:
		a.note("UE Context Modification Response")
	case *ngapType.ErrorIndication:
		a.note("Error Indication (%s)", n2.CauseText(n2.Find[ngapType.Cause](m.ProtocolIEs.List)))
	default:
		a.T.Errorf("the gNB sent a %T", m)
	}
}

func (a *AMF) gnbOf(conn n2.Conn) uint32 {
	for id, c := range a.gnbs {
		if c == conn {
			return id
		}
	}
	return 0
}

// lose the UEs of a gNB that has begun anew (TS 38.413 8.7.1.1).
func (a *AMF) lose(gnb uint32) {
	for _, u := range a.ues {
		if u.gnb == gnb && u.conn != a.conn {
			a.supersede(u)
		}
	}
}

// supersede a connection that its gNB does not have any more, or that the UE has left.
func (a *AMF) supersede(u *ue) {
	delete(a.ues, u.amfID)
	u.amfID = 0
	if a.smf != nil && !a.knobs.SilentLoss {
		a.inactive(u, nil)
	}
}

func (a *AMF) setup(m *ngapType.NGSetupRequest) {
	l := m.ProtocolIEs.List
	ta := n2.Find[ngapType.SupportedTAList](l)
	if ta == nil || n2.Find[ngapType.GlobalRANNodeID](l) == nil {
		a.T.Error("NG Setup Request without supported TAs or gNB ID")
	}
	a.note("NG Setup Request")
	if a.knobs.RefuseSetup {
		f := &ngapType.NGSetupFailure{}
		n2.Add(&f.ProtocolIEs.List, n2.Ignore, &ngapType.Cause{Present: ngapType.CausePresentMisc, Misc: &ngapType.CauseMisc{Value: ngapType.CauseMiscPresentUnknownPLMN}})
		a.send(n2.Unsuccessful(n2.Reject, f))
		return
	}
	if id := n2.Find[ngapType.GlobalRANNodeID](l); id != nil && id.GlobalGNBID != nil && id.GlobalGNBID.GNBID.GNBID != nil {
		b := id.GlobalGNBID.GNBID.GNBID.Bytes
		gnb := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
		a.gnbs[gnb] = a.conn
		if a.smf != nil && n2.Find[ngapType.UERetentionInformation](l) == nil {
			a.lose(gnb)
		}
	}
	plmn := ta.List[0].BroadcastPLMNList.List[0].PLMNIdentity
	guami := ngapType.GUAMI{
		PLMNIdentity: plmn,
		AMFRegionID:  ngapType.AMFRegionID{Value: aper.BitString{Bytes: []byte{0xCA}, BitLength: 8}},
		AMFSetID:     ngapType.AMFSetID{Value: aper.BitString{Bytes: []byte{0xFE, 0x00}, BitLength: 10}},
		AMFPointer:   ngapType.AMFPointer{Value: aper.BitString{Bytes: []byte{0}, BitLength: 6}},
	}
	r := &ngapType.NGSetupResponse{}
	ies := &r.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFName{Value: "fake"})
	n2.Add(ies, n2.Reject, &ngapType.ServedGUAMIList{List: []ngapType.ServedGUAMIItem{{GUAMI: guami}}})
	n2.Add(ies, n2.Ignore, &ngapType.RelativeAMFCapacity{Value: 255})
	n2.Add(ies, n2.Reject, &ngapType.PLMNSupportList{List: []ngapType.PLMNSupportItem{{PLMNIdentity: plmn, SliceSupportList: ta.List[0].BroadcastPLMNList.List[0].TAISliceSupportList}}})
	if n2.Find[ngapType.UERetentionInformation](l) != nil {
		a.note("UE Retention Information")
		if a.knobs.Retain {
			for _, u := range a.ues {
				u.conn = a.conn
			}
			n2.Add(ies, n2.Ignore, &ngapType.UERetentionInformation{Value: ngapType.UERetentionInformationPresentUesRetained})
		}
	}
	if a.knobs.Early {
		a.send(n2.Initiating(n2.Reject, &ngapType.AMFConfigurationUpdate{}))
	}
	a.send(n2.Successful(n2.Reject, r))
}

// initial takes the NAS message of a new connection.
func (a *AMF) initial(u *ue, pdu []byte) {
	header, _ := uenas.HeaderType(pdu)
	plain := pdu
	protected := false
	if header != uenas.Plain {
		if header != uenas.Integrity {
			a.T.Errorf("initial message with security header type %d (TS 24.501 4.4.6 wants 1)", header)
		}
		plain = pdu[7:]
		if u.sec != nil {
			p, err := u.sec.Unprotect(pdu)
			if err != nil {
				a.T.Errorf("initial message: %v", err)
				return
			}
			plain, protected = p, true
		}
	}
	m, err := uenas.Decode(plain)
	if err != nil {
		a.T.Errorf("initial message: %v", err)
		return
	}
	switch m.GmmHeader.GetMessageType() {
	case nas.MsgTypeRegistrationRequest:
		a.note("Registration Request")
		if r := m.RegistrationRequest; r.RequestedNSSAI != nil || r.Capability5GMM != nil {
			a.T.Error("non-cleartext IEs in an unprotected registration request")
		}
		suci, _, err := nasConvert.SuciToStringWithError(m.RegistrationRequest.MobileIdentity5GS.Buffer)
		if err != nil {
			a.T.Errorf("SUCI: %v", err)
			return
		}
		part := strings.Split(suci, "-")
		u.supi = part[2] + part[3] + part[7]
		if part[5] != "0" {
			// The fake home network cannot de-conceal; it has one subscriber then.
			for supi := range a.subscribers {
				u.supi = supi
			}
		}
		u.sec = nil
		if a.knobs.RejectReg != 0 {
			a.down(u, []byte{0x7e, 0, nas.MsgTypeRegistrationReject, a.knobs.RejectReg})
			a.releaseCommand(u, nil)
			return
		}
		if a.knobs.AskIdentity {
			a.down(u, []byte{0x7e, 0, nas.MsgTypeIdentityRequest, nasMessage.MobileIdentity5GSTypeSuci})
			return
		}
		a.challenge(u)
	case nas.MsgTypeServiceRequest:
		if a.knobs.SilentService {
			a.note("Service Request swallowed")
			return
		}
		if !protected || a.knobs.RejectService != 0 {
			a.note("Service Request refused")
			cause := a.knobs.RejectService
			if cause == 0 {
				cause = nasMessage.Cause5GMMUEIdentityCannotBeDerivedByTheNetwork
			}
			u.sec = nil
			a.down(u, []byte{0x7e, 0, nas.MsgTypeServiceReject, cause})
			a.releaseCommand(u, nil)
			return
		}
		a.service(u, m.ServiceRequest, binary.BigEndian.Uint32(append([]byte{0, 0, 0}, pdu[6])))
	case nas.MsgTypeDeregistrationRequestUEOriginatingDeregistration:
		a.deregister(u, m)
	default:
		a.T.Errorf("initial message of type %d", m.GmmHeader.GetMessageType())
	}
}

func (a *AMF) challenge(u *ue) {
	s := a.subscribers[u.supi]
	if s == nil {
		a.down(u, []byte{0x7e, 0, nas.MsgTypeRegistrationReject, nasMessage.Cause5GMMIllegalUE})
		a.releaseCommand(u, nil)
		return
	}
	s.SQN += 32
	r := make([]byte, 16)
	_, _ = rand.Read(r)
	use := *s
	if a.knobs.WrongKey {
		use.K = "00112233445566778899aabbccddeeff"
	}
	u.vec = newVector(&use, u.supi, a.SNN, r)
	b := []byte{0x7e, 0, nas.MsgTypeAuthenticationRequest, 1, 2, 0, 0, 0x21}
	b = append(b, u.vec.rand...)
	b = append(append(b, 0x20, 16), u.vec.autn...)
	a.down(u, b)
}

// down sends a NAS message, protected when the UE has a security context.
func (a *AMF) down(u *ue, plain []byte) { a.transport(u, a.protect(u, plain)) }

func (a *AMF) protect(u *ue, plain []byte) []byte {
	if u.sec == nil {
		return plain
	}
	b, err := u.sec.Protect(uenas.IntegrityCiphered, plain)
	if err != nil {
		a.T.Error(err)
	}
	return b
}

func (a *AMF) transport(u *ue, pdu []byte) {
	m := &ngapType.DownlinkNASTransport{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
	n2.Add(ies, n2.Reject, &ngapType.NASPDU{Value: pdu})
	a.send(n2.Initiating(n2.Ignore, m))
}

func (a *AMF) releaseCommand(u *ue, cause *ngapType.Cause) {
	if cause == nil {
		cause = &ngapType.Cause{Present: ngapType.CausePresentNas, Nas: &ngapType.CauseNas{Value: ngapType.CauseNasPresentNormalRelease}}
	}
	m := &ngapType.UEContextReleaseCommand{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.UENGAPIDs{Present: ngapType.UENGAPIDsPresentUENGAPIDPair, UENGAPIDPair: &ngapType.UENGAPIDPair{AMFUENGAPID: ngapType.AMFUENGAPID{Value: u.amfID}, RANUENGAPID: ngapType.RANUENGAPID{Value: u.ranID}}})
	n2.Add(ies, n2.Ignore, cause)
	a.send(n2.Initiating(n2.Reject, m))
}

// uplink takes a NAS message of a connection that is up.
func (a *AMF) uplink(u *ue, pdu []byte) {
	header, err := uenas.HeaderType(pdu)
	if err != nil {
		a.T.Error(err)
		return
	}
	plain := pdu
	if u.sec != nil {
		if header != uenas.IntegrityCiphered && header != uenas.IntegrityCipheredNew {
			a.T.Errorf("uplink message with security header type %d", header)
			return
		}
		if plain, err = u.sec.Unprotect(pdu); err != nil {
			if a.knobs.TakeReplays && errors.Is(err, uenas.ErrReplay) {
				a.note("NAS message replayed")
				return
			}
			a.T.Errorf("uplink message: %v", err)
			return
		}
	}
	m, err := uenas.Decode(plain)
	if err != nil {
		a.T.Errorf("uplink message %x: %v", plain, err)
		return
	}
	switch m.GmmHeader.GetMessageType() {
	case nas.MsgTypeIdentityResponse:
		a.note("Identity Response")
		a.challenge(u)
	case nas.MsgTypeAuthenticationFailure:
		f := m.AuthenticationFailure
		a.note("Authentication Failure (%s)", uenas.Cause5GMM(f.GetCauseValue()))
		s := a.subscribers[u.supi]
		if f.GetCauseValue() != nasMessage.Cause5GMMSynchFailure {
			a.down(u, []byte{0x7e, 0, nas.MsgTypeAuthenticationReject})
			a.releaseCommand(u, nil)
			return
		}
		auts := f.GetAuthenticationFailureParameter()
		sqn, err := milenage.ValidateAUTS(mustHex(s.OPc), mustHex(s.K), u.vec.rand, auts[:])
		if err != nil {
			a.T.Errorf("AUTS: %v", err)
			return
		}
		s.SQN = binary.BigEndian.Uint64(append([]byte{0, 0}, sqn...))
		a.challenge(u)
	case nas.MsgTypeAuthenticationResponse:
		a.note("Authentication Response")
		res := m.AuthenticationResponse.AuthenticationResponseParameter.GetRES()
		if !bytes.Equal(res[:], u.vec.xresStar) || a.knobs.RejectAuth {
			if !a.knobs.RejectAuth {
				a.T.Error("RES* differs from XRES*")
			}
			a.down(u, []byte{0x7e, 0, nas.MsgTypeAuthenticationReject})
			a.releaseCommand(u, nil)
			return
		}
		a.securityMode(u)
	case nas.MsgTypeSecurityModeReject:
		a.note("Security Mode Reject (%s)", uenas.Cause5GMM(m.SecurityModeReject.GetCauseValue()))
		u.sec = nil
		a.releaseCommand(u, nil)
	case nas.MsgTypeSecurityModeComplete:
		a.securityModeComplete(u, header, m.SecurityModeComplete)
	case nas.MsgTypeRegistrationComplete:
		a.note("Registration Complete")
		if !a.knobs.NoConfiguration {
			u.tmsi |= 0x10000 // a new 5G-GUTI
			a.known[u.tmsi] = u
			const ackRequested = 1
			b := append([]byte{0x7e, 0, nas.MsgTypeConfigurationUpdateCommand, 0xD0 | ackRequested}, 0x77, 0, 11)
			a.down(u, append(b, a.guti(u)...))
		}
	case nas.MsgTypeConfigurationUpdateComplete:
		a.note("Configuration Update Complete")
	case nas.MsgTypeDeregistrationRequestUEOriginatingDeregistration:
		a.deregister(u, m)
	case nas.MsgTypeDeregistrationAcceptUETerminatedDeregistration:
		a.note("Deregistration Accept")
		a.forget(u)
		a.releaseCommand(u, nil)
	case nas.MsgTypeServiceRequest: // of a UE that is connected
		a.service(u, m.ServiceRequest, binary.BigEndian.Uint32(append([]byte{0, 0, 0}, pdu[6])))
	case nas.MsgTypeULNASTransport:
		a.sessionMessage(u, m.ULNASTransport)
	case nas.MsgTypeNotificationResponse:
		a.note("Notification Response")
	case nas.MsgTypeStatus5GMM:
		a.note("5GMM Status (%s)", uenas.Cause5GMM(m.Status5GMM.GetCauseValue()))
	default:
		a.T.Errorf("uplink message of type %d", m.GmmHeader.GetMessageType())
	}
}

func (a *AMF) securityMode(u *ue) {
	integrity := a.knobs.Integrity
	if integrity == 0 && !a.knobs.NullIntegrity {
		integrity = 2
	}
	kInt, kEnc := nasKeys(u.vec.kamf, integrity, a.knobs.Ciphering)
	u.sec = uenas.NewContext(uenas.Network, 1, [32]byte(u.vec.kamf), integrity, a.knobs.Ciphering, kInt, kEnc)
	capability := uenas.SecurityCapability
	if a.knobs.BidDown {
		capability = []byte{0x80, 0x80}
	}
	const imeisvRequested = 0xE1
	b := []byte{0x7e, 0, nas.MsgTypeSecurityModeCommand, a.knobs.Ciphering<<4 | integrity, 1, byte(len(capability))}
	b = append(append(b, capability...), imeisvRequested)
	pdu, err := u.sec.Protect(uenas.IntegrityNew, b)
	if err != nil {
		a.T.Error(err)
	}
	if a.knobs.BidDown || a.knobs.NullIntegrity {
		u.sec = nil // the reject comes without the new context
	}
	a.transport(u, pdu)
}

func (a *AMF) securityModeComplete(u *ue, header uint8, m *nasMessage.SecurityModeComplete) {
	a.note("Security Mode Complete")
	if header != uenas.IntegrityCipheredNew {
		a.T.Errorf("security mode complete with security header type %d", header)
	}
	if m.IMEISV == nil {
		a.T.Error("security mode complete without the IMEISV asked for")
	}
	if m.NASMessageContainer == nil {
		a.T.Error("security mode complete without the initial message")
		return
	}
	full, err := uenas.Decode(m.NASMessageContainer.GetNASMessageContainerContents())
	if err != nil || full.GmmHeader.GetMessageType() != nas.MsgTypeRegistrationRequest {
		a.T.Errorf("the container holds no registration request: %v", err)
		return
	}
	nssai := full.RegistrationRequest.RequestedNSSAI
	if nssai == nil {
		a.T.Error("no requested NSSAI in the whole registration request")
		return
	}
	allowed := nssai.GetSNSSAIValue()
	if u.tmsi == 0 {
		u.tmsi = uint32(a.nextID)<<4 | 0xC0000000
	}
	if old := a.bySUPI(u.supi); a.smf != nil && old != nil && old != u { // TS 23.502 4.2.2.2.2: the UE has begun anew
		a.forget(old)
	}
	a.known[u.tmsi] = u
	b := []byte{0x7e, 0, nas.MsgTypeRegistrationAccept, 1, 1}
	b = append(append(b, 0x77, 0, 11), a.guti(u)...)
	b = append(append(b, 0x15, byte(len(allowed))), allowed...)
	a.contextSetup(u, a.protect(u, b), nil)
}

func (a *AMF) guti(u *ue) []byte {
	return append([]byte{0xF2, 0x02, 0xF8, 0x39, 0xCA, 0xFE, 0x00}, binary.BigEndian.AppendUint32(nil, u.tmsi)...)
}

func (a *AMF) deregister(u *ue, m *nas.Message) {
	a.note("Deregistration Request")
	off := m.DeregistrationRequestUEOriginatingDeregistration.GetSwitchOff() == 1
	if !off {
		a.down(u, []byte{0x7e, 0, nas.MsgTypeDeregistrationAcceptUEOriginatingDeregistration})
	}
	a.forget(u)
	a.releaseCommand(u, nil)
}

func (a *AMF) forget(u *ue) {
	if a.smf != nil {
		a.releaseContexts(u)
	}
	for k, x := range a.known {
		if x == u {
			delete(a.known, k)
		}
	}
}
