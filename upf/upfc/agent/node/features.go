package node

import "github.com/wmnsk/go-pfcp/ie"

// feature is one bit of UP Function Features (TS 29.244 8.2.25).
type feature struct {
	name  string
	octet int // of the IE, from 5
	bit   int // from 1
	has   bool
}

// featureTable is what is advertised: exactly what works. A feature that is not here is not had, and
// a request that needs it is refused.
func (n *Node) featureTable() []feature {
	return []feature{
		{"DDND", 5, 2, true},            // Downlink Data Notification Delay of a BAR
		{"DLBD", 5, 3, true},            // DL Buffering Duration
		{"FTUP", 5, 5, true},            // F-TEIDs are chosen here
		{"PFDM", 5, 6, true},            // PFD management
		{"TREU", 5, 8, true},            // HTTP is redirected
		{"EMPU", 6, 1, true},            // End Markers are sent
		{"PDIU", 6, 2, true},            // Traffic Endpoints
		{"UDBC", 6, 3, true},            // Suggested Buffering Packets Count of a BAR
		{"QUOAC", 6, 4, true},           // FAR ID for Quota Action
		{"PFDE", 6, 7, true},            // several flow descriptions in one PFD Contents
		{"FRRT", 6, 6, true},            // framed routes
		{"ADPDP", 7, 2, n.o.Predefined}, // predefined rules are activated by name
		{"UEIP", 7, 3, n.o.ChoosesUEs},  // UE IP addresses are chosen here
		{"MNOP", 7, 5, true},            // packets are counted
		{"MTE", 7, 6, true},             // several Traffic Endpoints in one PDI
		{"VTIME", 8, 3, true},           // Quota Validity Time
		{"NORP", 8, 4, true},            // Number of Reports
		{"RESPS", 10, 6, true},          // sessions are restored as they were
	}
}

func (n *Node) features() *ie.IE {
	octets := make([]byte, 6)
	for _, f := range n.featureTable() {
		if f.has {
			octets[f.octet-5] |= 1 << (f.bit - 1)
		}
	}
	return ie.New(ie.UPFunctionFeatures, octets)
}
