package signalling

import "time"

// The protocols of entries. A note is no message: a procedure has ended, a time has come.
const (
	NAS  = "NAS"
	NGAP = "NGAP"
	SBI  = "SBI"
	PFCP = "PFCP"
	Note = "note"
)

// Who says something, and to whom.
const (
	UE   = "UE"
	GNB  = "gNB"
	AMF  = "AMF"
	AUSF = "AUSF"
	UDM  = "UDM"
	PCF  = "PCF"
	CHF  = "CHF"
	SMF  = "SMF"
	UPF  = "UPF"
)

// Entry is a message, as the function saw it that kept it.
type Entry struct {
	// Number is given by the tracer, 1 and more.
	Number   uint64    `json:"number"`
	At       time.Time `json:"at"`
	Protocol string    `json:"protocol"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	// Message is its name in the specification, or what a note says.
	Message string `json:"message"`
	// Cause that it says, or why something came to nothing; "" for none.
	Cause string `json:"cause,omitempty"`
	// Session identity; 0: it is about none.
	Session uint8 `json:"session,omitempty"`
	// Peer is which gNB, unit or other function it is.
	Peer string `json:"peer,omitempty"`
	// Octets of the message without keys, of NAS only where that was asked for; nil: there are none to be had.
	Octets []byte `json:"octets,omitempty"`
}

// Page of a trace.
type Page struct {
	Entries []Entry `json:"entries"`
	// Next is what to ask from, Lost how many there were before that the ring had no room for.
	Next uint64 `json:"next"`
	Lost uint64 `json:"lost,omitempty"`
	// Life names the program: another one begins with number 1 again. Now is its clock.
	Life uint64    `json:"life"`
	Now  time.Time `json:"now"`
}
