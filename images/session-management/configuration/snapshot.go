package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
)

// Why there is no data network.
var (
	// ErrUnknownSlice: no Slice has the S-NSSAI.
	ErrUnknownSlice = errors.New("no slice has the S-NSSAI")
	// ErrUnknownDNN: the Slice has no such data network (5GSM cause 70, TS 24.501 6.4.1.4.1).
	ErrUnknownDNN = errors.New("the slice has no such data network")
)

// Slice is a network slice as it is configured.
type Slice struct {
	// Name of the Slice object.
	Name string
	SST  uint8
	// SD is nil for an S-NSSAI without one.
	SD *[3]byte
	// DataNetworks; the first is the slice's default.
	DataNetworks []DataNetwork
}

// SNSSAI as TS 29.571 writes it: 1-010203, or 1.
func (s *Slice) SNSSAI() string { return snssai(s.SST, s.SD) }

// SNSSAI of the data network's slice, as TS 29.571 writes it.
func (d *DataNetwork) SNSSAI() string { return snssai(d.SST, d.SD) }

func snssai(sst uint8, sd *[3]byte) string {
	if !isSD(sd) {
		return fmt.Sprint(sst)
	}
	return fmt.Sprintf("%d-%x", sst, sd[:])
}

// isSD: ffffff stands for none (TS 23.003 28.4.2).
func isSD(sd *[3]byte) bool { return sd != nil && *sd != [3]byte{0xff, 0xff, 0xff} }

// PLMN is a public land mobile network (TS 23.003 2.2), in digits.
type PLMN struct {
	MCC string `json:"mcc"`
	MNC string `json:"mnc"`
}

// Core is what the SMF knows of its core.
type Core struct {
	Name string
	// PLMNs and TACs that it serves, for its profile in the NRF (TS 29.510 6.1.6.2.12).
	PLMNs []PLMN
	TACs  []uint32
	// Shards is how many there are; 0: nobody has said.
	Shards int
}

// Snapshot is the configuration at one moment. It and what it returns are shared: nobody writes.
type Snapshot struct {
	core     Core
	slices   []*Slice
	units    []*Unit
	bySNSSAI map[string]*Slice
	byName   map[string]*Slice
	unitByID map[string]*Unit
	unread   Unread
}

// Unread are objects that there are, and that cannot be used as they are: what is missing of theirs has not gone.
type Unread struct {
	// Slices by name, and whether there is such a UPFInstance.
	Slices       []string
	UPFInstances bool
}

// New makes a Snapshot. What it completes are copies, since list and units may be of a Snapshot that somebody reads. An error names what contradicts itself; then there is no Snapshot.
func New(list []Slice, units []Unit) (*Snapshot, error) {
	s := &Snapshot{bySNSSAI: map[string]*Slice{}, byName: map[string]*Slice{}, unitByID: map[string]*Unit{}}
	for _, unit := range units {
		u := &unit
		if err := u.check(); err != nil {
			return nil, err
		}
		if s.unitByID[u.NodeID] != nil {
			return nil, fmt.Errorf("two units have the Node ID %q: give each its own", u.NodeID)
		}
		s.unitByID[u.NodeID] = u
		s.units = append(s.units, u)
	}
	for _, slice := range list {
		slice = slice.copied()
		if err := s.add(&slice); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.slices, func(a, b *Slice) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.units, func(a, b *Unit) int { return strings.Compare(a.NodeID, b.NodeID) })
	return s, s.checkPools()
}

// copied is the slice with lists of its own, as far as add completes them.
func (s Slice) copied() Slice {
	s.DataNetworks = slices.Clone(s.DataNetworks)
	for i := range s.DataNetworks {
		d := &s.DataNetworks[i]
		d.Flows, d.Breakouts, d.Units = slices.Clone(d.Flows), slices.Clone(d.Breakouts), slices.Clone(d.Units)
		for n := range d.Flows {
			d.Flows[n].Filters = slices.Clone(d.Flows[n].Filters)
		}
		for n := range d.Breakouts {
			d.Breakouts[n].Units = slices.Clone(d.Breakouts[n].Units)
		}
	}
	return s
}

func (s *Snapshot) add(slice *Slice) error {
	if slice.Name == "" || slice.SST == 0 || len(slice.DataNetworks) == 0 {
		return fmt.Errorf("slice %q: a slice has a name, an SST from 1 to 255, and at least one data network: write them", slice.Name)
	}
	if !isSD(slice.SD) {
		slice.SD = nil
	}
	if other := s.bySNSSAI[slice.SNSSAI()]; other != nil {
		return fmt.Errorf("slices %q and %q both have the S-NSSAI %s: give each its own", other.Name, slice.Name, slice.SNSSAI())
	}
	if s.byName[slice.Name] != nil {
		return fmt.Errorf("two slices are named %q: give each its own name", slice.Name)
	}
	seen := map[string]bool{}
	for i := range slice.DataNetworks {
		dn := &slice.DataNetworks[i]
		dn.Slice, dn.SST, dn.SD = slice.Name, slice.SST, slice.SD
		if err := dn.complete(); err != nil {
			return fmt.Errorf("slice %q: %w", slice.Name, err)
		}
		if seen[fold(dn.DNN)] {
			return fmt.Errorf("slice %q: DNN %q is there twice, and case makes no difference: write it once", slice.Name, dn.DNN)
		}
		seen[fold(dn.DNN)] = true
		dn.Names = nil
		for _, u := range s.units {
			names, own := u.names(slice.Name, dn.DNN)
			if name := dn.Networks[u.NodeID]; name != "" {
				names.Core, own = name, true
			}
			if own {
				if dn.Names == nil {
					dn.Names = map[string]n4.Names{}
				}
				dn.Names[u.NodeID] = names
			}
		}
	}
	s.bySNSSAI[slice.SNSSAI()], s.byName[slice.Name] = slice, slice
	s.slices = append(s.slices, slice)
	return nil
}

// checkPools: two units, or two data networks, with one address would give it to two UEs. In another network instance it is another address.
func (s *Snapshot) checkPools() error {
	type claim struct {
		network string
		prefix  netip.Prefix
		who     string
	}
	var all []claim
	for _, slice := range s.slices {
		for i := range slice.DataNetworks {
			dn := &slice.DataNetworks[i]
			for _, u := range dn.Units {
				for _, p := range append(slices.Clone(u.Pools), u.Static...) {
					all = append(all, claim{dn.networkAt(u.NodeID), p, fmt.Sprintf("%s of unit %s in data network %s", p, u.NodeID, dn.Core)})
				}
			}
		}
	}
	// An enclosing prefix sorts before what lies in it.
	slices.SortStableFunc(all, func(a, b claim) int {
		return cmp.Or(strings.Compare(a.network, b.network), a.prefix.Addr().Compare(b.prefix.Addr()), a.prefix.Bits()-b.prefix.Bits())
	})
	for i := 1; i < len(all); i++ {
		if all[i-1].network == all[i].network && all[i-1].prefix.Overlaps(all[i].prefix) {
			return fmt.Errorf("%s overlaps %s: write addresses that are free", all[i].who, all[i-1].who)
		}
	}
	return nil
}

// WithCore is the same Snapshot with another core.
func (s *Snapshot) WithCore(core Core) *Snapshot {
	out := *s
	out.core = core
	return &out
}

// WithUnread is the same Snapshot, which knows what it lacks.
func (s *Snapshot) WithUnread(unread Unread) *Snapshot {
	out := *s
	out.unread = unread
	return &out
}

// SliceGone says whether there is no such Slice any more, rather than one that cannot be used as it is.
func (s *Snapshot) SliceGone(name string) bool {
	return s.byName[name] == nil && !slices.Contains(s.unread.Slices, name)
}

// UnitGone says whether a unit does not come back.
func (s *Snapshot) UnitGone(nodeID string) bool {
	u := s.Unit(nodeID)
	return u == nil && !s.unread.UPFInstances || u != nil && u.Ending && u.State == Locked
}

// Digest of what sessions of a Slice follow while they are there; 0 where there is no such Slice. It is in the records of shards: of a Slice that has another one
// all sessions are looked at, so that what there was from the beginning stands as it did then.
func (s *Snapshot) Digest(slice string) uint64 {
	found := s.byName[slice]
	if found == nil {
		return 0
	}
	var b []byte
	for i := range found.DataNetworks {
		d := &found.DataNetworks[i]
		b = fmt.Appendf(b, "%q {%d %d} %d {%d %t %t} [", d.DNN, d.AMBR.Uplink, d.AMBR.Downlink, d.FiveQI, d.ARP.Priority, d.ARP.MayPreempt, d.ARP.Preemptable)
		for n := range d.Flows {
			b = d.Flows[n].appendText(between(b, n))
		}
		b = append(b, "] ["...)
		for n, o := range d.Breakouts {
			b = fmt.Appendf(between(b, n), "{Name:%s Prefixes:%s UPFInstance:%s Units:%s TACs:%d}", o.Name, o.Prefixes, o.UPFInstance, o.Units, o.TACs)
		}
		b = append(b, "]\n"...)
		for _, u := range d.Units {
			b = fmt.Appendf(b, "%s %d\n", u.NodeID, u.TACs)
		}
		if len(d.OwnAreas) > 0 {
			b = fmt.Appendf(b, "own %d\n", d.OwnAreas)
		}
	}
	hash := fnv.New64a()
	_, _ = hash.Write(b) // a hash takes whatever it is given
	return max(hash.Sum64(), 1)
}

// appendText of a Slice's flow: those that a session alone has are in no Slice.
func (f *Flow) appendText(b []byte) []byte {
	b = fmt.Appendf(b, "{Name:%s FiveQI:%d ARP:{Priority:%d MayPreempt:%t Preemptable:%t} GBR:{Uplink:%d Downlink:%d} MBR:{Uplink:%d Downlink:%d} Precedence:%d Filters:",
		f.Name, f.FiveQI, f.ARP.Priority, f.ARP.MayPreempt, f.ARP.Preemptable, f.GBR.Uplink, f.GBR.Downlink, f.MBR.Uplink, f.MBR.Downlink, f.Precedence)
	b = n1.AppendTextNamed(b, f.Filters)
	return fmt.Appendf(b, " OnRequest:%t RatingGroup:%d Default:false Closed:0 Charge:<nil>}", f.OnRequest, f.RatingGroup)
}

func between(b []byte, n int) []byte {
	if n > 0 {
		b = append(b, ' ')
	}
	return b
}

// Core that the SMF belongs to.
func (s *Snapshot) Core() Core { return s.core }

// Equal says whether two Snapshots say the same.
func (s *Snapshot) Equal(other *Snapshot) bool {
	if s == nil || other == nil {
		return s == other
	}
	return reflect.DeepEqual(s.core, other.core) && reflect.DeepEqual(s.unread, other.unread) && reflect.DeepEqual(s.slices, other.slices) && reflect.DeepEqual(s.units, other.units)
}

// Slices in the order of their names.
func (s *Snapshot) Slices() []*Slice { return s.slices }

// Units in the order of their Node IDs.
func (s *Snapshot) Units() []*Unit { return s.units }

// Unit with a Node ID; nil: there is none.
func (s *Snapshot) Unit(nodeID string) *Unit { return s.unitByID[fold(nodeID)] }

// Slice with an S-NSSAI; nil: there is none. An SD of ffffff is none.
func (s *Snapshot) Slice(sst uint8, sd *[3]byte) *Slice { return s.bySNSSAI[snssai(sst, sd)] }

// DataNetwork that a UE means by S-NSSAI and DNN, which may have an operator identifier behind it (TS 23.003 9A) and
// whose case is none (TS 23.003 9.1); "" is the slice's default. An error is ErrUnknownSlice or ErrUnknownDNN.
func (s *Snapshot) DataNetwork(sst uint8, sd *[3]byte, dnn string) (*DataNetwork, error) {
	slice := s.Slice(sst, sd)
	if slice == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknownSlice, snssai(sst, sd))
	}
	if dn := slice.find(dnn); dn != nil {
		return dn, nil
	}
	return nil, fmt.Errorf("%w: %.120q in slice %s", ErrUnknownDNN, dnn, slice.Name)
}

// Named is the data network of a Slice object; nil: it is not there (any more).
func (s *Snapshot) Named(slice, dnn string) *DataNetwork {
	found := s.byName[slice]
	if found == nil {
		return nil
	}
	return found.find(dnn)
}

// DefaultDNN of a slice; "" where there is no such slice.
func (s *Snapshot) DefaultDNN(sst uint8, sd *[3]byte) string {
	if slice := s.Slice(sst, sd); slice != nil {
		return slice.DataNetworks[0].DNN
	}
	return ""
}

// find prefers the whole name: an operator may have named a data network as if it had an operator identifier.
func (s *Slice) find(dnn string) *DataNetwork {
	if dnn == "" {
		return &s.DataNetworks[0]
	}
	for _, name := range []string{fold(dnn), NetworkIdentifier(dnn)} {
		for i := range s.DataNetworks {
			if fold(s.DataNetworks[i].DNN) == name {
				return &s.DataNetworks[i]
			}
		}
	}
	return nil
}

// NetworkIdentifier is a DNN in lower case without its operator identifier, .mnc<3 digits>.mcc<3 digits>.gprs
// (TS 23.003 9.1.2).
func NetworkIdentifier(dnn string) string {
	dnn = fold(dnn)
	rest, ok := strings.CutSuffix(dnn, ".gprs")
	if !ok {
		return dnn
	}
	for _, label := range []string{".mcc", ".mnc"} {
		const digits = 3
		at := len(rest) - len(label) - digits
		if at < 1 || rest[at:at+len(label)] != label || strings.Trim(rest[at+len(label):], "0123456789") != "" {
			return dnn
		}
		rest = rest[:at]
	}
	return rest
}

// fold is ASCII: a DNN has letters, digits and hyphens (TS 23.003 9.1).
func fold(name string) string { return strings.ToLower(name) }
