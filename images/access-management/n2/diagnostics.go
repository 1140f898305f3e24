package n2

// Criticality of an IE or a procedure, as its sender says it (TS 38.413 10.3.2).
type Criticality uint8

// The criticalities.
const (
	Reject Criticality = iota
	Ignore
	// Notify is to ignore and to notify the sender.
	Notify
)

// CriticalityDiagnostics of TS 38.413 9.3.1.3.
type CriticalityDiagnostics struct {
	Procedure *Procedure
	// Triggering is which of the procedure's messages it was.
	Triggering  *Outcome
	Criticality *Criticality
	// IEs are at most 256.
	IEs []IEDiagnostics
}

// TypeOfError of an IE.
type TypeOfError uint8

// The types.
const (
	NotUnderstood TypeOfError = iota
	Missing
)

// IEDiagnostics is what was wrong with one IE.
type IEDiagnostics struct {
	Criticality Criticality
	ID          IE
	Error       TypeOfError
}

// mostDiagnostics is maxnoofErrors.
const mostDiagnostics = 256

func codeDiagnostics(c *coder, v *CriticalityDiagnostics) {
	s := c.sequence(v.Procedure != nil, v.Triggering != nil, v.Criticality != nil, len(v.IEs) > 0)
	if s.has(0) {
		pointerTo(c, &v.Procedure, func(c *coder, v *Procedure) { number(c, v, 0, 255) })
	}
	if s.has(1) {
		pointerTo(c, &v.Triggering, func(c *coder, v *Outcome) { number(c, v, uint64(Initiating), uint64(Unsuccessful)) })
	}
	if s.has(2) {
		pointerTo(c, &v.Criticality, func(c *coder, v *Criticality) { set(c, v, c.criticality(*v)) })
	}
	if s.has(3) {
		list(c, &v.IEs, 1, mostDiagnostics, codeIEDiagnostics)
	}
	c.finish(s)
}

func codeIEDiagnostics(c *coder, v *IEDiagnostics) {
	s := c.sequence()
	set(c, &v.Criticality, c.criticality(v.Criticality))
	number(c, &v.ID, 0, 65535)
	enumerated(c, &v.Error, NotUnderstood, 2, 2)
	c.finish(s)
}
