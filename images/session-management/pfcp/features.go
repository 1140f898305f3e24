package pfcp

import (
	"fmt"
	"strings"

	wire "core5g.dev/core5g/upf/upfc/pfcp"
)

// Features are those of a UP function (TS 29.244 8.2.25): octet 5 of the IE is the lowest.
type Features [8]byte

// Feature is one of them: the number of its bit, from 0 for bit 1 of octet 5.
type Feature uint8

// Features by the names of TS 29.244 table 8.2.25-1, as far as an SMF makes a difference between units with them and
// without.
const (
	BUCP  Feature = 0  // downlink data is buffered in the CP function
	DDND  Feature = 1  // Downlink Data Notification Delay of a BAR
	DLBD  Feature = 2  // DL Buffering Duration
	FTUP  Feature = 4  // F-TEIDs are chosen by the UP function
	EMPU  Feature = 8  // End Markers are sent by the UP function
	PDIU  Feature = 9  // Traffic Endpoints
	UDBC  Feature = 10 // Suggested Buffering Packets Count
	QUOAC Feature = 11 // what is done when a quota is used up
	FRRT  Feature = 13 // framed routes
	UEIP  Feature = 18 // UE IP addresses are chosen by the UP function
	SSET  Feature = 19 // sessions of an SMF set
	MNOP  Feature = 20 // packets are counted
	MTE   Feature = 21 // several Traffic Endpoints in one PDI
	VTIME Feature = 26 // Quota Validity Time
	NORP  Feature = 27 // Number of Reports
	RESPS Feature = 45 // sessions are restored with their F-TEIDs and addresses (RESTI)
)

var featureNames = map[Feature]string{
	BUCP: "BUCP", DDND: "DDND", DLBD: "DLBD", FTUP: "FTUP", EMPU: "EMPU", PDIU: "PDIU", UDBC: "UDBC", QUOAC: "QUOAC",
	FRRT: "FRRT", UEIP: "UEIP", SSET: "SSET", MNOP: "MNOP", MTE: "MTE", VTIME: "VTIME", NORP: "NORP", RESPS: "RESPS",
}

func (f Feature) String() string {
	if n, ok := featureNames[f]; ok {
		return n
	}
	return fmt.Sprintf("octet %d bit %d", 5+f/8, 1+f%8)
}

// Has says whether a feature is there.
func (s Features) Has(f Feature) bool { return int(f) < 8*len(s) && s[f/8]&(1<<(f%8)) != 0 }

// With adds features.
func (s Features) With(list ...Feature) Features {
	for _, f := range list {
		s[f/8] |= 1 << (f % 8)
	}
	return s
}

func (s Features) lacks(required []Feature) []Feature {
	var out []Feature
	for _, f := range required {
		if !s.Has(f) {
			out = append(out, f)
		}
	}
	return out
}

// featuresOf reads a UP Function Features IE; nil, which is no IE, are no features. What later releases add behind is
// passed over.
func featuresOf(e *wire.Element) Features {
	var s Features
	if e != nil {
		copy(s[:], e.Value)
	}
	return s
}

// UnfitError: the UP function lacks features that this SMF cannot be without.
type UnfitError struct {
	Unit  string
	Lacks []Feature
}

func (e *UnfitError) Error() string {
	names := make([]string, len(e.Lacks))
	for i, f := range e.Lacks {
		names[i] = f.String()
	}
	out := fmt.Sprintf("the UP function %s lacks %s", e.Unit, strings.Join(names, ", "))
	for _, f := range e.Lacks {
		switch f {
		case FTUP:
			out += "; it has to choose F-TEIDs itself: switch on its allocation of F-TEIDs"
		case UEIP:
			out += "; it has to choose the UEs' addresses itself: give it pools of them by network instance (upf-c: uePools)"
		}
	}
	return out
}
