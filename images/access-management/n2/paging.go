package n2

// PagingDRX is a DRX cycle (TS 38.413 9.3.1.90).
type PagingDRX uint8

// The cycles in radio frames.
const (
	DRXNotSaid PagingDRX = iota
	DRX32
	DRX64
	DRX128
	DRX256
)

// PagingPriority is 1, the highest, to 8 (TS 38.413 9.3.1.78); 0 is not said.
type PagingPriority uint8

// Paging, AMF to NG-RAN (TS 38.413 9.2.4.1).
type Paging struct {
	Identity FiveGSTMSI
	DRX      PagingDRX
	// TAIs are 1 to 16.
	TAIs     []TAI
	Priority PagingPriority
	Radio    *PagingCapability
	// NonThreeGPP: it comes from the other access (Paging Origin).
	NonThreeGPP bool
	Assistance  *PagingAssistance
}

// PagingCapability is the UE Radio Capability for Paging (TS 38.413 9.3.1.68): containers of RRC, nil where there is none.
type PagingCapability struct{ NR, EUTRA []byte }

// PagingAssistance is Assistance Data for Paging (TS 38.413 9.3.1.69).
type PagingAssistance struct {
	// Cells that are recommended, 0 to 16.
	Cells    []VisitedCell
	Attempts *PagingAttempts
}

// PagingAttempts is Paging Attempt Information (TS 38.413 9.3.1.72).
type PagingAttempts struct {
	// Count of this attempt and how many are Intended, 1 to 16.
	Count, Intended uint8
	// NextScope is 0 not said, 1 the next paging goes to the same area, 2 to another.
	NextScope uint8
}

// RecommendedPaging is Information on Recommended Cells and RAN Nodes for Paging (TS 38.413 9.3.1.100), for the next time.
type RecommendedPaging struct {
	Cells []VisitedCell
	Nodes []PagingTarget
}

// PagingTarget is an NG-RAN node, or a tracking area where Node.Kind is 0.
type PagingTarget struct {
	Node RANNode
	TAI  TAI
}
