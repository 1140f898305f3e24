package record

import "slices"

// Charge says whom a flow's packets are charged to.
type Charge struct {
	// RatingGroup of TS 32.290.
	RatingGroup uint32 `cbor:"0,keyasint,omitempty"`
	// Online: packets need a quota. Offline: they are counted.
	Online  bool `cbor:"1,keyasint,omitempty"`
	Offline bool `cbor:"2,keyasint,omitempty"`
}

// Charged says whether anything is to be counted.
func (c Charge) Charged() bool { return c.Online || c.Offline }

// Usage is what a session's unit measures, and what the CHF has heard of it (TS 32.255 5.2, TS 32.290).
type Usage struct {
	// Sequence of the next request in the resource that Session.Charging names, and Container that of the next container in the session.
	Sequence  uint32 `cbor:"0,keyasint,omitempty"`
	Container uint32 `cbor:"1,keyasint,omitempty"`
	// Open is the request whose answer is not known, an operation of package procedure; 0: none. It is sent again as it was.
	Open uint8 `cbor:"2,keyasint,omitempty"`
	// At is when the request was made, Unix time in ms.
	At int64 `cbor:"3,keyasint,omitempty"`
	// Groups by rating group. Numbered is the last number that a URR has had.
	Groups   []Group `cbor:"4,keyasint,omitempty"`
	Numbered uint32  `cbor:"5,keyasint,omitempty"`
	// Rests: the CHF did not answer, and is left alone until the time that is set.
	Rests bool `cbor:"6,keyasint,omitempty"`
}

// Group is a rating group of the session, which has a URR in the unit.
type Group struct {
	// URR is its number. A unit that has the session made anew gets another, so that reports of before (Before) are told from those of now.
	URR         uint32 `cbor:"0,keyasint"`
	RatingGroup uint32 `cbor:"1,keyasint"`
	Online      bool   `cbor:"2,keyasint,omitempty"`
	// Has: the unit has the URR. Renew: it is to be told of the quota. Gone: no flow needs it any more.
	Has   bool `cbor:"3,keyasint,omitempty"`
	Renew bool `cbor:"4,keyasint,omitempty"`
	Gone  bool `cbor:"5,keyasint,omitempty"`
	// Seen is one above the last UR-SEQN that was counted.
	Seen uint32 `cbor:"6,keyasint,omitempty"`
	// Used is what the CHF was not told, Sent what it was told in the request that is Open. Why and SentWhy are what made it due: bits of
	// package procedure.
	Used    Units  `cbor:"7,keyasint,omitzero"`
	Sent    Units  `cbor:"8,keyasint,omitzero"`
	Why     uint32 `cbor:"9,keyasint,omitempty"`
	SentWhy uint32 `cbor:"10,keyasint,omitempty"`
	// Quota is what is left of it; nil: none was granted, and nothing passes, unless it is Free.
	Quota *Quota `cbor:"11,keyasint,omitempty"`
	// Free: no quota is needed. Denied: the CHF has said that there is none.
	Free   bool `cbor:"12,keyasint,omitempty"`
	Denied bool `cbor:"13,keyasint,omitempty"`
	// Missed are those below Seen that were not counted: bit n is UR-SEQN Seen-1-n.
	Missed uint64 `cbor:"14,keyasint,omitempty"`
	// Before is the number that the URR had before, and what was seen of it: what the unit said of that, and says again, or says last when
	// it deletes the session, counts as well.
	Before       uint32 `cbor:"15,keyasint,omitempty"`
	BeforeSeen   uint32 `cbor:"16,keyasint,omitempty"`
	BeforeMissed uint64 `cbor:"17,keyasint,omitempty"`
}

// Of says whether a report of that URR is the group's, and was not seen before.
func (g *Group) Of(urr, sequence uint32) bool {
	switch {
	case urr == 0:
		return false
	case urr == g.URR:
		return g.See(sequence)
	case urr == g.Before:
		b := Group{Seen: g.BeforeSeen, Missed: g.BeforeMissed}
		is := b.See(sequence)
		g.BeforeSeen, g.BeforeMissed = b.Seen, b.Missed
		return is
	}
	return false
}

// See a UR-SEQN; false: it was seen before. A report without an answer comes again behind later ones.
func (g *Group) See(sequence uint32) bool {
	if sequence >= g.Seen {
		skipped := sequence - g.Seen
		g.Missed = g.Missed<<(skipped+1) | (1<<(skipped+1) - 2)
		g.Seen = sequence + 1
		return true
	}
	bit := uint64(1) << (g.Seen - 1 - sequence)
	if g.Missed&bit == 0 {
		return false
	}
	g.Missed &^= bit
	return true
}

// Units are octets and seconds; First and Last packet's times are Unix time in s.
type Units struct {
	Uplink   uint64 `cbor:"0,keyasint,omitempty"`
	Downlink uint64 `cbor:"1,keyasint,omitempty"`
	Seconds  uint32 `cbor:"2,keyasint,omitempty"`
	First    int64  `cbor:"3,keyasint,omitempty"`
	Last     int64  `cbor:"4,keyasint,omitempty"`
}

// Add what was used later.
func (u *Units) Add(v Units) {
	u.Uplink, u.Downlink, u.Seconds = u.Uplink+v.Uplink, u.Downlink+v.Downlink, u.Seconds+v.Seconds
	if u.First == 0 || v.First != 0 && v.First < u.First {
		u.First = v.First
	}
	u.Last = max(u.Last, v.Last)
}

// Quota is what may be used until the CHF is asked again; what is not given is 0 with its bit of Has not set.
type Quota struct {
	Has      uint8  `cbor:"0,keyasint"`
	Total    uint64 `cbor:"1,keyasint,omitempty"`
	Uplink   uint64 `cbor:"2,keyasint,omitempty"`
	Downlink uint64 `cbor:"3,keyasint,omitempty"`
	Seconds  uint32 `cbor:"4,keyasint,omitempty"`
	// VolumeLeft and SecondsLeft are how much is left when more is asked for, 0 for nothing.
	VolumeLeft  uint64 `cbor:"5,keyasint,omitempty"`
	SecondsLeft uint32 `cbor:"6,keyasint,omitempty"`
	// Holding is how long it may lie unused, in s; Until when it may be used, Unix time in s. 0: for ever.
	Holding uint32 `cbor:"7,keyasint,omitempty"`
	Until   int64  `cbor:"8,keyasint,omitempty"`
	// Final: there is no more behind it.
	Final bool `cbor:"9,keyasint,omitempty"`
}

// Bits of Quota.Has.
const (
	HasTotal    uint8 = 1
	HasUplink   uint8 = 2
	HasDownlink uint8 = 4
	HasSeconds  uint8 = 8
)

// Spend takes off what was used.
func (q *Quota) Spend(u Units) {
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	q.Total, q.Uplink, q.Downlink = less(q.Total, u.Uplink+u.Downlink), less(q.Uplink, u.Uplink), less(q.Downlink, u.Downlink)
	q.Seconds -= min(q.Seconds, u.Seconds)
}

// Group of a charge; nil: there is none.
func (u *Usage) Group(c Charge) *Group {
	if u == nil || !c.Charged() {
		return nil
	}
	n := slices.IndexFunc(u.Groups, func(g Group) bool { return g.RatingGroup == c.RatingGroup && g.Online == c.Online })
	if n < 0 {
		return nil
	}
	return &u.Groups[n]
}

// Number the URRs anew: the unit gets all of them again. One that the unit is not known to have had, and of which nothing was seen, keeps its number:
// the unit may have it all the same, from a request that it did not answer, and say what it has measured when it is deleted.
func (u *Usage) Number() {
	if u == nil {
		return
	}
	u.Groups = slices.DeleteFunc(u.Groups, func(g Group) bool { return g.Gone && g.Used == (Units{}) && g.Sent == (Units{}) })
	for n := range u.Groups {
		g := &u.Groups[n]
		if g.Renew = false; !g.Has && g.Seen == 0 {
			continue
		}
		u.Numbered++
		g.Before, g.BeforeSeen, g.BeforeMissed = g.URR, g.Seen, g.Missed
		g.URR, g.Has, g.Seen, g.Missed = u.Numbered, false, 0, 0
	}
}
