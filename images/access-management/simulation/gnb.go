package simulation

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// mode is what a gNB makes of an association that is lost.
type mode int

const (
	releases mode = iota // it releases its UEs
	keeps                // it keeps the radio until it is set up anew
	retains              // it keeps its UEs, and says so in NG Setup
)

type gnb struct {
	w           *world
	id          uint32
	tac         uint32
	mode        mode
	association *association
	ready       bool
	setups      int
	amf         string // what the AMF is called, as it has heard
	ran         uint32
	made        int // tunnels
	conns       map[uint32]*conn
	// more is a second association for the NG interface; nil: there is none. joined: the AMF has taken it. hearing is the one on which it hears something now.
	more, hearing *association
	joined        bool
	opened        int // associations
	// reduction, in percent, is what it was asked to refuse; obeys: it does.
	reduction uint8
	obeys     bool
	// knows what to make of terminators that it is told of; blocked is one that it cannot connect to, "" for none; cannot is what it has said of addresses, been
	// those that it was there at since, tried when it made an association with one, which the AMF may take when it is gone.
	knows        knowledge
	blocked      string
	cannot, been map[netip.Addr]bool
	tried        map[netip.Addr]time.Time
}

// conn is a UE's connection.
type conn struct {
	g     *gnb
	ue    *ue
	way   *association // by which the UE is spoken of
	ran   uint32
	amf   n2.AMFUEID
	known bool // the AMF's name of it
	set   bool
	gone  bool
	// coming: the UE is on its way, by a handover.
	coming bool
	// secured: the UE has heard a message that was protected.
	secured  bool
	sessions map[uint8][]byte // what the SMF is told of the tunnel
	asked    int              // release, so often
	// made is when it was, active when something was heard or said by it.
	made, active time.Time
	last         []byte // the last NAS message of the UE
}

func newGNB(w *world, id uint32) *gnb {
	g := &gnb{w: w, id: id, tac: 1 + id/3, mode: mode(w.Rand.IntN(3)), conns: map[uint32]*conn{}, obeys: w.crowd.chance(2), cannot: map[netip.Addr]bool{}, been: map[netip.Addr]bool{}, tried: map[netip.Addr]time.Time{}}
	if w.offers {
		g.knows = knowledge(max(w.news.IntN(6)-3, 0))
		if w.news.chance(3) {
			g.blocked = w.ends[w.news.IntN(len(w.ends))].slot
		}
	}
	w.After(0, g.connect)
	w.After(time.Second, g.watch)
	if w.several && w.links.chance(2) {
		w.After(time.Second, g.branch)
	}
	return g
}

func (g *gnb) name() string { return fmt.Sprint("gnb-", g.id) }

func (g *gnb) node() n2.RANNode { return n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: g.id, Bits: 24} }

func (g *gnb) location() n2.UserLocation {
	return n2.UserLocation{Kind: n2.LocationNR, TAI: n2.TAI{PLMN: plmn, TAC: n2.TAC(g.tac)}, Cell: n2.Cell{Radio: n2.NR, PLMN: plmn, ID: uint64(g.id) << 4}}
}

// ordered are the connections in the order in which they were made.
func (g *gnb) ordered() (out []*conn) {
	for _, c := range g.conns {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *conn) int { return int(a.ran) - int(b.ran) })
	return out
}

func (g *gnb) connect() {
	if g.association != nil {
		return
	}
	var there []*end
	for _, e := range g.w.ends {
		if e.alive {
			there = append(there, e)
		}
	}
	if len(there) == 0 {
		g.w.Soon(100*time.Millisecond, time.Second, g.connect)
		return
	}
	g.association = there[g.w.Rand.IntN(len(there))].open(g)
	for _, c := range g.conns {
		c.way = g.association
	}
	g.w.Note("%s has association %d with %s", g.name(), g.association.id, g.association.end.name())
	g.setUp(len(g.conns) > 0 && g.mode == retains)
}

func (g *gnb) areas() []n2.SupportedTA {
	return []n2.SupportedTA{{TAC: n2.TAC(g.tac), PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: slicesTo(g.w.settings.PLMNs[0].Slices)}}}}
}

func (g *gnb) setUp(retention bool) {
	g.setups++
	a, n := g.association, g.setups
	a.updates = nil
	clear(g.cannot)
	clear(g.been)
	clear(g.tried)
	g.put(&n2.NGSetupRequest{Node: g.node(), Name: g.name(), TAs: g.areas(), DRX: n2.DRX128, Retention: retention})
	g.w.After(6*time.Second, func() { // no answer
		if g.association == a && g.setups == n && !g.ready {
			g.cut()
		}
	})
}

// cut all associations, as both ends find out.
func (g *gnb) cut() {
	if g.more != nil {
		g.cutOne(g.more)
	}
	if g.association != nil {
		g.cutOne(g.association)
	}
}

func (g *gnb) lost(a *association) {
	if !g.has(a) || g.without(a) {
		return
	}
	g.association, g.ready, g.reduction = nil, false, 0
	if g.mode == releases {
		g.dropAll()
	}
	for _, c := range g.ordered() {
		if !c.known || c.coming {
			g.drop(c)
		}
	}
	g.w.Soon(50*time.Millisecond, 3*time.Second, g.connect)
}

func (g *gnb) dropAll() {
	for _, c := range g.ordered() {
		g.drop(c)
	}
}

// drop a connection; the UE finds out.
func (g *gnb) drop(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	delete(g.conns, c.ran)
	if c.ue.conn == c {
		c.ue.conn = nil
		c.ue.released()
	}
}

// reset, whole or in part.
func (g *gnb) reset() {
	if !g.ready {
		return
	}
	if g.w.Chance(2) {
		g.w.Note("%s resets", g.name())
		g.putBy(g.either(), &n2.NGReset{Cause: ngapcause.MiscUnspecified})
		g.dropAll()
		return
	}
	for _, c := range g.ordered() {
		if c.known && !c.coming {
			g.w.Note("%s resets %d", g.name(), c.ran)
			g.putBy(g.either(), &n2.NGReset{Cause: ngapcause.MiscUnspecified, Connections: []n2.UEConnection{{AMF: c.amf, RAN: n2.RANUEID(c.ran), HasAMF: true, HasRAN: true}}})
			g.drop(c)
			return
		}
	}
}

// put a message where it belongs.
func (g *gnb) put(m n2.Message) { g.putBy(g.wayOf(m), m) }

// putBy an association.
func (g *gnb) putBy(a *association, m n2.Message) {
	if a == nil || g.association == nil {
		return
	}
	b, err := n2.Write(m)
	if err != nil {
		g.w.Fail("%s: %T: %v", g.name(), m, err)
		return
	}
	g.w.Note("%s: %s", g.name(), strings.TrimPrefix(fmt.Sprintf("%T", m), "*n2."))
	a.up(b)
}

// watch connections that are quiet.
func (g *gnb) watch() {
	g.w.After(time.Second, g.watch)
	if !g.ready {
		return
	}
	if g.w.faults && g.w.Chance(60) {
		g.putBy(g.either(), &n2.RANConfigurationUpdate{Name: fmt.Sprint(g.name(), "-", g.w.Rand.IntN(9))})
	}
	for _, c := range g.ordered() {
		quiet := g.w.Now.Sub(c.active)
		switch {
		case quiet < 20*time.Second+time.Duration(c.asked)*5*time.Second:
		case !c.known || c.asked >= 4 || c.coming:
			g.drop(c)
		default:
			c.asked++
			g.releaseRequest(c, ngapcause.UserInactivity)
		}
	}
}

func (g *gnb) releaseRequest(c *conn, why n2.Cause) {
	m := &n2.UEContextReleaseRequest{UE: c.ids(), Cause: why}
	for id := uint8(1); id <= 15; id++ {
		if c.sessions[id] != nil {
			m.Sessions = append(m.Sessions, id)
		}
	}
	g.put(m)
}

func (c *conn) ids() n2.UEIDs { return n2.UEIDs{AMF: c.amf, RAN: n2.RANUEID(c.ran)} }

func (g *gnb) connection(u *ue) *conn {
	g.ran++
	c := &conn{g: g, ue: u, way: g.either(), ran: g.ran, sessions: map[uint8][]byte{}, made: g.w.Now, active: g.w.Now}
	g.conns[c.ran] = c
	return c
}

// initial message of a UE; nil: there is no core network, or it is refused.
func (g *gnb) initial(u *ue, nas []byte, stmsi *n2.FiveGSTMSI) *conn {
	if !g.ready || g.refuses(u) {
		return nil
	}
	c := g.connection(u)
	c.last = nas
	g.put(&n2.InitialUEMessage{
		RAN: n2.RANUEID(c.ran), NAS: nas, Location: g.location(), Establishment: n2.ForSignalling, STMSI: stmsi, ContextRequest: true,
	})
	return c
}

// uplink message of a UE. A retransmission of the radio's may bring it a second time.
func (c *conn) uplink(nas []byte) {
	if !c.known || c.gone {
		return
	}
	c.active, c.last = c.g.w.Now, nas
	m := &n2.UplinkNASTransport{UE: c.ids(), NAS: nas, Location: c.g.location()}
	c.g.put(m)
	if c.g.w.faults && c.g.w.Chance(40) {
		c.g.put(m)
	}
}

// take a message of the AMF's.
func (g *gnb) take(by *association, stream uint16, b []byte) {
	g.hearing = by
	defer func() { g.hearing = nil }()
	m, fault := n2.Read(b)
	if fault != nil {
		g.w.Fail("%s cannot read: %v", g.name(), fault)
		return
	}
	if n2.UEAssociated(m) != (stream > 0) {
		g.w.Fail("%T on stream %d", m, stream)
	}
	switch m.(type) {
	case *n2.NGSetupResponse, *n2.NGSetupFailure, *n2.ErrorIndication:
	default:
		if !g.ready {
			g.w.Fail("%s hears %T before its NG Setup is answered", g.name(), m)
		}
	}
	switch m := m.(type) {
	case *n2.NGSetupResponse:
		g.setUpDone(m)
	case *n2.NGSetupFailure:
		g.w.Fail("%s is refused: %v", g.name(), m.Cause)
	case *n2.Paging:
		g.page(m)
	case *n2.HandoverRequest:
		g.handoverRequest(m)
	case *n2.ErrorIndication:
		g.errorIndication(m)
	case *n2.AMFConfigurationUpdate:
		switch {
		case isOffer(m):
			g.offered(by, m)
		case g.w.faults && g.w.Chance(8):
			g.answersUpdate(by, &n2.AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait5s})
		default:
			g.amf = m.Name
			g.answersUpdate(by, &n2.AMFConfigurationUpdateAcknowledge{})
		}
	case *n2.RANConfigurationUpdateAcknowledge, *n2.RANConfigurationUpdateFailure:
		_, taken := m.(*n2.RANConfigurationUpdateAcknowledge)
		g.joins(taken)
	case *n2.NGResetAcknowledge, *n2.AMFStatusIndication:
	case *n2.OverloadStart:
		g.overloaded(m)
	case *n2.OverloadStop:
		g.reduction = 0
	case *n2.UEContextReleaseCommand:
		if m.RAN != nil {
			g.releaseCommand(m)
		}
	default:
		_, ran := n2.Names(m)
		if ran == nil {
			g.w.Fail("%s: %T of no UE", g.name(), m)
			return
		}
		g.forUE(m, uint32(*ran))
	}
}

func (g *gnb) setUpDone(m *n2.NGSetupResponse) {
	g.ready, g.amf, g.reduction = true, m.Name, 0
	if !m.Retention {
		g.dropAll()
	}
	n := g.setups
	for _, c := range g.ordered() { // kept, by both, until the next NG Setup says otherwise; a shard that nobody holds says so later (world 90502)
		g.w.After(15*time.Second, func() {
			if g.ready && g.setups == n && !c.gone && c.set && c.asked == 0 && !c.ue.twin && c.made.After(g.w.forgotten) && !attached(g.w.records[record.Key(c.ue.as)], uint64(c.amf)) {
				g.w.Fail("%s was told that %s's connection is kept, and it is not", g.name(), c.ue.name)
			}
		})
	}
}

func (g *gnb) page(m *n2.Paging) {
	g.w.others.paged(m.Identity.TMSI)
	for _, u := range g.w.ues {
		if u.gnb == g && u.away == nil && u.conn == nil && u.state == registered && u.guti.TMSI == m.Identity.TMSI {
			u.paged()
		}
	}
}

func (g *gnb) errorIndication(m *n2.ErrorIndication) {
	if m.RAN == nil || m.AMF == nil {
		return
	}
	if c := g.conns[uint32(*m.RAN)]; c != nil && c.amf == *m.AMF {
		g.drop(c)
	}
}

func (g *gnb) releaseCommand(m *n2.UEContextReleaseCommand) {
	c := g.conns[uint32(*m.RAN)]
	if c == nil || c.known && c.amf != m.AMF {
		amf, ran := m.AMF, *m.RAN
		unknown := ngapcause.UnknownLocalUEID
		if c != nil {
			unknown = ngapcause.InconsistentRemoteUEID
		}
		g.put(&n2.ErrorIndication{AMF: &amf, RAN: &ran, Cause: &unknown})
		return
	}
	g.put(&n2.UEContextReleaseComplete{UE: n2.UEIDs{AMF: m.AMF, RAN: *m.RAN}})
	g.drop(c)
}

// forUE is a message for a UE that the gNB has.
func (g *gnb) forUE(message n2.Message, ran uint32) {
	amf, _ := n2.Names(message)
	c := g.conns[ran]
	if p, is := message.(*n2.PathSwitchRequestAcknowledge); is && c != nil {
		g.switched(c, p)
		return
	}
	if c == nil || c.known && c.amf != *amf {
		unknown := ngapcause.UnknownLocalUEID
		if c != nil {
			unknown = ngapcause.InconsistentRemoteUEID
		}
		r := n2.RANUEID(ran)
		g.put(&n2.ErrorIndication{AMF: amf, RAN: &r, Cause: &unknown})
		return
	}
	c.amf, c.known, c.active, c.way = *amf, true, g.w.Now, g.hearing
	switch m := message.(type) {
	case *n2.DownlinkNASTransport:
		c.hear(m.NAS)
	case *n2.InitialContextSetupRequest:
		g.contextRequest(c, m)
	case *n2.PDUSessionResourceSetupRequest:
		done, failed := g.resources(c, m.Sessions)
		c.hear(m.NAS)
		for _, s := range m.Sessions {
			c.hear(s.NAS)
		}
		g.put(&n2.PDUSessionResourceSetupResponse{UE: c.ids(), Sessions: done, Failed: failed})
	case *n2.PDUSessionResourceReleaseCommand:
		r := &n2.PDUSessionResourceReleaseResponse{UE: c.ids()}
		for _, s := range m.Sessions {
			delete(c.sessions, s.ID)
			r.Sessions = append(r.Sessions, n2.Session{ID: s.ID, Transfer: []byte("released")})
		}
		c.hear(m.NAS)
		g.put(r)
	case *n2.LocationReportingControl:
		switch {
		case !g.w.faults || !g.w.Chance(4):
			g.put(&n2.LocationReport{UE: c.ids(), Location: g.location(), Request: m.Request})
		case g.w.Chance(2):
			g.put(&n2.LocationReportingFailureIndication{UE: c.ids(), Cause: ngapcause.RadioUnspecified})
		}
	case *n2.UEContextModificationRequest:
		g.put(&n2.UEContextModificationResponse{UE: c.ids()})
	case *n2.HandoverCommand:
		g.handoverCommand(c, m)
	case *n2.PathSwitchRequestFailure:
		g.drop(c)
	case *n2.HandoverPreparationFailure, *n2.HandoverCancelAcknowledge, *n2.DownlinkRANStatusTransfer:
	default:
		g.w.Fail("%s: %T", g.name(), m)
	}
}

// hear brings NAS to the UE, over the radio: it may be lost with the UE's connection alone.
func (c *conn) hear(nas []byte) {
	if nas == nil {
		return
	}
	w := c.g.w
	w.After(time.Millisecond, func() {
		switch {
		case c.ue.conn != c || c.gone:
		case w.faint && w.faults && w.links.chance(12):
			w.Note("%s hears nothing more", c.ue.name)
			c.ue.loseRadio()
		default:
			c.ue.hear(nas)
		}
	})
}

func (g *gnb) contextRequest(c *conn, m *n2.InitialContextSetupRequest) {
	if g.w.faults && g.w.Chance(60) {
		g.put(&n2.InitialContextSetupFailure{UE: c.ids(), Cause: ngapcause.RadioUnspecified})
		return
	}
	c.set = true
	done, failed := g.resources(c, m.Sessions)
	c.hear(m.NAS)
	if m.Radio == nil {
		g.put(&n2.UERadioCapabilityInfoIndication{UE: c.ids(), Radio: []byte("radio")})
	}
	g.put(&n2.InitialContextSetupResponse{UE: c.ids(), Sessions: done, Failed: failed})
}

func (g *gnb) resources(c *conn, list []n2.SessionSetup) (done, failed []n2.Session) {
	for _, s := range list {
		if g.w.faults && g.w.Chance(60) {
			delete(c.sessions, s.ID)
			failed = append(failed, n2.Session{ID: s.ID, Transfer: []byte("failed")})
			continue
		}
		c.sessions[s.ID] = g.tunnel(c)
		done = append(done, n2.Session{ID: s.ID, Transfer: c.sessions[s.ID]})
	}
	return done, failed
}

func (g *gnb) tunnel(c *conn) []byte {
	g.made++
	return fmt.Appendf(nil, "%s/%d/%d", g.name(), c.ran, g.made)
}

// ---- handovers -------------------------------------------------------------------------------------------------

func (c *conn) list() (out []n2.Session) {
	for id := uint8(1); id <= 15; id++ {
		if c.sessions[id] != nil {
			out = append(out, n2.Session{ID: id, Transfer: c.sessions[id]})
		}
	}
	return out
}

// handover of a UE to another gNB, over Xn: it is there, and says so.
func (g *gnb) overXn(c *conn, target *gnb) {
	if !target.ready || !c.set || len(c.sessions) == 0 {
		return
	}
	x := target.connection(c.ue)
	x.amf, x.known, x.set, x.secured = c.amf, true, true, true
	for _, s := range c.list() {
		x.sessions[s.ID] = target.tunnel(x)
	}
	c.ue.conn, c.ue.gnb = x, target
	target.put(&n2.PathSwitchRequest{RAN: n2.RANUEID(x.ran), SourceAMF: c.amf, Location: target.location(), Security: capabilities, Sessions: x.list()})
	g.drop(c)
	g.w.After(5*time.Second, func() {
		if !x.switched() {
			target.drop(x)
		}
	})
	x.asked = -1 // until it is
}

func (c *conn) switched() bool { return c.asked >= 0 || c.gone }

func (g *gnb) switched(c *conn, m *n2.PathSwitchRequestAcknowledge) {
	c.asked, c.amf, c.active = 0, m.UE.AMF, g.w.Now
	for _, s := range m.Released {
		delete(c.sessions, s.ID)
	}
}

var capabilities = n2.SecurityCapabilities{NREncryption: 0xe000, NRIntegrity: 0xe000}

// overN2 asks for a handover by way of the AMF.
func (g *gnb) overN2(c *conn, target *gnb) {
	if c.set && len(c.sessions) > 0 {
		g.put(&n2.HandoverRequired{
			UE: c.ids(), Cause: ngapcause.RadioUnspecified, Target: n2.HandoverTarget{Node: target.node(), TAI: n2.TAI{PLMN: plmn, TAC: n2.TAC(target.tac)}},
			Sessions: c.list(), Container: []byte(c.ue.name),
		})
	}
}

func (g *gnb) handoverRequest(m *n2.HandoverRequest) {
	n := slices.IndexFunc(g.w.ues, func(u *ue) bool { return bytes.Equal(m.Container, []byte(u.name)) })
	if n < 0 || g.w.faults && g.w.Chance(10) {
		g.put(&n2.HandoverFailure{AMF: m.AMF, Cause: ngapcause.RadioUnspecified})
		return
	}
	c := g.connection(g.w.ues[n])
	c.amf, c.known, c.set, c.coming, c.secured = m.AMF, true, true, true, true
	done, failed := g.resources(c, m.Sessions)
	if len(done) == 0 {
		g.drop(c)
		g.put(&n2.HandoverFailure{AMF: m.AMF, Cause: ngapcause.RadioUnspecified})
		return
	}
	g.put(&n2.HandoverRequestAcknowledge{UE: c.ids(), Sessions: done, Failed: failed, Container: fmt.Appendf(nil, "%d/%d", g.id, c.ran)})
}

func (g *gnb) handoverCommand(c *conn, m *n2.HandoverCommand) {
	var id, ran uint32
	if _, err := fmt.Sscanf(string(m.Container), "%d/%d", &id, &ran); err != nil {
		g.w.Fail("a handover's container: %q", m.Container)
		return
	}
	target := g.w.gnbs[id-1]
	x := target.conns[ran]
	if x == nil || g.w.faults && g.w.Chance(10) { // it does not get there
		return
	}
	g.put(&n2.UplinkRANStatusTransfer{UE: c.ids(), Container: []byte("status")})
	g.w.Soon(5*time.Millisecond, 50*time.Millisecond, func() {
		if x.gone || c.gone || c.ue.conn != c {
			return
		}
		for sid := range x.sessions {
			if !slices.ContainsFunc(m.Sessions, func(s n2.Session) bool { return s.ID == sid }) {
				delete(x.sessions, sid)
			}
		}
		x.coming, x.active = false, g.w.Now
		c.ue.conn, c.ue.gnb = x, target
		target.put(&n2.HandoverNotify{UE: x.ids(), Location: target.location()})
	})
}
