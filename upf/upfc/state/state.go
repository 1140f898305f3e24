package state

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Version is raised whenever the encoding changes, also by a new field. Oldest is the first one that is read: its
// blobs lack what later versions have (coder.since).
const (
	Version = 9
	Oldest  = 4
)

// Reads says whether blobs of a version can be read.
func Reads(version uint32) bool { return version >= Oldest && version <= Version }

// Slots are those of rules in upf-u's memory.
type Slots = rules.ByID[uint32, uint32]

// Session is one session's blob.
type Session struct {
	UPSEID   uint64
	CPSEID   uint64
	CPAddr   netip.Addr // of the CP F-SEID: where reports go
	Node     string     // Node ID of the CP function
	Created  int64      // Unix seconds
	Rules    *rules.Set
	QERSlots Slots          // by QER ID
	GBRSlots Slots          // by QER ID, of QERs with a GBR
	Meters   usage.Meters   // by URR ID
	Outbox   []usage.Report // not yet acknowledged
	CSIDs    []rules.CSID   // FQ-CSIDs, by which Session Set Deletion finds it
	Last     Done
	Made     Made
	NAT      nat.Block            // of NAT44, where the network instance has it
	Stations []rules.Station      // MAC addresses behind it, of an Ethernet PDU session
	Flows    []rules.DetectedFlow // of applications, that the CP function was told have begun
}

// Made is the request that established the session. A CP function that does not know whether it was executed,
// for another instance of it had sent it, sends it again under the same CP F-SEID and is told the same.
type Made struct {
	Digest  uint64   // of the request's IEs
	Chosen  []uint16 // PDRs and Traffic Endpoints that its answer told of
	Created []uint8
}

// Done is the last request that changed the session: when upf-c dies between upf-u's answer and its
// own, the CP function repeats the request, and is answered that it was done.
type Done struct {
	At       int64    // Unix seconds, 0: there was none
	Sequence uint32   // of the request
	Digest   uint64   // of the request's IEs
	Chosen   []uint16 // PDRs and Traffic Endpoints that it tells of
	Created  []uint8
	Reports  []usage.Report // that the answer carries
}

// Meta is the META blob.
type Meta struct {
	Recovery     int64 // Recovery Time Stamp, Unix seconds
	Associations []Association
	PFDs         []PFD
	Groups       []Group // by number, the first is 1
	Restorers    []Restorer
}

// Restorer is a CP function that may have sessions to restore.
type Restorer struct {
	Node  string
	Waits bool // for it: it has not said that it is done
}

// Group is what drops are counted by: a CP function's sessions in one Network Instance.
type Group struct {
	Node            string
	NetworkInstance string
}

// PFD is what one CP function provided for one application.
type PFD struct {
	Node        string
	Application string
	Flows       []string // flow descriptions
	Domains     []Domain
}

// Domain is a domain name, as it was received.
type Domain struct {
	Name     string
	Protocol string
}

// Association is one CP function's.
type Association struct {
	Node     string
	From     netip.AddrPort // where its requests come from; of a peer, where ours go
	Source   netip.Addr     // where its requests come from too, as far as it is known
	Recovery uint32         // its Recovery Time Stamp, as on the wire
	Created  int64          // Unix seconds
	Peer     bool           // of pfcp.peers: it was set up by us
	Moved    netip.AddrPort // where its last Association Update said that our requests are to go
	// Load and Overload: it wants to hear of ours (CP Function Features LOAD, OVRL).
	Load, Overload bool
}

// doneFor is how long a repeated request is still the same one: longer than peers repeat it.
const doneFor = 60 * time.Second

// Is says whether a request is the one that was done.
func (d *Done) Is(sequence uint32, digest uint64, now time.Time) bool {
	return d.At != 0 && d.Sequence == sequence && d.Digest == digest && now.Sub(time.Unix(d.At, 0)) < doneFor
}

func session(c *coder, s *Session) {
	c.fixed(&s.UPSEID)
	c.fixed(&s.CPSEID)
	c.addr(&s.CPAddr)
	c.name(&s.Node)
	signed(c, &s.Created)
	if s.Rules == nil {
		s.Rules = &rules.Set{}
	}
	set(c, s.Rules)
	dict(c, &s.QERSlots, number[uint32])
	dict(c, &s.GBRSlots, number[uint32])
	dict(c, &s.Meters, meter)
	list(c, &s.Outbox, report)
	list(c, &s.CSIDs, csid)
	if c.given(s.Last.At != 0) {
		done(c, &s.Last)
		c.refuse(s.Last.At == 0)
	} else {
		s.Last = Done{}
	}
	if c.since(5) {
		c.fixed(&s.Made.Digest)
		numbers(c, &s.Made.Chosen)
		numbers(c, &s.Made.Created)
	} else {
		s.Made = Made{}
	}
	if c.since(6) && c.given(s.NAT.IsValid()) {
		c.addr(&s.NAT.Addr)
		number(c, &s.NAT.Port)
		c.refuse(!s.NAT.IsValid())
	} else {
		s.NAT = nat.Block{}
	}
	if c.since(8) && c.given(s.Rules.Ethernet) {
		s.Rules.Ethernet = true
		list(c, &s.Stations, station)
	} else {
		s.Rules.Ethernet, s.Stations = false, nil
	}
	if c.since(9) && hasApplication(s.Rules) {
		list(c, &s.Flows, detectedFlow)
	} else {
		s.Flows = nil
	}
}

func hasApplication(set *rules.Set) bool {
	for _, r := range set.PDRs.All() {
		if r.PDI.Application != "" {
			return true
		}
	}
	return false
}

func csid(c *coder, s *rules.CSID) {
	c.name(&s.Node)
	number(c, &s.ID)
}

func done(c *coder, d *Done) {
	signed(c, &d.At)
	number(c, &d.Sequence)
	c.fixed(&d.Digest)
	numbers(c, &d.Chosen)
	numbers(c, &d.Created)
	list(c, &d.Reports, report)
}

func meta(c *coder, m *Meta) {
	signed(c, &m.Recovery)
	list(c, &m.Associations, func(c *coder, a *Association) {
		c.name(&a.Node)
		c.addrPort(&a.From)
		c.addr(&a.Source)
		number(c, &a.Recovery)
		signed(c, &a.Created)
		if c.since(5) {
			c.flags(&a.Peer, &a.Load, &a.Overload)
			c.addrPort(&a.Moved)
		} else {
			c.flags(&a.Peer)
		}
	})
	list(c, &m.PFDs, func(c *coder, p *PFD) {
		c.name(&p.Node)
		c.name(&p.Application)
		list(c, &p.Flows, func(c *coder, s *string) { c.name(s) })
		if c.since(7) {
			list(c, &p.Domains, func(c *coder, d *Domain) {
				c.name(&d.Name)
				c.name(&d.Protocol)
			})
		}
	})
	list(c, &m.Groups, func(c *coder, g *Group) {
		c.name(&g.Node)
		c.name(&g.NetworkInstance)
	})
	if c.since(5) {
		list(c, &m.Restorers, func(c *coder, r *Restorer) {
			c.name(&r.Node)
			c.flags(&r.Waits)
		})
	}
}

// coders are reused: the functions that fill them in take their address.
var coders = sync.Pool{New: func() any { return &coder{} }}

// free makes a coder ready for somebody else, room included unless it is big.
func (c *coder) free(room []byte) {
	*c = coder{packed: c.packed[:0]}
	if cap(room) <= 64*1024 {
		c.room = room[:0]
	}
	if cap(c.packed) > 64*1024 {
		c.packed = nil
	}
	coders.Put(c)
}

// AppendSession appends a session's blob to b.
func AppendSession(b []byte, s *Session) []byte {
	c := coders.Get().(*coder)
	*c = coder{b: c.room, packed: c.packed}
	c.names = c.space[:0]
	session(c, s)
	c.packed = pack(append(c.packed, Version), c.b)
	b = append(slices.Grow(b, len(c.packed)), c.packed...)
	c.free(c.b)
	return b
}

// EncodeMeta makes the META blob.
func EncodeMeta(m *Meta) []byte {
	c := coder{b: []byte{Version}}
	meta(&c, m)
	return c.b
}

func begin(b []byte) (coder, error) {
	if len(b) == 0 {
		return coder{}, errors.New("empty blob")
	}
	if !Reads(uint32(b[0])) {
		return coder{}, fmt.Errorf("blob of version %d, this upf-c reads %d to %d", b[0], Oldest, Version)
	}
	return coder{b: b[1:], reading: true, version: b[0]}, nil
}

func (c *coder) end() error {
	if c.err == nil && len(c.b) > 0 {
		return errLeft
	}
	return c.err
}

// DecodeMeta reads the META blob.
func DecodeMeta(b []byte) (*Meta, error) {
	c, err := begin(b)
	if err != nil {
		return nil, err
	}
	m := &Meta{}
	meta(&c, m)
	return m, c.end()
}

// DecodeSession reads a session's blob into s, and refuses one that could not have been written. The
// lists and rules that s has are used again: nobody else may hold them. Nothing in s refers to b
// afterwards. known may be nil.
func DecodeSession(b []byte, s *Session, known *Strings) error {
	begun, err := begin(b)
	if err != nil {
		return err
	}
	c := coders.Get().(*coder)
	room, err := unpack(c.room, begun.b)
	if err != nil {
		c.free(c.room)
		return err
	}
	*c = coder{b: room, reading: true, known: known, version: begun.version, packed: c.packed}
	c.names = c.space[:0]
	session(c, s)
	err = c.end()
	c.free(room)
	if err != nil {
		return err
	}
	if s.UPSEID == 0 {
		return errors.New("blob without a session")
	}
	for id := range s.Rules.URRs.All() {
		if !s.Meters.Has(id) {
			return fmt.Errorf("URR %d has no meter", id)
		}
	}
	for id := range s.Meters.All() {
		if s.Rules.URRs.Get(id) == nil {
			return fmt.Errorf("a meter of URR %d, which does not exist", id)
		}
	}
	for id := range s.Rules.QERs.All() {
		if !s.QERSlots.Has(id) {
			return fmt.Errorf("QER %d has no slot", id)
		}
	}
	return nil
}
