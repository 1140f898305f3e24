package procedure

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/record"
)

// Settings are what the network's configuration says to an AMF. Nobody writes to them.
type Settings struct {
	// Name of the AMF, for gNBs (TS 38.413 9.3.3.21).
	Name string
	// Region, Set and Pointer of the GUAMI (TS 23.003 2.10.1), the same in all PLMNs.
	Region  uint8
	Set     uint16
	Pointer uint8
	// Capacity relative to other AMFs, 0 to 255 (TS 38.413 9.3.1.32).
	Capacity uint8
	// PLMNs that are served, at least one, with their tracking areas and slices.
	PLMNs []PLMN
	// Integrity and Ciphering are NIA and NEA that may be used, the preferred one first.
	Integrity, Ciphering []uint8
	// Periodic is T3512; 0: UEs do not report by themselves.
	Periodic time.Duration
	// FullName and ShortName of the network, and Zone, its time zone east of UTC, as UEs are told them; "": nothing is told.
	FullName, ShortName string
	Zone                time.Duration
	// Voice: IMS voice over PS session is supported (TS 24.501 9.11.3.5).
	Voice bool
	// Emergency services; nil: there are none.
	Emergency *Emergency
	// Backoff is T3346, what UEs are told to wait in a storm.
	Backoff time.Duration
	// Removed: the AMF is going for good. What it has it serves as long as it is there; gNBs and other functions choose another one.
	Removed bool
	// Terminators that gNBs are told of (TS 38.413 8.7.3), those that are going not among them; none where gNBs cannot reach each by an address of its own.
	Terminators []Terminator
}

// Terminator of N2 as gNBs reach it, at the port of NGAP.
type Terminator struct {
	// Pod is what it is called.
	Pod string
	// Addresses of it, at least one.
	Addresses []netip.Addr
}

// PLMN that is served.
type PLMN struct {
	// PLMN in five or six digits.
	PLMN string
	// TACs that are served; none: all that gNBs have.
	TACs []uint32
	// Slices are the catalogue: what gNBs are told, and what UEs can be allowed.
	Slices []record.Slice
}

// plmn that is served; nil: it is not.
func (s *Settings) plmn(name string) *PLMN {
	for n := range s.PLMNs {
		if s.PLMNs[n].PLMN == name {
			return &s.PLMNs[n]
		}
	}
	return nil
}

func (p *PLMN) serves(tac uint32) bool {
	return p != nil && (len(p.TACs) == 0 || slices.Contains(p.TACs, tac))
}

// catalogue as a digest, never 0: a UE whose slices were chosen of another is looked at anew.
func (p *PLMN) catalogue() uint32 {
	h := fnv.New32a()
	for _, s := range p.Slices {
		h.Write([]byte{s.SST})
		if s.SD != nil {
			h.Write(s.SD[:])
		}
		h.Write([]byte{0xff, 0})
	}
	return h.Sum32() | 1
}

// names as a digest, 0 where there are none to tell: a UE that was told others is told again.
func (s *Settings) names() uint32 {
	if s.FullName == "" && s.ShortName == "" {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(s.FullName + "\x00" + s.ShortName + "\x00" + s.Zone.String()))
	return h.Sum32() | 1
}
