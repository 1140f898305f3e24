// Package record is what the SMF keeps of a PDU session (TS 23.502 5.2.8.2, the SM context), and how it is written into
// the session store.
//
// A record is everything that a pod which never heard of the session needs to go on with it, and nothing that can be
// had from elsewhere: no subscription data, no rules that follow from what is here. It is written as CBOR (RFC 8949)
// with numbers for names. A number is never used again for anything else, and a field that is not known is passed
// over, so that versions N-1 and N read each other's records: what N-1 does not know it loses when it writes, and N
// must be able to go on without. One that would be too large for the store is packed (packed.go).
package record

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/strictcbor"
)

// Version is that of the records that this program writes. Oldest is the first that it can read.
const (
	Version = 1
	Oldest  = 1
)

// ErrVersion: a record of a program that is too new or too old.
var ErrVersion = errors.New("the record is of a version that cannot be read")

// Phase of a PDU session (TS 23.502 4.3.2 to 4.3.4, 4.2.6).
type Phase uint8

// The phases.
const (
	// Establishing: the UE has not been accepted.
	Establishing Phase = 1
	// Active: there is a tunnel to an access network.
	Active Phase = 2
	// Idle: the UPF buffers and reports (CM-IDLE, or user plane deactivated).
	Idle Phase = 3
	// Releasing: the UE was told, or is not reached any more; the UPF has no session.
	Releasing Phase = 4
)

// Session is a PDU session.
type Session struct {
	Version uint8 `cbor:"0,keyasint"`

	// SUPI and ID, the PDU session identity, name the session.
	SUPI string `cbor:"1,keyasint"`
	ID   uint8  `cbor:"2,keyasint"`
	// DNN as the UE is told it, and the S-NSSAI; SD is nil where there is none.
	DNN  string   `cbor:"3,keyasint"`
	SST  uint8    `cbor:"4,keyasint"`
	SD   *[3]byte `cbor:"5,keyasint,omitempty"`
	PLMN string   `cbor:"6,keyasint"`
	// Slice is the name of the Slice object whose settings hold.
	Slice string `cbor:"7,keyasint"`

	Phase    Phase          `cbor:"8,keyasint"`
	Type     n1.SessionType `cbor:"9,keyasint"`
	AlwaysOn bool           `cbor:"10,keyasint,omitempty"`
	// IPv4 and IPv6 are the UE's address and prefix, InterfaceID what its link-local address is made of.
	IPv4        netip.Addr   `cbor:"11,keyasint,omitzero"`
	IPv6        netip.Prefix `cbor:"12,keyasint,omitzero"`
	InterfaceID [8]byte      `cbor:"13,keyasint,omitzero"`
	AMBR        AMBR         `cbor:"14,keyasint"`
	// Flows in the order of their QFI; the first is the default flow's.
	Flows []Flow `cbor:"15,keyasint,omitempty"`

	// Unit is the UPF unit, CPSEID our name of the N4 session and UPSEID the unit's, 0 while it has not answered.
	Unit   Unit   `cbor:"16,keyasint"`
	CPSEID uint64 `cbor:"17,keyasint"`
	UPSEID uint64 `cbor:"18,keyasint,omitempty"`
	// Uplink is the unit's endpoint on N3, Downlink the access network's, zero while there is none.
	Uplink   Tunnel `cbor:"19,keyasint,omitzero"`
	Downlink Tunnel `cbor:"20,keyasint,omitzero"`

	AMF AMF `cbor:"21,keyasint"`
	// Procedure is what is under way between the network's functions; nil: nothing.
	Procedure *Procedure `cbor:"22,keyasint,omitempty"`
	// Answered is the last procedure of the UE's that was answered: the same message again is answered alike.
	Answered *Answered `cbor:"23,keyasint,omitempty"`
	// Policy and Charging are the URIs of the associations with PCF and CHF, "" for none.
	Policy   string `cbor:"24,keyasint,omitempty"`
	Charging string `cbor:"25,keyasint,omitempty"`
	// Since is when the session was established, Unix time in ms.
	Since int64 `cbor:"26,keyasint"`

	// Told is what the unit may still have, where a change of its rules is under way; nil: the unit has what the record says.
	Told *Told `cbor:"27,keyasint,omitempty"`
	// Command to the UE that it has not answered; nil: none.
	Command *Command `cbor:"28,keyasint,omitempty"`
	// Handover is one that the source access network has asked for and the target has not finished.
	Handover *Handover `cbor:"29,keyasint,omitempty"`
	// Handed: the UE has come to where it is by an N2 handover that is over, whose end, said again, is answered alike.
	Handed bool `cbor:"66,keyasint,omitempty"`
	// History is how the last procedures ended, the oldest first.
	History []Past `cbor:"30,keyasint,omitempty"`
	// Static addresses are the subscription's, not the unit's choice.
	Static bool `cbor:"31,keyasint,omitempty"`
	// Subscribed are the names of the flows that the subscription, or the PCF, adds to the Slice's own.
	Subscribed []string `cbor:"32,keyasint,omitempty"`
	// Wanted is a modification that UE or access network have not answered; nil: none.
	Wanted *Wanted `cbor:"33,keyasint,omitempty"`
	// Decided is what subscription and PCF say otherwise than the Slice.
	Decided Decided `cbor:"34,keyasint,omitzero"`
	// Behind: UE and access network have not heard all that has changed.
	Behind bool `cbor:"35,keyasint,omitempty"`
	// Doubtful are QFIs of flows that the UE may have heard of otherwise than they are, 0 for the AMBR: it is told them anew.
	Doubtful []byte `cbor:"57,keyasint,omitempty"`
	// Silent: the UE, which is connected, has not answered a command, however often it was sent. What is left to tell it waits until it shows itself.
	Silent bool `cbor:"62,keyasint,omitempty"`
	// Branch is the unit between access network and anchor (TS 23.501 5.6.4.2); nil: the anchor itself is on N3.
	Branch *Branch `cbor:"50,keyasint,omitempty"`
	// Left is a unit that is not on the session's way any more, and that may still have it; nil: none.
	Left *Left `cbor:"51,keyasint,omitempty"`
	// Rerouted: another unit is on N3 than an access network that was asked for a tunnel may know.
	Rerouted bool `cbor:"52,keyasint,omitempty"`
	// Offered: an access network was asked for a tunnel, and has not answered. It knows who was on N3 then.
	Offered bool `cbor:"61,keyasint,omitempty"`
	// ToldAccess is when the access network was last told what flows it has, its answer being nobody's; Unix time in ms, 0: long ago. Negative: it has
	// answered that, then.
	ToldAccess int64 `cbor:"53,keyasint,omitempty"`
	// Untold are QFIs of what the access network is told by the way, 0 for the AMBR, while nobody knows whether the AMF has taken that.
	Untold []byte `cbor:"65,keyasint,omitempty"`
	// Rules are the flows that the PCF has made, or the UE has asked for, and that the Slice does not have.
	Rules []Rule `cbor:"36,keyasint,omitempty"`
	// Control is what there is to say to the PCF, beside the association's URI in Policy; nil: nothing.
	Control *Control `cbor:"37,keyasint,omitempty"`
	// Usage is what is measured for the CHF; nil: nothing.
	Usage *Usage `cbor:"38,keyasint,omitempty"`
	// RAT is the radio access technology that the AMF has named last, "" for none.
	RAT string `cbor:"39,keyasint,omitempty"`
	// Subscription is a digest of what the UDM has said of the subscription last, 0 in a record of a program that did not subscribe.
	Subscription uint32 `cbor:"40,keyasint,omitempty"`
	// Emergency: the Slice alone says what the session has, and SUPI may be a PEI, of a UE that nobody has authenticated (TS 23.501 5.16.4).
	Emergency bool `cbor:"54,keyasint,omitempty"`
	// Routes are the networks behind the UE, in their order (framed routes, TS 23.501 5.6.14), MostRoutes at most.
	Routes Prefixes `cbor:"60,keyasint,omitzero"`
	// Ethernet is what there is of a session of that type beyond the rest; nil: nothing.
	Ethernet *Ethernet `cbor:"63,keyasint,omitempty"`
}

// HistoryLength bounds History.
const HistoryLength = 6

// MostRoutes bounds Routes: a UPF of ours takes no more.
const MostRoutes = 16

// Clone copies the session: what is changed in the copy is not in the original.
func (s *Session) Clone() *Session {
	c := *s
	c.Flows, c.History, c.Subscribed = slices.Clone(s.Flows), slices.Clone(s.History), slices.Clone(s.Subscribed)
	c.Doubtful, c.Untold = slices.Clone(s.Doubtful), slices.Clone(s.Untold)
	c.Procedure, c.Answered, c.Told = clone(s.Procedure), clone(s.Answered), clone(s.Told)
	c.Command, c.Handover, c.Wanted = clone(s.Command), clone(s.Handover), clone(s.Wanted)
	c.Branch, c.Left = clone(s.Branch), clone(s.Left)
	if c.Branch != nil {
		c.Branch.Breakouts = slices.Clone(c.Branch.Breakouts)
	}
	if c.Wanted != nil {
		c.Wanted.Flows, c.Wanted.Gone = slices.Clone(c.Wanted.Flows), slices.Clone(c.Wanted.Gone)
		c.Wanted.Refused = slices.Clone(c.Wanted.Refused)
	}
	if c.Handover != nil {
		c.Handover.Taken, c.Handover.Forwarded = slices.Clone(c.Handover.Taken), slices.Clone(c.Handover.Forwarded)
	}
	if c.Told != nil {
		c.Told.Flows = slices.Clone(c.Told.Flows)
	}
	c.Routes = slices.Clone(s.Routes)
	if c.Ethernet = clone(s.Ethernet); c.Ethernet != nil {
		c.Ethernet.MACs = slices.Clone(c.Ethernet.MACs)
	}
	c.Rules, c.Control, c.Usage = slices.Clone(s.Rules), clone(s.Control), clone(s.Usage)
	if c.Control != nil {
		c.Control.Failed = slices.Clone(c.Control.Failed)
	}
	if c.Usage != nil {
		c.Usage.Groups = slices.Clone(c.Usage.Groups)
		for n := range c.Usage.Groups {
			c.Usage.Groups[n].Quota = clone(c.Usage.Groups[n].Quota)
		}
	}
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// Ref names the SM context towards the AMF (TS 29.502 6.1.3.3): the CP SEID in hexadecimal.
func (s *Session) Ref() string { return Ref(s.CPSEID) }

// Ref of a session by its CP SEID.
func Ref(cpSEID uint64) string { return strconv.FormatUint(cpSEID, 16) }

// ParseRef is the inverse of Ref; 0 is no session's.
func ParseRef(ref string) (cpSEID uint64) {
	n, err := strconv.ParseUint(ref, 16, 64)
	if err != nil || Ref(n) != ref {
		return 0
	}
	return n
}

// shardShift leaves 48 bits of a CP SEID to the shard's own count, and 16 to its number.
const shardShift = 48

// SEID is the CP SEID of the n-th session of a shard, which is numbered from 1.
func SEID(shard uint16, n uint64) uint64 { return uint64(shard)<<shardShift | n&(1<<shardShift-1) }

// ShardOf is the number of the shard whose session has that CP SEID.
func ShardOf(cpSEID uint64) uint16 { return uint16(cpSEID >> shardShift) }

// AMBR of a session, bit/s.
type AMBR struct {
	Uplink   uint64 `cbor:"0,keyasint"`
	Downlink uint64 `cbor:"1,keyasint"`
}

// Flow is a QoS flow. Its filters are those of the Slice's flow of that name; the default flow has none.
type Flow struct {
	QFI    uint8  `cbor:"0,keyasint"`
	FiveQI uint8  `cbor:"1,keyasint"`
	Name   string `cbor:"2,keyasint,omitempty"`
	// ARP: priority level 1 to 15, and whether it may pre-empt and be pre-empted.
	Priority     uint8  `cbor:"3,keyasint"`
	MayPreempt   bool   `cbor:"4,keyasint,omitempty"`
	Preemptable  bool   `cbor:"5,keyasint,omitempty"`
	GFBRUplink   uint64 `cbor:"6,keyasint,omitempty"`
	GFBRDownlink uint64 `cbor:"7,keyasint,omitempty"`
	MFBRUplink   uint64 `cbor:"8,keyasint,omitempty"`
	MFBRDownlink uint64 `cbor:"9,keyasint,omitempty"`
	// Refused: the access network does not have it, nor does the unit. Known: the UE has its rule all the same, until it is told.
	Refused bool `cbor:"10,keyasint,omitempty"`
	Known   bool `cbor:"11,keyasint,omitempty"`
	// Coming: the unit takes its uplink packets, and nobody else has it yet.
	Coming bool `cbor:"12,keyasint,omitempty"`
	// Directions in which it has filters (1 downlink, 2 uplink, 4 none), and a digest of these, as the unit and the UE were told them.
	Directions uint8  `cbor:"13,keyasint,omitempty"`
	Filters    uint32 `cbor:"14,keyasint,omitempty"`
	// Default: its packets are of the default flow, so that only the unit has it: QFI is its name alone.
	Default bool `cbor:"15,keyasint,omitempty"`
	// Closed are the directions in which its packets do not pass (1 downlink, 2 uplink).
	Closed uint8  `cbor:"16,keyasint,omitempty"`
	Charge Charge `cbor:"17,keyasint,omitzero"`
}

// Unit is a UPF unit: its Node ID, and the address of its N4.
type Unit struct {
	NodeID  string     `cbor:"0,keyasint"`
	Address netip.Addr `cbor:"1,keyasint,omitzero"`
}

// Branch is an intermediate UPF on N9, with breakouts an uplink classifier and a second anchor.
type Branch struct {
	// NodeID of the unit.
	NodeID string `cbor:"0,keyasint"`
	// CPSEID is our name of the N4 session there, UPSEID the unit's, 0 while it has not answered.
	CPSEID uint64 `cbor:"1,keyasint"`
	UPSEID uint64 `cbor:"2,keyasint,omitempty"`
	// Access is its endpoint on N3, Core the one on N9, zero while it has not answered.
	Access Tunnel `cbor:"3,keyasint,omitzero"`
	Core   Tunnel `cbor:"4,keyasint,omitzero"`
	// Breakouts by name whose packets leave there, and a digest of their prefixes.
	Breakouts []string `cbor:"5,keyasint,omitempty"`
	Prefixes  uint32   `cbor:"6,keyasint,omitempty"`
}

// Left is an N4 session that is to be deleted once everybody knows the new way.
type Left struct {
	NodeID string `cbor:"0,keyasint"`
	CPSEID uint64 `cbor:"1,keyasint"`
	UPSEID uint64 `cbor:"2,keyasint,omitempty"`
	// Known: everybody does.
	Known bool `cbor:"3,keyasint,omitempty"`
	// Uplink of an anchor, which has the session again where no other takes it.
	Uplink Tunnel `cbor:"4,keyasint,omitzero"`
}

// N3 is the session's endpoint for the access network.
func (s *Session) N3() Tunnel {
	if s.Branch != nil && s.Branch.Access.TEID != 0 {
		return s.Branch.Access
	}
	return s.Uplink
}

// CPSEIDs are all names that the session has on N4, the SM context's first.
func (s *Session) CPSEIDs() []uint64 {
	out := []uint64{s.CPSEID}
	if s.Branch != nil {
		out = append(out, s.Branch.CPSEID)
	}
	if s.Left != nil && s.Left.CPSEID != s.CPSEID {
		out = append(out, s.Left.CPSEID)
	}
	return out
}

// On says by which CP SEID and UP SEID a unit has the session; 0: it has none of it. What was left does not count.
func (s *Session) On(nodeID string) (cpSEID, upSEID uint64) {
	switch {
	case s.Unit.NodeID == nodeID:
		return s.CPSEID, s.UPSEID
	case s.Branch != nil && s.Branch.NodeID == nodeID:
		return s.Branch.CPSEID, s.Branch.UPSEID
	}
	return 0, 0
}

// Tunnel is an F-TEID. The addresses are of one version or both.
type Tunnel struct {
	TEID uint32     `cbor:"0,keyasint"`
	IPv4 netip.Addr `cbor:"1,keyasint,omitzero"`
	IPv6 netip.Addr `cbor:"2,keyasint,omitzero"`
}

// AMF is who speaks for the UE.
type AMF struct {
	InstanceID string `cbor:"0,keyasint"`
	// StatusURI is where the AMF wants to hear of the SM context's end.
	StatusURI string `cbor:"1,keyasint,omitempty"`
	// Set is the AMF set of TS 29.571 ("set" of the region), by which another member is found when this one is gone.
	Set string `cbor:"2,keyasint,omitempty"`
	// TAC and Cell are where the UE was last.
	TAC  uint32 `cbor:"3,keyasint,omitempty"`
	Cell uint64 `cbor:"4,keyasint,omitempty"`
}

// Procedure is one that is under way between the network's functions. It ends within seconds, and whatever else happens to the
// session waits for it.
type Procedure struct {
	Kind uint8 `cbor:"0,keyasint"`
	Step uint8 `cbor:"1,keyasint"`
	PTI  uint8 `cbor:"2,keyasint,omitempty"`
	// Attempts to take the step.
	Attempts uint8 `cbor:"3,keyasint,omitempty"`
	// Began is Unix time in ms.
	Began int64 `cbor:"4,keyasint"`
	// Message of the UE's that began it, or to the UE that ends it.
	Message []byte `cbor:"5,keyasint,omitempty"`
	// Cause that the UE, or the access network, is told.
	Cause uint8 `cbor:"6,keyasint,omitempty"`
}

// Told are the rules that a unit was last known to have, as far as they can change.
type Told struct {
	Phase    Phase  `cbor:"0,keyasint"`
	Downlink Tunnel `cbor:"1,keyasint,omitzero"`
	AMBR     AMBR   `cbor:"2,keyasint"`
	// Flows, none where they are the record's.
	Flows []Flow `cbor:"3,keyasint,omitempty"`
	// Buffering: downlink packets wait for a handover's end. Forwarding is where those that the source forwards go, zero nowhere.
	Buffering  bool   `cbor:"4,keyasint,omitempty"`
	Forwarding Tunnel `cbor:"5,keyasint,omitzero"`
	// Unsure: rules may be there or not, so that the unit can only be told all of them anew.
	Unsure bool `cbor:"6,keyasint,omitempty"`
	// Anew: where downlink packets go is told again, whatever it was.
	Anew bool `cbor:"7,keyasint,omitempty"`
	// All rules that there are are told again: the unit has these or others.
	All bool `cbor:"8,keyasint,omitempty"`
	// EndMarkers: the tunnel that is left is ended.
	EndMarkers bool `cbor:"20,keyasint,omitempty"`
}

// Wanted is how a session's QoS is to be: the difference to what it is.
type Wanted struct {
	// AMBR is zero where it stays.
	AMBR AMBR `cbor:"0,keyasint,omitzero"`
	// Flows that are added or changed, and the QFIs of those that go.
	Flows []Flow `cbor:"1,keyasint,omitempty"`
	Gone  []byte `cbor:"2,keyasint,omitempty"`
	// Refused are QFIs of flows that the access network has not taken.
	Refused []byte `cbor:"3,keyasint,omitempty"`
	// UE and Access have not answered.
	UE     bool `cbor:"4,keyasint,omitempty"`
	Access bool `cbor:"5,keyasint,omitempty"`
	// GivenBack: the UE wants none of those that go, also where the Slice has them.
	GivenBack bool `cbor:"6,keyasint,omitempty"`
}

// Decided is what somebody else than the Slice says; what is zero is the Slice's.
type Decided struct {
	AMBR AMBR `cbor:"0,keyasint,omitzero"`
	// FiveQI and ARP of the default flow.
	FiveQI      uint8 `cbor:"1,keyasint,omitempty"`
	Priority    uint8 `cbor:"2,keyasint,omitempty"`
	MayPreempt  bool  `cbor:"3,keyasint,omitempty"`
	Preemptable bool  `cbor:"4,keyasint,omitempty"`
	// Closed and Charge of the default flow, where Ruled.
	Ruled  bool   `cbor:"5,keyasint,omitempty"`
	Closed uint8  `cbor:"6,keyasint,omitempty"`
	Charge Charge `cbor:"7,keyasint,omitzero"`
}

// Command is a message to the UE, sent again until it is answered (TS 24.501 10.3: T3591, T3592).
type Command struct {
	// Message in NAS, and the procedure transaction that it belongs to, 0 for the network's own.
	Message []byte `cbor:"0,keyasint"`
	PTI     uint8  `cbor:"1,keyasint,omitempty"`
	// Attempts so far, and when the first was, Unix time in ms.
	Attempts uint8 `cbor:"2,keyasint"`
	Began    int64 `cbor:"3,keyasint"`
	// Release: it is a Release Command, and the session ends with its answer.
	Release bool `cbor:"4,keyasint,omitempty"`
}

// Handover between access networks through the core (TS 23.502 4.9.1.3).
type Handover struct {
	// Target has the session when the UE has arrived; zero until it has answered.
	Target Tunnel `cbor:"0,keyasint,omitzero"`
	// Forwarding is where the source's packets go, by way of the unit: the target's end, and the unit's.
	Forwarding Tunnel `cbor:"1,keyasint,omitzero"`
	Relay      Tunnel `cbor:"2,keyasint,omitzero"`
	// Direct: the source reaches the target itself.
	Direct bool `cbor:"3,keyasint,omitempty"`
	// Taken are QFIs of flows that the target has taken.
	Taken []byte `cbor:"4,keyasint,omitempty"`
	// Buffering: packets wait in the unit until the UE has arrived.
	Buffering bool `cbor:"5,keyasint,omitempty"`
	// Arrived: only what the source still forwards is left of it.
	Arrived bool `cbor:"6,keyasint,omitempty"`
	// Prepared: the target has answered.
	Prepared bool `cbor:"7,keyasint,omitempty"`
	// Forwarded are QFIs of flows whose packets the target takes from the source.
	Forwarded []byte `cbor:"8,keyasint,omitempty"`
}

// Past is a procedure that has ended.
type Past struct {
	Kind   uint8 `cbor:"0,keyasint"`
	Result uint8 `cbor:"1,keyasint,omitempty"`
	// At is Unix time in ms, Took in ms.
	At   int64  `cbor:"2,keyasint"`
	Took uint32 `cbor:"3,keyasint,omitempty"`
}

// Answered is a request of the UE's and what it was answered.
type Answered struct {
	// Digest of the request, and the answer.
	Digest [8]byte `cbor:"0,keyasint"`
	Answer []byte  `cbor:"1,keyasint"`
	// At is when, Unix time in ms.
	At int64 `cbor:"2,keyasint,omitempty"`
}

var encoding, decoding = strictcbor.Encoding(), strictcbor.Decoding(8, 256, 256)

// Encode writes a session, packed where it would be too large.
func (s *Session) Encode() ([]byte, error) {
	b, err := s.plain()
	if err != nil || len(b) <= most {
		return b, err
	}
	return pack(b)
}

func (s *Session) plain() ([]byte, error) {
	out := *s
	out.Version = Version
	return encoding.Marshal(&out)
}

// Decode reads a session. Its error names nothing of the content.
func Decode(b []byte) (*Session, error) {
	if isPacked(b) {
		var err error
		if b, err = unpack(b); err != nil {
			return nil, err
		}
	}
	var s Session
	if err := decoding.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("the record cannot be read: %w", err)
	}
	if s.Version < Oldest || s.Version > Version+1 {
		return nil, fmt.Errorf("%w: %d, this program reads %d to %d", ErrVersion, s.Version, Oldest, Version+1)
	}
	if s.SUPI == "" || s.ID < 1 || s.ID > 15 || s.CPSEID == 0 || s.Phase < Establishing || s.Phase > Releasing {
		return nil, errors.New("the record cannot be read: it names no session, or none that there can be")
	}
	return &s, nil
}

// keyPrefix begins all keys of sessions.
const keyPrefix = "pdu-session/"

// IsKey says whether that is the key of a session.
func IsKey(key string) bool { return strings.HasPrefix(key, keyPrefix) }

// Key of a session in the store.
func Key(supi string, id uint8) string { return fmt.Sprintf("%s%s/%d", keyPrefix, supi, id) }
