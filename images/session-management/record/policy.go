package record

// Rule is a flow that the Slice does not have: a PCC rule of the PCF (TS 29.512 5.6.2.6), with what it refers to, or what a UE has asked
// for with filters of its own.
type Rule struct {
	// Name is the PCC rule's identifier.
	Name   string `cbor:"0,keyasint"`
	FiveQI uint8  `cbor:"1,keyasint,omitempty"`
	// ARP, and rates in bit/s.
	Priority     uint8  `cbor:"2,keyasint,omitempty"`
	MayPreempt   bool   `cbor:"3,keyasint,omitempty"`
	Preemptable  bool   `cbor:"4,keyasint,omitempty"`
	GFBRUplink   uint64 `cbor:"5,keyasint,omitempty"`
	GFBRDownlink uint64 `cbor:"6,keyasint,omitempty"`
	MFBRUplink   uint64 `cbor:"7,keyasint,omitempty"`
	MFBRDownlink uint64 `cbor:"8,keyasint,omitempty"`
	// Precedence is 1 to 254, no two of a session alike.
	Precedence uint8 `cbor:"9,keyasint"`
	// Filters as octets: n1.DecodeFilters.
	Filters []byte `cbor:"10,keyasint,omitempty"`
	// Default, Closed and Charge as of a Flow.
	Default bool   `cbor:"11,keyasint,omitempty"`
	Closed  uint8  `cbor:"12,keyasint,omitempty"`
	Charge  Charge `cbor:"13,keyasint,omitzero"`
	// Own: the UE has asked for it, and there is no PCF that would know of it.
	Own bool `cbor:"14,keyasint,omitempty"`
}

// Control is the SMF's part of a policy association (TS 29.512).
type Control struct {
	// Triggers are what the PCF wants to hear of, Due what has happened of that and it has not heard. The bits are of package procedure.
	Triggers uint32 `cbor:"0,keyasint,omitempty"`
	Due      uint32 `cbor:"1,keyasint,omitempty"`
	// Revalidate is when it is asked again, Unix time in s; 0: never.
	Revalidate int64 `cbor:"2,keyasint,omitempty"`
	// Anew: the PCF does not know the association (any more). What it decided holds meanwhile.
	Anew bool `cbor:"3,keyasint,omitempty"`
	// Failed are rules that it has decided and that are not in force.
	Failed []Failure `cbor:"4,keyasint,omitempty"`
	// Rests: it did not answer, and is left alone until the time that is set.
	Rests bool `cbor:"5,keyasint,omitempty"`
	// Unread: it may have decided what nobody has heard, and is asked what holds.
	Unread bool `cbor:"6,keyasint,omitempty"`
}

// Failure is a rule that is not in force, with a code of TS 29.512 5.6.3.9, such as RES_ALLO_FAIL. Session: it is a session rule.
type Failure struct {
	Rule    string `cbor:"0,keyasint"`
	Code    string `cbor:"1,keyasint"`
	Session bool   `cbor:"2,keyasint,omitempty"`
}
