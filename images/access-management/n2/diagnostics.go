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
