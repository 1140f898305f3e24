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

func codePagingDRX(c *coder, v *PagingDRX) { enumerated(c, v, DRX32, 4, 4) }

const pagingIdentityAlternatives = 2

func codePagingIdentity(c *coder, v *FiveGSTMSI) {
	if c.choice(0, pagingIdentityAlternatives) == 0 {
		codeFiveGSTMSI(c, v)
	}
}

func codePagingTAIs(c *coder, v *[]TAI) { list(c, v, 1, mostTAIs, codeWrappedTAI) }

func codePagingCapability(c *coder, v *PagingCapability) {
	s := c.sequence(v.NR != nil, v.EUTRA != nil)
	if s.has(0) {
		octetString(c, &v.NR)
	}
	if s.has(1) {
		octetString(c, &v.EUTRA)
	}
	c.finish(s)
}

func codePagingAssistance(c *coder, v *PagingAssistance) {
	s := c.sequence(len(v.Cells) > 0, v.Attempts != nil)
	if s.has(0) {
		cells := c.sequence()
		codeRecommendedCells(c, &v.Cells)
		c.finish(cells)
	}
	if s.has(1) {
		pointerTo(c, &v.Attempts, codePagingAttempts)
	}
	c.finish(s)
}

func codeRecommendedCells(c *coder, v *[]VisitedCell) { wrapped(c, v, codeVisitedCells) }

func codePagingAttempts(c *coder, v *PagingAttempts) {
	s := c.sequence(v.NextScope != 0)
	for _, count := range []*uint8{&v.Count, &v.Intended} {
		set(c, count, uint8(min(c.integerExt(uint64(*count), 1, 16), 255)))
	}
	if s.has(0) {
		enumerated(c, &v.NextScope, 1, 2, 2)
	}
	c.finish(s)
}

func codeRecommendedPaging(c *coder, v *RecommendedPaging) {
	s := c.sequence()
	codeRecommendedCells(c, &v.Cells)
	wrapped(c, &v.Nodes, func(c *coder, v *[]PagingTarget) { list(c, v, 1, mostCells, codePagingTarget) })
	c.finish(s)
}

const targetNode, targetTAI, targetAlternatives = 0, 1, 3

func codePagingTarget(c *coder, v *PagingTarget) {
	s := c.sequence()
	index := targetTAI
	if v.Node.Kind != 0 {
		index = targetNode
	}
	switch c.choice(index, targetAlternatives) {
	case targetNode:
		codeRANNode(c, &v.Node)
	case targetTAI:
		codeTAI(c, &v.TAI)
	}
	c.finish(s)
}

func (m *Paging) ies(x *exchange) {
	mandatory(x, ieUEPagingIdentity, Ignore, &m.Identity, codePagingIdentity)
	optionalValue(x, iePagingDRX, Ignore, &m.DRX, codePagingDRX)
	mandatory(x, ieTAIListForPaging, Ignore, &m.TAIs, codePagingTAIs)
	optionalValue(x, iePagingPriority, Ignore, &m.Priority, func(c *coder, v *PagingPriority) { enumerated(c, v, 1, 8, 8) })
	optional(x, ieUERadioCapabilityForPaging, Ignore, &m.Radio, codePagingCapability)
	optionalValue(x, iePagingOrigin, Ignore, &m.NonThreeGPP, flag)
	optional(x, ieAssistanceDataForPaging, Ignore, &m.Assistance, codePagingAssistance)
}
