package ts29571

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// BitRate is in bit/s. In JSON it is a number, a space and a unit (BitRate, 5.5.2): 1.5 Gbps.
type BitRate uint64

var units = []struct {
	name string
	rate float64
}{{"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"Kbps", 1e3}, {"bps", 1}}

// ParseBitRate reads a BitRate.
func ParseBitRate(text string) (BitRate, error) {
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	if err == nil && n >= 0 && strings.Trim(number, "0123456789.") == "" {
		for _, u := range units {
			if u.name == unit && n*u.rate < math.MaxInt64 {
				return BitRate(math.Round(n * u.rate)), nil
			}
		}
	}
	return 0, fmt.Errorf("%.32q is no bit rate: write a number, a space, and bps, Kbps, Mbps, Gbps or Tbps", text)
}

// UnmarshalJSON reads a BitRate.
func (b *BitRate) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return errors.New(`a bit rate is a string: write "100 Mbps"`)
	}
	var err error
	*b, err = ParseBitRate(text)
	return err
}

// String writes the rate exactly, with the largest unit that leaves a whole number.
func (b BitRate) String() string {
	for _, u := range units {
		if n := uint64(u.rate); uint64(b)%n == 0 && (b != 0 || n == 1) {
			return fmt.Sprintf("%d %s", uint64(b)/n, u.name)
		}
	}
	return "0 bps"
}

// MarshalJSON writes a BitRate.
func (b BitRate) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// AMBR is an aggregate maximum bit rate (5.5.4.2).
type AMBR struct {
	Uplink   BitRate `json:"uplink"`
	Downlink BitRate `json:"downlink"`
}

// ARP is an allocation and retention priority (5.5.4.1). Priority is 1 to 15, 1 the highest.
type ARP struct {
	Priority    uint8
	MayPreempt  bool
	Preemptable bool
}

type arpJSON struct {
	PriorityLevel *int64 `json:"priorityLevel"`
	PreemptCap    string `json:"preemptCap"`
	PreemptVuln   string `json:"preemptVuln"`
}

// UnmarshalJSON reads an Arp and refuses what is none.
func (a *ARP) UnmarshalJSON(raw []byte) error {
	var in arpJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return errors.New(`an ARP is an object: write {"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "PREEMPTABLE"}`)
	}
	if in.PriorityLevel == nil || *in.PriorityLevel < 1 || *in.PriorityLevel > 15 {
		return errors.New("an ARP has a priorityLevel: write a number from 1 to 15")
	}
	*a = ARP{Priority: uint8(*in.PriorityLevel), MayPreempt: in.PreemptCap == "MAY_PREEMPT", Preemptable: in.PreemptVuln == "PREEMPTABLE"}
	return nil
}

// MarshalJSON writes an Arp.
func (a ARP) MarshalJSON() ([]byte, error) {
	priority := int64(a.Priority)
	out := arpJSON{PriorityLevel: &priority, PreemptCap: "NOT_PREEMPT", PreemptVuln: "NOT_PREEMPTABLE"}
	if a.MayPreempt {
		out.PreemptCap = "MAY_PREEMPT"
	}
	if a.Preemptable {
		out.PreemptVuln = "PREEMPTABLE"
	}
	return json.Marshal(out)
}
