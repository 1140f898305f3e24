package n2

// AggregateBitRate is the UE Aggregate Maximum Bit Rate (TS 38.413 9.3.1.58), bit/s.
type AggregateBitRate struct{ Uplink, Downlink uint64 }

// MobilityRestrictions of a UE (TS 38.413 9.3.1.85).
type MobilityRestrictions struct {
	Serving    PLMN
	Equivalent []PLMN
	RATs       []RATRestriction
	Forbidden  []ForbiddenArea
	Service    []ServiceArea
	// LastEUTRAN is the PLMN that a UE returns to, nil where there is none.
	LastEUTRAN *PLMN
}

// RATRestriction is what a UE may not use in a PLMN.
type RATRestriction struct {
	PLMN PLMN
	// RATs is a bit string of eight: 0x80 E-UTRA, 0x40 NR.
	RATs uint8
}

// ForbiddenArea are tracking areas of a PLMN into which a UE may not go.
type ForbiddenArea struct {
	PLMN PLMN
	TACs []TAC
}

// ServiceArea is where a UE may have service, or may not.
type ServiceArea struct {
	PLMN                PLMN
	Allowed, NotAllowed []TAC
}

// InactiveAssistance is Core Network Assistance Information for RRC INACTIVE (TS 38.413 9.3.1.15).
type InactiveAssistance struct {
	// IdentityIndex is the 5G-S-TMSI modulo 1024.
	IdentityIndex uint16
	// DRX of this UE, DRXNotSaid where it has none.
	DRX PagingDRX
	// PeriodicTimer is T3512 as a GPRS timer 3 has it: three bits of unit, five of value (TS 38.413 9.3.3.24).
	PeriodicTimer uint8
	// MICO: the UE is in mobile initiated connection only mode.
	MICO bool
	// TAIs of the registration area, 1 to 16.
	TAIs     []TAI
	Expected *ExpectedBehaviour
}

// ExpectedBehaviour of a UE (TS 38.413 9.3.1.93).
type ExpectedBehaviour struct {
	Activity *ExpectedActivity
	// HandoverInterval is what is expected between handovers, 0 not said, 1 to 7: 15, 30, 60, 90, 120, 180 s, longer.
	HandoverInterval uint8
	// Mobility is 0 not said, 1 stationary, 2 mobile.
	Mobility   uint8
	Trajectory []VisitedCell
}

// ExpectedActivity of a UE (TS 38.413 9.3.1.94); periods in seconds, 1 to 30, 40, 50, 60, 80, 100, 120, 150, 180, 181 for longer; 0 not said.
type ExpectedActivity struct {
	Active, Idle uint16
	// Source is 0 not said, 1 subscription, 2 statistics.
	Source uint8
}

// VisitedCell is a cell, and how long a UE is there.
type VisitedCell struct {
	Cell Cell
	// Stay in seconds, 0 to 4095, nil where it is not said.
	Stay *uint16
}

// mostBitRate is the highest bit rate, 4 Tbit/s.
const mostBitRate = 4_000_000_000_000

func codeBitRate(c *coder, v *uint64) {
	strange := c.strange
	// A higher rate, of a later release, is a rate still.
	set(c, v, c.integerExt(*v, 0, mostBitRate))
	c.strange = strange
}

func codeAMBR(c *coder, v *AggregateBitRate) {
	s := c.sequence()
	codeBitRate(c, &v.Downlink)
	codeBitRate(c, &v.Uplink)
	c.finish(s)
}

// Most equivalent PLMNs (maxnoofEPLMNs), and with the serving one; tracking areas that are forbidden, allowed or not.
const mostEquivalent, mostRestricted, mostForbidden, mostAllowedTACs = 15, 16, 4096, 16

func codeMobilityRestrictions(c *coder, v *MobilityRestrictions) {
	s := c.sequenceExt(v.LastEUTRAN != nil, len(v.Equivalent) > 0, len(v.RATs) > 0, len(v.Forbidden) > 0, len(v.Service) > 0)
	codePLMN(c, &v.Serving)
	if s.has(0) {
		list(c, &v.Equivalent, 1, mostEquivalent, codePLMN)
	}
	if s.has(1) {
		list(c, &v.RATs, 1, mostRestricted, codeRATRestriction)
	}
	if s.has(2) {
		list(c, &v.Forbidden, 1, mostRestricted, codeForbiddenArea)
	}
	if s.has(3) {
		list(c, &v.Service, 1, mostRestricted, codeServiceArea)
	}
	c.finish(s, extension{ieLastEUTRANPLMN, Ignore, v.LastEUTRAN != nil, func() { pointerTo(c, &v.LastEUTRAN, codePLMN) }})
}

func codeRATRestriction(c *coder, v *RATRestriction) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	set(c, &v.RATs, uint8(c.bitStringExt(uint64(v.RATs), 8)))
	c.finish(s)
}

func codeForbiddenArea(c *coder, v *ForbiddenArea) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	list(c, &v.TACs, 1, mostForbidden, codeTAC)
	c.finish(s)
}

func codeServiceArea(c *coder, v *ServiceArea) {
	s := c.sequence(len(v.Allowed) > 0, len(v.NotAllowed) > 0)
	codePLMN(c, &v.PLMN)
	if s.has(0) {
		list(c, &v.Allowed, 1, mostAllowedTACs, codeTAC)
	}
	if s.has(1) {
		list(c, &v.NotAllowed, 1, mostAllowedTACs, codeTAC)
	}
	c.finish(s)
}

const (
	indexAlternatives = 2
	bitsIndex         = 10
	mostTAIs          = 16
)

func codeInactiveAssistance(c *coder, v *InactiveAssistance) {
	s := c.sequence(v.DRX != DRXNotSaid, v.MICO, v.Expected != nil)
	if c.choice(0, indexAlternatives) == 0 {
		set(c, &v.IdentityIndex, uint16(c.bitString(uint64(v.IdentityIndex), bitsIndex)))
	}
	if s.has(0) {
		codePagingDRX(c, &v.DRX)
	}
	set(c, &v.PeriodicTimer, uint8(c.bitString(uint64(v.PeriodicTimer), 8)))
	if s.has(1) {
		flag(c, &v.MICO)
	}
	list(c, &v.TAIs, 1, mostTAIs, codeWrappedTAI)
	if s.has(2) {
		pointerTo(c, &v.Expected, codeExpectedBehaviour)
	}
	c.finish(s)
}

func codeExpectedBehaviour(c *coder, v *ExpectedBehaviour) {
	s := c.sequence(v.Activity != nil, v.HandoverInterval != 0, v.Mobility != 0, len(v.Trajectory) > 0)
	if s.has(0) {
		pointerTo(c, &v.Activity, codeExpectedActivity)
	}
	if s.has(1) {
		enumerated(c, &v.HandoverInterval, 1, 7, 7)
	}
	if s.has(2) {
		enumerated(c, &v.Mobility, 1, 2, 2)
	}
	if s.has(3) {
		codeVisitedCells(c, &v.Trajectory)
	}
	c.finish(s)
}

// longestPeriod stands for all that are longer.
const longestPeriod = 181

func codeExpectedActivity(c *coder, v *ExpectedActivity) {
	s := c.sequence(v.Active != 0, v.Idle != 0, v.Source != 0)
	for n, period := range []*uint16{&v.Active, &v.Idle} {
		if s.has(uint(n)) {
			codePeriod(c, period)
		}
	}
	if s.has(2) {
		enumerated(c, &v.Source, 1, 2, 2)
	}
	c.finish(s)
}

// codePeriod is 1 to 30, 40, 50, 60, 80, 100, 120, 150, 180 or 181; in PER that is 1 to 181 (X.691 10.3).
func codePeriod(c *coder, v *uint16) {
	set(c, v, uint16(min(c.integerExt(uint64(*v), 1, longestPeriod), 0xffff)))
}

const mostCells, mostStay = 16, 4095

func codeVisitedCells(c *coder, v *[]VisitedCell) { list(c, v, 1, mostCells, codeVisitedCell) }

func codeVisitedCell(c *coder, v *VisitedCell) {
	s := c.sequence(v.Stay != nil)
	codeCell(c, &v.Cell)
	if s.has(0) {
		pointerTo(c, &v.Stay, func(c *coder, v *uint16) { number(c, v, 0, mostStay) })
	}
	c.finish(s)
}

func codeMaskedIMEISV(c *coder, v *uint64) { set(c, v, c.bitString(*v, 64)) }

func codeRFSP(c *coder, v *uint16) { set(c, v, uint16(min(c.integerExt(uint64(*v), 1, 256), 0xffff))) }

func codeRANPagingPriority(c *coder, v *uint16) { number(c, v, 1, 256) }
