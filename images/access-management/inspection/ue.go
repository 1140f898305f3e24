package inspection

import (
	"fmt"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// UE in a list.
type UE struct {
	SUPI string `json:"supi"`
	// Problem says why nothing else is known: the record cannot be read.
	Problem string `json:"problem,omitempty"`

	// RM is registered, registering or leaving; CM is connected or idle (TS 23.501 5.3.2, 5.3.3).
	RM string `json:"rm,omitempty"`
	CM string `json:"cm,omitempty"`
	// GUTI is the 5G-GUTI as TS 29.571 5.3.2 writes it: PLMN, AMF identifier, 5G-TMSI.
	GUTI string `json:"guti,omitempty"`
	// GNB where it is connected, by its global ID, and the name that the gNB goes by.
	GNB     string `json:"gnb,omitempty"`
	GNBName string `json:"gnbName,omitempty"`
	// TAC and Cell, in hexadecimal digits, and PLMN where it was last heard, and when.
	PLMN string    `json:"plmn,omitempty"`
	TAC  string    `json:"tac,omitempty"`
	Cell string    `json:"cell,omitempty"`
	Seen time.Time `json:"seen,omitzero"`
	// Slices that it is allowed, and its PDU sessions.
	Slices   []string  `json:"slices,omitempty"`
	Sessions []Session `json:"sessions,omitempty"`
	Shard    string    `json:"shard,omitempty"`
	// Holder is the worker that has the shard; "" for nobody.
	Holder string    `json:"holder,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// Session is a PDU session, as far as the AMF knows of one.
type Session struct {
	ID     uint8  `json:"id"`
	SNSSAI string `json:"snssai"`
	DNN    string `json:"dnn"`
	// Up: it has a user plane connection.
	Up  bool   `json:"up,omitempty"`
	SMF string `json:"smf,omitempty"`
	// Context is the SM context's resource.
	Context string `json:"context,omitempty"`
	// Waits: something of the SMF waits for the UE. Silent: the SMF has not heard that the user plane is down.
	Waits  bool `json:"waits,omitempty"`
	Silent bool `json:"silent,omitempty"`
}

// Story is a UE in full.
type Story struct {
	UE
	PEI  string `json:"pei,omitempty"`
	GPSI string `json:"gpsi,omitempty"`
	// OldTMSI is the 5G-TMSI of before, while the UE may have either.
	OldTMSI    string      `json:"oldTMSI,omitempty"`
	Connection *Connection `json:"connection,omitempty"`
	// Left is the connection of before, whose access network has not let go of it: the oldest of them.
	Left     *Connection `json:"left,omitempty"`
	Area     []string    `json:"registrationArea,omitempty"`
	Asked    []string    `json:"requestedSlices,omitempty"`
	Rejected []string    `json:"rejectedSlices,omitempty"`
	Security *Security   `json:"security,omitempty"`
	// UE-AMBR, bit/s.
	Uplink   uint64 `json:"ambrUplink,omitempty"`
	Downlink uint64 `json:"ambrDownlink,omitempty"`
	RFSP     uint16 `json:"rfsp,omitempty"`
	// Periodic is T3512 in seconds.
	Periodic uint32 `json:"t3512,omitempty"`
	Policy   string `json:"policy,omitempty"`
	// Recorded: the UDM has this AMF as the UE's. Behind: the UE has not heard all that has changed. Prove: it is authenticated before anything else.
	Recorded bool `json:"recorded,omitempty"`
	Behind   bool `json:"behind,omitempty"`
	Prove    bool `json:"authenticatedNext,omitempty"`
	// Emergency: it is registered for emergency services alone. Unreachable: it has not said in time that it is there. Going: another AMF takes it over.
	Emergency   bool `json:"emergency,omitempty"`
	Unreachable bool `json:"unreachable,omitempty"`
	Going       bool `json:"going,omitempty"`

	Procedure *Action `json:"procedure,omitempty"`
	Command   *Action `json:"command,omitempty"`
	Paging    *Action `json:"paging,omitempty"`
	Handover  *Move   `json:"handover,omitempty"`
	History   []Past  `json:"history,omitempty"`
}

// Connection on N2.
type Connection struct {
	Terminator  string `json:"terminator"`
	Association uint64 `json:"association"`
	GNB         string `json:"gnb,omitempty"`
	RAN         uint32 `json:"ranUENGAPID"`
	AMF         uint64 `json:"amfUENGAPID"`
	// State is set up, being set up, being released, signalling: no UE context is in the access network, or lost: its gNB is waited for.
	State string `json:"state"`
}

// Security is a NAS security context without its keys.
type Security struct {
	KSI       uint8  `json:"ngKSI"`
	Integrity string `json:"integrity"`
	Ciphering string `json:"ciphering"`
	// Uplink is the COUNT that the next message has at least, Reserved the first downlink COUNT that nobody may have used.
	Uplink   uint32 `json:"uplinkCount"`
	Reserved uint32 `json:"downlinkReserved"`
	NCC      uint8  `json:"ncc"`
}

// Action is under way.
type Action struct {
	Kind     string    `json:"kind,omitempty"`
	Step     uint8     `json:"step,omitempty"`
	Attempts uint8     `json:"attempts,omitempty"`
	Began    time.Time `json:"began"`
}

// Move is a handover by way of the AMF.
type Move struct {
	Target Connection `json:"target"`
	Step   uint8      `json:"step"`
	Began  time.Time  `json:"began"`
}

// Past is a procedure that has ended; Took in ms.
type Past struct {
	Kind   string    `json:"kind"`
	Failed bool      `json:"failed,omitempty"`
	At     time.Time `json:"at"`
	Took   uint32    `json:"tookMs"`
}

var phases = map[record.Phase]string{record.Deregistered: "registering", record.Registered: "registered", record.Leaving: "leaving"}

// ueOf is what a list has of a record.
func (i *Inspection) ueOf(u *record.UE, holders map[uint16]string) UE {
	out := UE{
		SUPI: u.SUPI, RM: phases[u.Phase], CM: Idle, PLMN: u.Place.PLMN, Slices: slicesOf(u.Allowed), Shard: i.Name(u.Shard), Holder: holders[u.Shard], Since: at(u.Since),
	}
	if u.Place.TAC != 0 {
		out.TAC = fmt.Sprintf("%06x", u.Place.TAC)
	}
	if u.Place.Cell != 0 {
		out.Cell = fmt.Sprintf("%09x", u.Place.Cell)
	}
	if u.Place.At != 0 {
		out.Seen = time.Unix(u.Place.At, 0).UTC()
	}
	if u.TMSI != 0 {
		out.GUTI = i.guti(u)
	}
	if a := u.N2; a != nil {
		out.CM, out.GNB = Connected, a.GNB
		if g := i.GNB(a.Terminator, a.Association); g != nil {
			out.GNBName = g.Name
		}
	}
	for _, s := range u.Sessions {
		out.Sessions = append(out.Sessions, Session{
			ID: s.ID, SNSSAI: s.Slice.String(), DNN: s.DNN, Up: s.Up, SMF: s.SMF, Context: s.Context, Waits: s.Held != nil, Silent: s.Silent,
		})
	}
	return out
}

// guti of TS 23.003 2.10.1. The AMF's own part of it is the configuration's.
func (i *Inspection) guti(u *record.UE) string {
	s := i.Settings()
	amf := uint32(s.Region)<<16 | uint32(s.Set&0x3ff)<<6 | uint32(s.Pointer&0x3f)
	return fmt.Sprintf("%s%06x%08x", u.Place.PLMN, amf, u.TMSI)
}

func slicesOf(list []record.Slice) (out []string) {
	for _, s := range list {
		out = append(out, s.String())
	}
	return out
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// storyOf is all of a record that is no message and no key.
func (i *Inspection) storyOf(u *record.UE, holders map[uint16]string) Story {
	out := Story{
		UE: i.ueOf(u, holders), PEI: u.PEI, GPSI: u.GPSI, Connection: connectionOf(u.N2), Left: connectionOf(oldest(u.Left)), Asked: slicesOf(u.Asked),
		Uplink: u.Uplink, Downlink: u.Downlink, RFSP: u.RFSP, Periodic: u.Periodic, Policy: u.Policy, Recorded: u.Recorded, Behind: u.Behind, Prove: u.Prove,
		Emergency: u.Emergency, Unreachable: u.Unreached, Going: u.Going,
	}
	if u.OldTMSI != 0 {
		out.OldTMSI = fmt.Sprintf("%08x", u.OldTMSI)
	}
	for _, tac := range u.Area.TACs {
		out.Area = append(out.Area, fmt.Sprintf("%s-%06x", u.Area.PLMN, tac))
	}
	for _, r := range u.Rejected {
		out.Rejected = append(out.Rejected, fmt.Sprintf("%s (cause %d)", r.Slice, r.Cause))
	}
	if s := u.Security; s != nil {
		out.Security = &Security{
			KSI: s.Identifier, Integrity: fmt.Sprintf("NIA%d", s.Integrity), Ciphering: fmt.Sprintf("NEA%d", s.Ciphering),
			Uplink: s.Uplink, Reserved: s.Reserved, NCC: s.Chaining,
		}
	}
	underWay(u, &out)
	for _, p := range u.History {
		out.History = append(out.History, Past{Kind: procedure.Kind(p.Kind).String(), Failed: p.Result != 0, At: at(p.At), Took: p.Took})
	}
	return out
}

func oldest(list []record.Attachment) *record.Attachment {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func connectionOf(a *record.Attachment) *Connection {
	if a == nil {
		return nil
	}
	state := "signalling"
	switch {
	case a.Lost:
		state = "lost"
	case a.Releasing:
		state = "being released"
	case a.Setting:
		state = "being set up"
	case a.Set:
		state = "set up"
	}
	return &Connection{Terminator: a.Terminator, Association: a.Association, GNB: a.GNB, RAN: a.RAN, AMF: a.AMF, State: state}
}

// underWay is what has not ended.
func underWay(u *record.UE, out *Story) {
	if p := u.Procedure; p != nil {
		out.Procedure = &Action{Kind: procedure.Kind(p.Kind).String(), Step: p.Step, Attempts: p.Attempts, Began: at(p.Began)}
	}
	if c := u.Command; c != nil {
		kind, _ := n1.TypeOf(c.Message)
		out.Command = &Action{Kind: strings.ToLower(kind.String()), Attempts: c.Attempts, Began: at(c.Began)}
	}
	if p := u.Paging; p != nil {
		out.Paging = &Action{Attempts: p.Attempts, Began: at(p.Began)}
	}
	if h := u.Handover; h != nil {
		out.Handover = &Move{Target: *connectionOf(&h.Target), Step: h.Step, Began: at(h.Began)}
	}
}
