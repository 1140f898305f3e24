package n2

import (
	"fmt"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// RadioNetworkCause builds a cause of the radio network group.
func RadioNetworkCause(v aper.Enumerated) *ngapType.Cause {
	return &ngapType.Cause{Present: ngapType.CausePresentRadioNetwork, RadioNetwork: &ngapType.CauseRadioNetwork{Value: v}}
}

var radioNetworkCauses = map[aper.Enumerated]string{
	0: "unspecified", 3: "release due to NG-RAN generated reason", 4: "release due to 5GC generated reason",
	14: "unknown local UE NGAP ID", 15: "inconsistent remote UE NGAP ID", 20: "user inactivity",
	2: "successful handover", 5: "handover cancelled", 7: "handover failure in target 5GC/NG-RAN node or target system",
	8: "handover target not allowed", 12: "unknown target ID", 13: "no radio resources available in target cell",
	16: "handover desirable for radio reasons", 21: "radio connection with UE lost", 22: "radio resources not available",
	23: "invalid QoS combination", 27: "unknown QoS flow ID", 26: "unknown PDU session ID", 39: "slice not supported",
	42: "resources not available for the slice",
}

var nasCauses = []string{"normal release", "authentication failure", "deregister", "unspecified"}

var miscCauses = []string{
	"control processing overload", "not enough user plane processing resources", "hardware failure",
	"O&M intervention", "unknown PLMN", "unspecified",
}

func name(names []string, v aper.Enumerated) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprint(v)
}

// CauseText names a cause (TS 38.413 9.3.1.2).
func CauseText(c *ngapType.Cause) string {
	switch {
	case c == nil:
		return "no cause"
	case c.RadioNetwork != nil:
		if s, ok := radioNetworkCauses[c.RadioNetwork.Value]; ok {
			return "radio network: " + s
		}
		return fmt.Sprintf("radio network: %d", c.RadioNetwork.Value)
	case c.Nas != nil:
		return "NAS: " + name(nasCauses, c.Nas.Value)
	case c.Misc != nil:
		return "misc: " + name(miscCauses, c.Misc.Value)
	case c.Transport != nil:
		return fmt.Sprintf("transport: %d", c.Transport.Value)
	case c.Protocol != nil:
		return fmt.Sprintf("protocol: %d", c.Protocol.Value)
	}
	return "unknown cause"
}
