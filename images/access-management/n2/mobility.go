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
