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
	// Cancel is the reference, 1 to 64, of the one area that is given up, of LocationStopPresence; 0: none.
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

// The alternatives of User Location Information in the order of TS 38.413 9.4.5; the last is choice-Extensions.
const locationEUTRA, locationNR, locationN3IWF, locationAlternatives = 0, 1, 2, 4

func (v *UserLocation) alternative() int {
	switch v.Kind {
	case LocationEUTRA:
		return locationEUTRA
	case LocationNR:
		return locationNR
	case LocationN3IWF:
		return locationN3IWF
	}
	return locationAlternatives - 1
}

func codeUserLocation(c *coder, v *UserLocation) {
	switch c.choice(v.alternative(), locationAlternatives) {
	case locationEUTRA:
		set(c, &v.Kind, LocationEUTRA)
		codeCellLocation(c, v, EUTRA)
	case locationNR:
		set(c, &v.Kind, LocationNR)
		codeCellLocation(c, v, NR)
	case locationN3IWF:
		set(c, &v.Kind, LocationN3IWF)
		s := c.sequence()
		codeAddress(c, &v.Address)
		set(c, &v.Port, uint16(c.bits(uint64(v.Port), 16)))
		c.finish(s)
	}
}

func codeCellLocation(c *coder, v *UserLocation, radio Radio) {
	s := c.sequenceExt(v.PSCell != nil, !v.Time.IsZero())
	codeCellOf(c, &v.Cell, radio)
	codeTAI(c, &v.TAI)
	if s.has(0) {
		codeTime(c, &v.Time)
	}
	c.finish(s, extension{iePSCell, Ignore, v.PSCell != nil, func() { pointerTo(c, &v.PSCell, codeCell) }})
}

// toUnix are the seconds from 1900, which a time stamp counts from (IETF RFC 5905), to 1970. A number without the highest
// bit is of the era that begins in 2036 (TS 38.413 9.3.1.75).
const toUnix = 2208988800

func codeTime(c *coder, v *time.Time) {
	c.align()
	seconds := uint32(c.bits(uint64(uint32(v.Unix()+toUnix)), 32))
	if c.writing {
		return
	}
	at := int64(seconds) - toUnix
	if seconds < 1<<31 {
		at += 1 << 32
	}
	*v = time.Unix(at, 0).UTC()
}

// Most areas (maxnoofAoI), tracking areas, cells and nodes in one.
const mostAreas, mostAreaTAIs, mostAreaCells, mostAreaNodes = 64, 16, 256, 64

func codeReference(c *coder, v *uint8) {
	set(c, v, uint8(min(c.integerExt(uint64(*v), 1, mostAreas), 255)))
}

func codeLocationRequest(c *coder, v *LocationRequest) {
	s := c.sequence(len(v.Areas) > 0, v.Cancel != 0)
	enumerated(c, &v.Event, LocationDirect, 6, 6)
	var cell bool
	flag(c, &cell)
	if s.has(0) {
		list(c, &v.Areas, 1, mostAreas, codeArea)
	}
	if s.has(1) {
		codeReference(c, &v.Cancel)
	}
	c.finish(s)
	switch {
	case v.Cancel == 0 || v.Event == LocationStopPresence:
	case c.writing:
		c.fail("area %d is given up, and the event is another", v.Cancel)
	default:
		c.untimely = true
	}
}

func codeArea(c *coder, v *AreaOfInterest) {
	item := c.sequence()
	s := c.sequence(len(v.TAIs) > 0, len(v.Cells) > 0, len(v.Nodes) > 0)
	if s.has(0) {
		list(c, &v.TAIs, 1, mostAreaTAIs, codeWrappedTAI)
	}
	if s.has(1) {
		list(c, &v.Cells, 1, mostAreaCells, func(c *coder, v *Cell) { wrapped(c, v, codeCell) })
	}
	if s.has(2) {
		list(c, &v.Nodes, 1, mostAreaNodes, func(c *coder, v *RANNode) { wrapped(c, v, codeRANNode) })
	}
	c.finish(s)
	codeReference(c, &v.Reference)
	c.finish(item)
}

func codeWrappedTAI(c *coder, v *TAI) { wrapped(c, v, codeTAI) }

func codePresences(c *coder, v *[]AreaPresence) {
	list(c, v, 1, mostAreas, func(c *coder, v *AreaPresence) {
		s := c.sequence()
		codeReference(c, &v.Reference)
		enumerated(c, &v.Presence, PresenceIn, 3, 3)
		c.finish(s)
	})
}

func (m *LocationReportingControl) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieLocationReportingRequestType, Ignore, &m.Request, codeLocationRequest)
}

func (m *LocationReportingFailureIndication) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	x.cause(&m.Cause)
}

func (m *LocationReport) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
	optionalList(x, ieUEPresenceInAreas, Ignore, &m.Presence, codePresences)
	mandatory(x, ieLocationReportingRequestType, Ignore, &m.Request, codeLocationRequest)
}
