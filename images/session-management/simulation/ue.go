package simulation

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/wmnsk/go-pfcp/ie"
)

// ue is a UE with its access network and its AMF, which asks the SMF for one thing at a time, again where it has no answer.
type ue struct {
	w    *world
	supi string
	dnn  string
	pti  uint8

	// The AMF's side: the SM context, and the request under way.
	ref      string
	uri      string // where the context's end is told
	creating bool
	creates  int
	request  *request
	next     []*request
	// The access network's: the endpoint of the session's tunnel, 0 none.
	teid  uint32
	teids uint32
	// The UE's.
	address netip.Addr

	// tac is the tracking area, uplink where the access network sends what the UE does.
	tac    uint32
	uplink record.Tunnel

	// ending are contexts that the AMF wants to end; touched counts what happened, before is that at the store's last checkpoint.
	ending          map[string]bool
	touched, before int
	// excused: the store has lost something of it.
	excused bool
	mobile  // mobility.go
}

type request struct {
	name     string
	make     func(procedure.Token) (key string, ref uint64, e procedure.Event)
	answered func(body any)
	shard    uint16 // that is asked, where no context names it
	attempts int
	done     bool
	lost     any // the last answer that was lost
}

const sessionID = 1

// networkBackOff is what rejects tell UEs to wait.
const networkBackOff = 30 * time.Second

var gnb = netip.MustParseAddr("172.30.3.100")

// live does something every now and then, while there are faults; then it finishes what is under way.
func (u *ue) live() {
	if !u.w.faults {
		return
	}
	u.w.Soon(100*time.Millisecond, 3*time.Second, u.live)
	if u.request != nil || u.w.Wrong != nil {
		return
	}
	switch {
	case u.ref == "":
		u.create()
	case u.teid == 0: // idle
		switch u.w.Rand.IntN(6) {
		case 0:
			u.release()
		case 1, 2:
			u.downlink()
		default:
			u.update("activate", procedure.Update{Connection: procedure.Activating, AMF: u.roams()}, u.activating)
		}
	case u.moves():
	default:
		switch u.w.Rand.IntN(8) {
		case 0:
			u.release()
		case 1:
			u.pti++
			u.update("release request", procedure.Update{N1: n1ReleaseRequest(u.pti)}, u.releasing)
		case 2:
			u.create() // the UE has forgotten its session
		default:
			u.deactivate()
		}
	}
}

func n1ReleaseRequest(pti uint8) []byte {
	return []byte{0x2e, sessionID, pti | 1, byte(n1.ReleaseRequestType)}
}
func n1ReleaseComplete(pti uint8) []byte {
	return []byte{0x2e, sessionID, pti, byte(n1.ReleaseCompleteType)}
}

// ask the SMF, and again every 1.5 s.
func (u *ue) ask(r *request) {
	u.touched++
	u.next = append(u.next, r)
	u.proceed()
}

func (u *ue) proceed() {
	if u.request == nil && len(u.next) > 0 {
		u.request, u.next = u.next[0], u.next[1:]
		u.try(u.request)
	}
}

func (u *ue) try(r *request) {
	if r.done {
		return
	}
	r.attempts++
	token := u.w.expect(u, r)
	u.w.Note("%s asks: %s, attempt %d", u.supi, r.name, r.attempts)
	key, ref, e := r.make(token)
	shard := r.shard
	if ref != 0 {
		shard = record.ShardOf(ref)
	}
	u.w.toShard(shard, func(to *runner.Runner) {
		if r.done {
			return // the connection is closed
		}
		if ref != 0 {
			to.DeliverTo(ref, e)
			return
		}
		to.Deliver(key, e)
	})
	u.w.After(1500*time.Millisecond, func() { u.try(r) })
}

func (u *ue) finish(r *request, body any) {
	if r.done {
		return
	}
	u.touched++
	if f, ok := body.(procedure.Failed); ok && (f.Status == 503 || f.Status == 504) && f.N1 == nil {
		u.w.Note("%s: %s: %d %s, tries again", u.supi, r.name, f.Status, f.Detail)
		return // asked again
	}
	r.done = true
	u.w.Note("%s: %s answered %T", u.supi, r.name, body)
	r.answered(body) // what it asks comes behind what waits
	if u.request == r {
		u.request = nil
	}
	u.proceed()
}

func (u *ue) create() {
	u.pti = u.pti%254 + 1
	n1 := []byte{0x2e, sessionID, u.pti, byte(n1.EstablishmentRequestType), 0xff, 0xff, 0x90 | byte(u.kind())}
	u.creates++
	uri := fmt.Sprint("amf/", u.supi, "/", u.creates)
	asked, amf := u.w.Now, u.roams()
	amf.StatusURI = uri
	u.creating = true
	u.teid, u.address = 0, netip.Addr{}
	u.ask(&request{name: "create", shard: u.w.anyShard(), make: func(t procedure.Token) (string, uint64, procedure.Event) {
		u.ending[u.ref] = true
		return record.Key(u.supi, sessionID), 0, procedure.Create{
			From: t, SUPI: u.supi, ID: sessionID, DNN: u.dnn, SST: 1, PLMN: "20893", N1: n1,
			AMF: amf,
		}
	}, answered: func(body any) {
		u.creating = false
		switch b := body.(type) {
		case procedure.Created:
			if asked.After(u.w.forgotten) {
				u.excused = false
			}
			if u.w.heard[uri] { // its end was told before
				u.gone(u.ref)
				return
			}
			u.ref, u.uri = b.Ref, uri
		case procedure.Failed:
			if u.excused && !u.w.faults { // it asks again when it was told to, and ends what the store had of it
				u.w.After(networkBackOff, u.create)
			}
			if u.ref != "" { // the session before: the AMF has it released, the UE does not know it any more
				u.release()
			}
		}
	}})
}

func (u *ue) update(name string, what procedure.Update, answered func(procedure.Updated)) {
	ref, was := u.ref, u.teid
	u.ask(&request{name: name, make: func(t procedure.Token) (string, uint64, procedure.Event) {
		what.From = t
		return "", record.ParseRef(ref), what
	}, answered: func(body any) {
		switch b := body.(type) {
		case procedure.Updated:
			answered(b)
		case procedure.Failed:
			u.w.Note("%s: %s failed: %d %s %s", u.supi, name, b.Status, b.Cause, b.Detail)
			if b.Status == 404 && u.ref == ref {
				if !u.mayBeGone() && !u.ending[ref] {
					u.w.Fail("%s: the SMF has forgotten session %s", u.supi, ref)
				}
				u.gone(ref)
			}
			if b.Status != 404 && name == "deactivate" { // the tunnel has gone, and the SMF has to hear so
				u.w.After(time.Second, func() {
					if u.ref == ref && u.teid == was && was != 0 {
						u.deactivate()
					}
				})
			}
		}
	}})
}

func (u *ue) release() {
	ref := u.ref
	u.ending[ref] = true
	u.ask(&request{name: "release", make: func(t procedure.Token) (string, uint64, procedure.Event) {
		return "", record.ParseRef(ref), procedure.Release{From: t}
	}, answered: func(any) { u.gone(ref) }})
}

// mayBeGone: the context, and the AMF cannot know.
func (u *ue) mayBeGone() bool { return u.excused || u.w.unheard[u.uri] }

func (u *ue) gone(ref string) {
	u.touched++
	if u.ref == ref {
		u.ref, u.teid, u.address = "", 0, netip.Addr{}
	}
}

// activating: the access network makes a tunnel, and says so.
func (u *ue) activating(a procedure.Updated) {
	if a.N2Type == n2.InfoSetupRequest {
		u.setUp(a.N2)
		u.resources()
	}
}

func (u *ue) resources() {
	says := "" // the AMF last, of what it has not been answered
	for _, r := range append([]*request{u.request}, u.next...) {
		if r != nil && (r.name == "tunnel" || r.name == "deactivate") {
			says = r.name
		}
	}
	if u.uplink = u.offered; u.teid == 0 || says != "tunnel" { // else it was asked twice
		u.teids++
		u.teid = u.teids
	}
	var taken []n2.AssociatedFlow
	for _, qfi := range slices.Sorted(maps.Keys(u.flows)) {
		taken = append(taken, n2.AssociatedFlow{QFI: qfi})
	}
	b, err := (&n2.SetupResponse{Downlink: n2.FlowTunnel{Tunnel: record.Tunnel{TEID: u.teid, IPv4: gnb}, Flows: taken}}).Encode()
	if err != nil {
		u.w.Fail("a transfer of the access network: %v", err)
		return
	}
	u.update("tunnel", procedure.Update{N2: b, N2Type: n2.InfoSetupResponse}, func(procedure.Updated) {})
}

// deactivate takes the connection down. Paged meanwhile, the UE may have another by when the answer comes.
func (u *ue) deactivate() {
	was := u.teid
	u.update("deactivate", procedure.Update{Connection: procedure.Deactivated}, func(procedure.Updated) {
		if u.teid == was {
			u.teid = 0
		}
	})
}

func (u *ue) releasing(a procedure.Updated) {
	if len(a.N1) > 3 && a.N1[3] == byte(n1.ReleaseCommandType) {
		u.commanded(a.N1, a.N2Type)
	}
}

// commanded to release: UE and access network both do, and say so.
func (u *ue) commanded(command []byte, kind n2.InfoType) {
	u.address = netip.Addr{}
	if u.ref == "" {
		return // the AMF has not heard of the context yet
	}
	if kind == n2.InfoReleaseCommand {
		u.teid = 0
		b, err := (&n2.ReleaseResponse{}).Encode()
		if err != nil {
			u.w.Fail("a transfer of the access network: %v", err)
			return
		}
		u.update("released", procedure.Update{N2: b, N2Type: n2.InfoReleaseResponse}, func(procedure.Updated) {})
	}
	u.update("release complete", procedure.Update{N1: n1ReleaseComplete(command[2])}, func(procedure.Updated) {})
}

// transferred is Namf_Communication_N1N2MessageTransfer.
func (u *ue) transferred(a procedure.AskTransfer, back func(procedure.Event)) {
	u.touched++
	u.w.Note("%s: transfer for %s, N1 %x N2 %s", u.supi, a.Ref, a.N1, a.N2Type)
	switch {
	case u.ref == "" && !u.creating, u.ref != "" && !u.creating && a.Ref != u.ref:
		back(procedure.Transferred{Outcome: procedure.Refused, Cause: "CONTEXT_NOT_FOUND"})
		return
	case u.there != nil && a.N1 == nil && a.N2Type == n2.InfoSetupRequest: // not while the UE moves (TS 29.518 6.1.7.3)
		back(procedure.Transferred{Outcome: procedure.Refused, Cause: "TEMPORARY_REJECT_HANDOVER_ONGOING"})
		return
	case u.w.faults && a.Unawaited && u.w.byTheWay.IntN(3) == 0, u.w.faults && u.w.Chance(100):
		back(procedure.Transferred{Outcome: procedure.NotSent})
		return
	case u.w.faults && u.w.Chance(20) && a.N1 == nil && a.N2Type == n2.InfoSetupRequest:
		back(procedure.Transferred{Outcome: procedure.Refused, Cause: "UE_IN_NON_ALLOWED_AREA"})
		return
	}
	if u.modified(a, back) {
		return
	}
	back(procedure.Transferred{Outcome: procedure.Done})
	if u.letGo(a) {
		return
	}
	if len(a.N1) > 3 {
		switch n1.MessageType(a.N1[3]) {
		case n1.EstablishmentAcceptType:
			u.address = netip.AddrFrom4([4]byte{10, 45, 0, 0}) // it has one
			u.accepted(a.N1)
		case n1.EstablishmentRejectType:
			u.address = netip.Addr{}
		case n1.ReleaseCommandType:
			u.commanded(a.N1, a.N2Type)
			return
		}
	}
	if a.N2Type == n2.InfoSetupRequest {
		if u.w.faults && u.w.Chance(30) {
			return // the access network is silent
		}
		u.setUp(a.N2)
		u.afterCreation(a.Ref)
	}
}

// afterCreation: the AMF may hear of the tunnel before it has the answer to its Create.
func (u *ue) afterCreation(ref string) {
	if u.creating {
		u.w.After(time.Millisecond, func() { u.afterCreation(ref) })
		return
	}
	switch {
	case u.ref != ref:
	case u.w.faults && u.w.Chance(30): // whoever was to bring the tunnel has died, the UE has gone, and the next one says that alone
		u.deactivate()
	default:
		u.resources()
	}
}

// downlink: a packet comes for the UE, and the unit reports it as it was told.
func (u *ue) downlink() {
	on := record.ParseRef(u.ref)
	if rec := u.w.records[record.Key(u.supi, sessionID)]; rec != nil && rec.Ref() == u.ref && rec.Branch != nil { // packets wait there
		on = rec.Branch.CPSEID
	}
	for _, unit := range u.w.units {
		if unit.real != nil {
			for _, s := range unit.real.sessions() {
				if record.Ref(s.cpSEID) == u.ref {
					unit.real.downlinkData(s)
				}
			}
			continue
		}
		up, ok := unit.byCP[on]
		if !ok || unit.sessions[up].far.action&8 == 0 {
			continue
		}
		seid := unit.sessions[up].cpSEID
		report := &request{name: "report", answered: func(body any) {
			if b, ok := body.(procedure.Reported); ok && b.Cause == ie.CauseSessionContextNotFound {
				if u.ref == record.Ref(seid) && !u.mayBeGone() && !u.ending[u.ref] {
					u.w.Fail("%s: the unit is told that there is no session %s", u.supi, u.ref)
				}
				if s := unit.sessions[up]; s != nil && s.cpSEID == seid { // and with it what nobody was told
					unit.forgets(s)
					unit.drop(up)
				}
			}
		}}
		u.w.toShard(record.ShardOf(seid), func(to *runner.Runner) {
			to.DeliverTo(seid, procedure.Report{From: u.w.expect(u, report), CPSEID: seid, Downlink: true, QFI: 1})
		})
	}
}
