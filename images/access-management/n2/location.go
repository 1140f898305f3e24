package n2

import "time"

// LocationKind tells what a UserLocation is made of.
type LocationKind uint8

// The kinds (TS 38.413 9.3.1.16).
const (
	LocationNR LocationKind = iota + 1
	LocationEUTRA
	LocationN3IWF
)

// UserLocation is User Location Information (TS 38.413 9.3.1.16).
type UserLocation struct {
	Kind LocationKind
	// Cell and TAI of NR and E-UTRA.
	Cell Cell
	TAI  TAI
	// Time at which it was found, zero where it is not said; to the second.
	Time time.Time
	// PSCell is the cell of the second radio, where there is one.
	PSCell *Cell
	// Address and Port of a UE behind an N3IWF; Port 0 is none.
	Address Address
	Port    uint16
}

// LocationEvent is what a Location Reporting Control asks to be reported (TS 38.413 9.3.1.65).
type LocationEvent uint8

// The events.
const (
	LocationDirect LocationEvent = iota
	LocationCellChange
	LocationPresence
	LocationStopCellChange
	LocationStopPresence
	LocationCancel
)

// LocationRequest is a Location Reporting Request Type (TS 38.413 9.3.1.65). What is reported is a cell.
type LocationRequest struct {
	Event LocationEvent
	Areas []AreaOfInterest
	// Cancel is the reference, 1 to 64, of the one area that is given up; 0: none.
	Cancel uint8
}

// AreaOfInterest of a location request (TS 38.413 9.3.1.66).
type AreaOfInterest struct {
	// Reference is 1 to 64.
	Reference uint8
	TAIs      []TAI
	Cells     []Cell
	Nodes     []RANNode
}

// Presence in an area of interest (TS 38.413 9.3.1.67).
type Presence uint8

// The values.
const (
	PresenceIn Presence = iota
	PresenceOut
	PresenceUnknown
)

// AreaPresence is whether a UE is in an area of interest.
type AreaPresence struct {
	Reference uint8
	Presence  Presence
}

// LocationReportingControl, AMF to NG-RAN (TS 38.413 9.2.11.1).
type LocationReportingControl struct {
	UE      UEIDs
	Request LocationRequest
}

// LocationReportingFailureIndication, NG-RAN to AMF (TS 38.413 9.2.11.2).
type LocationReportingFailureIndication struct {
	UE    UEIDs
	Cause Cause
}

// LocationReport, NG-RAN to AMF (TS 38.413 9.2.11.3).
type LocationReport struct {
	UE       UEIDs
	Location UserLocation
	Presence []AreaPresence
	Request  LocationRequest
}
