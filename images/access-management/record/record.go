// Package record is what the AMF set keeps of a UE (TS 23.502 5.2.2.2.2, the UE context), and how it is written into the session store.
//
// A record is everything that a worker which never heard of the UE needs to go on with it, and nothing that can be had from elsewhere: no
// subscription but what of it was granted, no radio capability (the access network has it, or asks the UE). It is written as CBOR (RFC
// 8949) with numbers for names. A number is never used again for anything else, and a field that is not known is passed over, so that
// versions N-1 and N read each other's records: what N-1 does not know it loses when it writes, and N must be able to go on without.
//
//	record.go   a UE      security.go  its NAS security    attachment.go  where it is connected
//	numbers.go  shards    gnb.go       a gNB               codec.go       octets
//	watch.go    who hears of it
package record

import (
	"fmt"
	"slices"
	"strconv"
)

// Phase of a UE's registration (TS 24.501 5.1.3.2.3).
type Phase uint8

// The phases.
const (
	// Deregistered: it is being registered for the first time, or anew.
	Deregistered Phase = 1
	// Registered: it was accepted.
	Registered Phase = 2
	// Leaving: the network has deregistered it, and it has not answered.
	Leaving Phase = 3
)

// UE is a UE. Until authentication has found a SUPI nothing of it is kept.
type UE struct {
	Version uint8 `cbor:"0,keyasint"`

	// SUPI names the UE: imsi-…, nai-…; "" until it is known.
	SUPI string `cbor:"1,keyasint"`
	PEI  string `cbor:"2,keyasint,omitempty"`
	// GPSI of the subscription; "" for none.
	GPSI string `cbor:"3,keyasint,omitempty"`
	// Shard whose record it is.
	Shard uint16 `cbor:"4,keyasint"`
	Phase Phase  `cbor:"5,keyasint"`
	// TMSI is the UE's 5G-TMSI, OldTMSI the one of before while the UE may have either. 0: none.
	TMSI    uint32 `cbor:"6,keyasint,omitempty"`
	OldTMSI uint32 `cbor:"7,keyasint,omitempty"`

	// Security is the context that protects NAS, nil while there is none; Coming is one that authentication has made, and that the UE has not
	// taken into use yet (TS 24.501 4.4.2.1, partial).
	Security *Security `cbor:"8,keyasint,omitempty"`
	Coming   *Security `cbor:"9,keyasint,omitempty"`
	// Ability is the UE's security capability, as it said it (TS 24.501 9.11.3.54).
	Ability []byte `cbor:"10,keyasint,omitempty"`

	// N2 is where the UE is connected, nil while it is idle. Left are attachments of before, the oldest first, until their access networks have let go of them: a
	// gNB that is away hears of it when it is back. codec.go writes them under 13 and 59.
	N2   *Attachment  `cbor:"12,keyasint,omitempty"`
	Left []Attachment `cbor:"-"`
	// Place is where the UE was last heard, and when.
	Place Place `cbor:"14,keyasint,omitzero"`
	// Area is the registration area: where the UE may be without saying so.
	Area Area `cbor:"15,keyasint,omitzero"`

	// Allowed S-NSSAIs, in the order of preference; Asked is the requested NSSAI of the last registration, Rejected what of it was refused.
	Allowed  []Slice    `cbor:"16,keyasint,omitempty"`
	Asked    []Slice    `cbor:"17,keyasint,omitempty"`
	Rejected []Rejected `cbor:"18,keyasint,omitempty"`
	// Uplink and Downlink are the UE-AMBR in use, bit/s.
	Uplink   uint64 `cbor:"19,keyasint,omitempty"`
	Downlink uint64 `cbor:"20,keyasint,omitempty"`
	// DRX that the UE asked for (TS 24.501 9.11.3.2A), 0 as the cell says.
	DRX uint8 `cbor:"21,keyasint,omitempty"`
	// Periodic is T3512 as the UE was told it, in seconds; 0: the UE does not report by itself.
	Periodic uint32 `cbor:"22,keyasint,omitempty"`

	// Sessions in the order of their identities.
	Sessions []Session `cbor:"23,keyasint,omitempty"`

	// Procedure is what is under way with the UE; nil: nothing.
	Procedure *Procedure `cbor:"24,keyasint,omitempty"`
	// Command to the UE that it has not answered; nil: none.
	Command *Command `cbor:"25,keyasint,omitempty"`
	// Paging: the UE is looked for.
	Paging *Paging `cbor:"26,keyasint,omitempty"`
	// Handover between access networks by way of this set.
	Handover *Handover `cbor:"27,keyasint,omitempty"`

	// Policy is the URI of the association with the PCF, Notified that of the subscription with the UDM; "" for none.
	Policy   string `cbor:"28,keyasint,omitempty"`
	Notified string `cbor:"29,keyasint,omitempty"`
	// Recorded: the UDM has this set as the UE's AMF.
	Recorded bool `cbor:"30,keyasint,omitempty"`
	// Recording is when the registration began of which the UDM was told last, or was to be, Unix time in ms.
	Recording int64 `cbor:"61,keyasint,omitempty"`
	// Known: the UDM remembers what it was told, of this set and that it is to tell of changes. Not so where it was one that forgets, where another AMF has told it
	// otherwise, or where the store has lost what it was told last.
	Known bool `cbor:"62,keyasint,omitempty"`
	// Since is when the UE was registered, Unix time in ms.
	Since int64 `cbor:"31,keyasint,omitempty"`
	// Behind: the UE has not heard all that has changed for it.
	Behind bool `cbor:"32,keyasint,omitempty"`
	// Untold: Allowed and Area were told in a command that the UE has not answered, and that is not said any more.
	Untold bool `cbor:"42,keyasint,omitempty"`
	// Prove: nothing is ciphered for the UE before it was authenticated anew, since the store may have lost what it was told.
	Prove bool `cbor:"34,keyasint,omitempty"`
	// History is how the last procedures ended, the oldest first.
	History []Past `cbor:"36,keyasint,omitempty"`
	// Index to RAT/Frequency Selection Priority in use, 0 for none.
	RFSP uint16 `cbor:"37,keyasint,omitempty"`
	// Names: the UE was told the network's names as they are in the configuration of this digest.
	Names uint32 `cbor:"38,keyasint,omitempty"`
	// DNNs are what the UE has in the Allowed slices where it names no data network, one each.
	DNNs []string `cbor:"39,keyasint,omitempty"`
	// Decided is what the PCF has authorised in the place of the subscription.
	Decided Decided `cbor:"40,keyasint,omitzero"`
	// Emergency: it is registered for emergency services alone. Where nobody has authenticated it, SUPI is its PEI.
	Emergency bool `cbor:"50,keyasint,omitempty"`
	// Unreached: it has not said that it is there in time, and paging is of no use (TS 24.501 5.3.7).
	Unreached bool `cbor:"51,keyasint,omitempty"`
	// Going: the UDM says that another AMF has it, which is to say what it has taken.
	Going bool `cbor:"53,keyasint,omitempty"`
	// Lent: another AMF was told of it, and may say that it has it.
	Lent bool `cbor:"60,keyasint,omitempty"`
	// Catalogue is a digest of the slices that the PLMN had when the UE was last told its own; 0 in a record of a program that did not note it.
	Catalogue uint32 `cbor:"54,keyasint,omitempty"`
	// Listed: the store lists it with the UEs that are connected, and with those of its slices. A program that does not know these lists loses the mark when it
	// writes, and the record is put in order with the next write of one that does.
	Listed bool `cbor:"55,keyasint,omitempty"`
	// Ending are PDU sessions that the UE has no more, and whose SMFs have not heard so, the oldest first. Remnant: nothing is kept of it but these and Left.
	Ending  []Ended `cbor:"56,keyasint,omitempty"`
	Remnant bool    `cbor:"58,keyasint,omitempty"`
	// Watches are who wants to hear what the UE does.
	Watches []Watch `cbor:"52,keyasint,omitempty"`
}

// Decided by the PCF of a UE (TS 29.507 4.2.2.3). What is 0 is as the subscription has it.
type Decided struct {
	RFSP uint16 `cbor:"0,keyasint,omitempty"`
	// Uplink and Downlink are the UE-AMBR, bit/s.
	Uplink   uint64 `cbor:"1,keyasint,omitempty"`
	Downlink uint64 `cbor:"2,keyasint,omitempty"`
}

// HistoryLength bounds History.
const HistoryLength = 6

// MostSessions is how many PDU session identities there are (TS 24.007 11.2.3.1b).
const MostSessions = 15

// MostEnding bounds UE.Ending, MostLeft UE.Left.
const (
	MostEnding = 8
	MostLeft   = 4
)

// Slice is an S-NSSAI; SD is nil where there is none.
type Slice struct {
	SST uint8    `cbor:"0,keyasint"`
	SD  *[3]byte `cbor:"1,keyasint,omitempty"`
}

// String writes an S-NSSAI as TS 29.571 5.4.4.2 does in map keys: 1-010203, or 1 without SD.
func (s Slice) String() string {
	if s.SD == nil {
		return strconv.Itoa(int(s.SST))
	}
	return fmt.Sprintf("%d-%x", s.SST, *s.SD)
}

// Is says whether two are the same S-NSSAI.
func (s Slice) Is(o Slice) bool {
	return s.SST == o.SST && (s.SD == nil) == (o.SD == nil) && (s.SD == nil || *s.SD == *o.SD)
}

// Rejected is an S-NSSAI that a UE does not get, with the cause of TS 24.501 9.11.3.46.
type Rejected struct {
	Slice Slice `cbor:"0,keyasint"`
	Cause uint8 `cbor:"1,keyasint"`
}

// Place is a cell.
type Place struct {
	// PLMN in five or six digits.
	PLMN string `cbor:"0,keyasint"`
	TAC  uint32 `cbor:"1,keyasint"`
	// Cell is the NR cell identity, 36 bits; CellPLMN its PLMN where it is another.
	Cell     uint64 `cbor:"2,keyasint,omitempty"`
	CellPLMN string `cbor:"3,keyasint,omitempty"`
	// At is Unix time in s.
	At int64 `cbor:"4,keyasint,omitempty"`
}

// Area is a list of tracking areas in one PLMN (TS 24.501 9.11.3.9), at most 16.
type Area struct {
	PLMN string   `cbor:"0,keyasint"`
	TACs []uint32 `cbor:"1,keyasint,omitempty"`
}

// Has says whether a place is in the area.
func (a Area) Has(p Place) bool { return a.PLMN == p.PLMN && slices.Contains(a.TACs, p.TAC) }

// Session is a PDU session, as far as an AMF knows of one.
type Session struct {
	ID    uint8  `cbor:"0,keyasint"`
	Slice Slice  `cbor:"1,keyasint"`
	DNN   string `cbor:"2,keyasint"`
	// SMF is the NF instance of the session's SMF (its shard), Set the SMF set, Context the SM context's resource URI, "" until it is known.
	SMF     string `cbor:"3,keyasint"`
	Set     string `cbor:"4,keyasint,omitempty"`
	Context string `cbor:"5,keyasint,omitempty"`
	// Up: it has a user plane connection, as far as the SMF and the access network were heard.
	Up bool `cbor:"6,keyasint,omitempty"`
	// Held is what the SMF wants the access network, or the UE, to have, and what could not be brought there yet: the UE is paged for it, or handed over.
	Held *Held `cbor:"7,keyasint,omitempty"`
	// Silent: the SMF did not hear that the user plane is down, and is told again.
	Silent bool `cbor:"8,keyasint,omitempty"`
	// Emergency: it is for emergency services, in a slice that nobody need have.
	Emergency bool `cbor:"20,keyasint,omitempty"`
	// Moved: it came with the UE from another AMF, and its SMF has not heard of this one.
	Moved bool `cbor:"21,keyasint,omitempty"`
	// Lent: another AMF was told of it, and may have it by now.
	Lent bool `cbor:"22,keyasint,omitempty"`
	// Arriving: the UE has been handed over, and the SMF has not said that it has heard so: its packets may go where the UE was. A program that does not know this
	// leaves it to the access network that the UE has left to say that it has no such tunnel.
	Arriving bool `cbor:"23,keyasint,omitempty"`
}

// Ended is a PDU session that is to be released: since when, and when its SMF is asked next, Unix time in ms.
type Ended struct {
	Session Session `cbor:"0,keyasint"`
	Since   int64   `cbor:"1,keyasint"`
	Next    int64   `cbor:"2,keyasint"`
}

// Held is an N1N2 message transfer that waits for the UE (TS 23.502 4.2.3.3 step 3a). It is what names it to others; the messages themselves are asked
// for again: a UE that comes has its session's user plane set up by the SMF.
type Held struct {
	// Failure is where the SMF wants to hear that the UE was not reached; "" nowhere.
	Failure string `cbor:"0,keyasint,omitempty"`
	// N1 is a message for the UE, nil for none. It is brought with what follows the Service Request.
	N1 []byte `cbor:"1,keyasint,omitempty"`
	// Priority is the ARP's, 1 to 15; 0 unknown.
	Priority uint8 `cbor:"2,keyasint,omitempty"`
	// FiveQI of the flow whose packets wait, 0 unknown.
	FiveQI uint8 `cbor:"3,keyasint,omitempty"`
	// N2: the access network is to have the session.
	N2 bool `cbor:"4,keyasint,omitempty"`
}

// Procedure is one that is under way with the UE. Which others wait for it says package procedure.
type Procedure struct {
	Kind uint8 `cbor:"0,keyasint"`
	Step uint8 `cbor:"1,keyasint"`
	// Attempts to take the step.
	Attempts uint8 `cbor:"2,keyasint,omitempty"`
	// Began is Unix time in ms.
	Began int64 `cbor:"3,keyasint"`
	// Message of the UE's that began it, as it is without protection.
	Message []byte `cbor:"4,keyasint,omitempty"`
	// Cause that the UE, or the access network, is told.
	Cause uint8 `cbor:"5,keyasint,omitempty"`
	// Flags are of the procedure's own.
	Flags uint16 `cbor:"6,keyasint,omitempty"`
	// Sessions that the procedure waits for, a bit for each identity, and those that have come to nothing in it.
	Sessions uint16 `cbor:"7,keyasint,omitempty"`
	Failed   uint16 `cbor:"8,keyasint,omitempty"`
}

// Command is a message to the UE, sent again until it is answered (TS 24.501 10.2: T3522, T3550, T3555, T3560, T3570).
type Command struct {
	// Message as it is without protection: said again it has another COUNT.
	Message []byte `cbor:"0,keyasint"`
	// Attempts so far, and when the first was, Unix time in ms.
	Attempts uint8 `cbor:"1,keyasint"`
	Began    int64 `cbor:"2,keyasint"`
}

// Paging of a UE (TS 23.502 4.2.3.3, TS 24.501 5.6.2).
type Paging struct {
	Attempts uint8 `cbor:"0,keyasint"`
	// Began is Unix time in ms.
	Began int64 `cbor:"1,keyasint"`
	// Priority of TS 38.413 9.3.1.78, 1 to 8; 0 none.
	Priority uint8 `cbor:"2,keyasint,omitempty"`
}

// Handover by way of this set (TS 23.502 4.9.1.3).
type Handover struct {
	// Target has the UE when it has arrived.
	Target Attachment `cbor:"0,keyasint"`
	// Step is that of package procedure.
	Step uint8 `cbor:"1,keyasint"`
	// Type and Cause of the request (TS 38.413 9.3.1.22, 9.3.1.2: group and value).
	Cause [2]uint8 `cbor:"2,keyasint,omitzero"`
	// Asked are sessions that the SMFs were asked for, Taken those that the target takes: a bit for each identity.
	Asked uint16 `cbor:"3,keyasint,omitempty"`
	Taken uint16 `cbor:"4,keyasint,omitempty"`
	// Began is Unix time in ms.
	Began int64 `cbor:"5,keyasint"`
	// Place of the target's cell, as the source named it.
	Place Place `cbor:"6,keyasint,omitzero"`
	// Forwards: the source was told where packets go that it still has.
	Forwards bool `cbor:"7,keyasint,omitempty"`
}

// Past is a procedure that has ended.
type Past struct {
	Kind   uint8 `cbor:"0,keyasint"`
	Result uint8 `cbor:"1,keyasint,omitempty"`
	// At is Unix time in ms, Took in ms.
	At   int64  `cbor:"2,keyasint"`
	Took uint32 `cbor:"3,keyasint,omitempty"`
}

// Session of that identity; nil: there is none.
func (u *UE) Session(id uint8) *Session {
	for n := range u.Sessions {
		if u.Sessions[n].ID == id {
			return &u.Sessions[n]
		}
	}
	return nil
}

// Add a session, in the place of another of its identity.
func (u *UE) Add(s Session) *Session {
	u.Remove(s.ID)
	n, _ := slices.BinarySearchFunc(u.Sessions, s.ID, func(a Session, id uint8) int { return int(a.ID) - int(id) })
	u.Sessions = slices.Insert(u.Sessions, n, s)
	return &u.Sessions[n]
}

// Remove the session of that identity.
func (u *UE) Remove(id uint8) {
	u.Sessions = slices.DeleteFunc(u.Sessions, func(s Session) bool { return s.ID == id })
}

// Clone copies the UE: what is changed in the copy is not in the original. Octets are shared: nobody writes to them.
func (u *UE) Clone() *UE {
	c := *u
	c.Allowed, c.Asked, c.Rejected = slices.Clone(u.Allowed), slices.Clone(u.Asked), slices.Clone(u.Rejected)
	c.Sessions, c.History, c.DNNs = slices.Clone(u.Sessions), slices.Clone(u.History), slices.Clone(u.DNNs)
	c.Ending, c.Left = slices.Clone(u.Ending), slices.Clone(u.Left)
	for n := range c.Sessions {
		c.Sessions[n].Held = clone(c.Sessions[n].Held)
	}
	c.Security, c.Coming, c.N2 = clone(u.Security), clone(u.Coming), clone(u.N2)
	c.Procedure, c.Command, c.Paging = clone(u.Procedure), clone(u.Command), clone(u.Paging)
	c.Handover, c.Watches = clone(u.Handover), cloneWatches(u.Watches)
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
