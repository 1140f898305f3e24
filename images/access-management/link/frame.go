package link

// Version of the protocol. A peer of another one is refused by a terminator, with an error that names both: terminators change rarely, and a
// worker speaks what they speak.
const Version = 1

// Frame is one of the structs of this file.
type Frame interface{ kind() byte }

// Hello is the first frame of a worker.
type Hello struct {
	Version int `cbor:"0,keyasint"`
	// Worker is the name of the pod.
	Worker string `cbor:"1,keyasint"`
	// Shards of the set are numbered from 1 to this.
	Shards uint16 `cbor:"2,keyasint"`
	// Resumes: it can go on with UEs that another worker had kept (Keep).
	Resumes bool `cbor:"3,keyasint,omitempty"`
}

// Holds says that the worker holds a shard from now on. A later epoch takes it from an earlier one.
type Holds struct {
	Shard uint16 `cbor:"0,keyasint"`
	Epoch uint64 `cbor:"1,keyasint"`
	// Leaving: it will let go of it soon, on purpose. UEs that nobody knows are for other shards, or wait for one.
	Leaving bool `cbor:"2,keyasint,omitempty"`
}

// LetsGo says that the worker does nothing for the shard any more. What it has not said Done of is the next holder's.
type LetsGo struct {
	Shard uint16 `cbor:"0,keyasint"`
	Epoch uint64 `cbor:"1,keyasint"`
}

// NoShard is none. Send with it is an echo: nothing leaves, and NotSent with its Number shows that the terminator lived when it was asked. Another end of a
// connection may be dead for a while before that is seen, and what it said before may be read only then.
const NoShard = 0

// Send has a message sent. Under an epoch that is not the shard's newest nothing leaves.
type Send struct {
	// Number names it in NotSent; 0: nobody wants to know.
	Number uint64 `cbor:"0,keyasint,omitempty"`
	Shard  uint16 `cbor:"1,keyasint"`
	Epoch  uint64 `cbor:"2,keyasint"`
	// Association on which it leaves.
	Association uint64 `cbor:"3,keyasint"`
	// UE is the AMF UE NGAP ID of signalling that is associated with a UE, which gives it its stream (TS 38.412 7); 0: stream 0.
	UE uint64 `cbor:"4,keyasint,omitempty"`
	// Message is an NGAP PDU.
	Message []byte `cbor:"5,keyasint"`
}

// Done says that everything that a message asked for is in the store.
type Done struct {
	Number uint64 `cbor:"0,keyasint"`
}

// Keep says that a message is done with, as long as its worker lives: of what it has begun the store knows nothing yet. The next holder has it again, with UE, which is the
// AMF UE NGAP ID that the gNB may have been told; unless Done follows, or its UE has given up by then. It does not count as waiting.
type Keep struct {
	Number uint64 `cbor:"0,keyasint"`
	UE     uint64 `cbor:"1,keyasint"`
}

// Remember has the terminator keep what a gNB has said of itself, and tell it all workers. The octets are a record.GNB; it does not read them.
type Remember struct {
	Shard       uint16 `cbor:"0,keyasint"`
	Epoch       uint64 `cbor:"1,keyasint"`
	Association uint64 `cbor:"2,keyasint"`
	Node        []byte `cbor:"3,keyasint"`
}

// Share has a message that was delivered delivered to all other shards, too: each has UEs that it concerns.
type Share struct {
	Number uint64 `cbor:"0,keyasint"`
}

// HangUp ends an association.
type HangUp struct {
	Shard       uint16 `cbor:"0,keyasint"`
	Epoch       uint64 `cbor:"1,keyasint"`
	Association uint64 `cbor:"2,keyasint"`
}

// Welcome is the first frame of a terminator; Opened for every association follow.
type Welcome struct {
	Version int `cbor:"0,keyasint"`
	// Terminator is the name of the pod and of its life: associations of another life are gone.
	Terminator string `cbor:"1,keyasint"`
}

// Opened says that there is an association.
type Opened struct {
	Association uint64 `cbor:"0,keyasint"`
	// Peer is where its gNB is: addresses, and a port.
	Peer string `cbor:"1,keyasint"`
	// Node as it was remembered; none: its gNB has not been set up.
	Node []byte `cbor:"2,keyasint,omitempty"`
	// Listed: it is of the list behind Welcome. Last: it is the list's end, and no association; its number is the highest that there was, so that one with
	// a number above is known to be new.
	Listed bool `cbor:"3,keyasint,omitempty"`
	Last   bool `cbor:"4,keyasint,omitempty"`
	// Here is the terminator's end of it, as its gNB has it; "" of a terminator that does not say.
	Here string `cbor:"5,keyasint,omitempty"`
	// Ago is since when there is one that is listed, in milliseconds, 1 at least; 0 of a terminator that does not say.
	Ago uint64 `cbor:"6,keyasint,omitempty"`
}

// Ended says that an association is gone, with all that it carried.
type Ended struct {
	Association uint64 `cbor:"0,keyasint"`
	Why         string `cbor:"1,keyasint"`
}

// Node says what the gNB of an association is now.
type Node struct {
	Association uint64 `cbor:"0,keyasint"`
	Node        []byte `cbor:"1,keyasint"`
}

// Deliver hands a message over.
type Deliver struct {
	Number      uint64 `cbor:"0,keyasint"`
	Association uint64 `cbor:"1,keyasint"`
	Shard       uint16 `cbor:"2,keyasint"`
	// Again: another holder of the shard may have done some of it.
	Again bool `cbor:"3,keyasint,omitempty"`
	// Shared: it is another shard's to answer.
	Shared  bool   `cbor:"4,keyasint,omitempty"`
	Message []byte `cbor:"5,keyasint"`
	// Of is, of one that is shared, the number under which its first shard has it: numbers rise in the order in which messages came.
	Of uint64 `cbor:"6,keyasint,omitempty"`
	// At is when it came, by the terminator's clock, Unix time in ms; 0 of a terminator that does not say.
	At int64 `cbor:"7,keyasint,omitempty"`
	// Keeps: the terminator understands Keep.
	Keeps bool `cbor:"8,keyasint,omitempty"`
	// UE of a Keep of a holder before; 0: it was not kept.
	UE uint64 `cbor:"9,keyasint,omitempty"`
}

// Came is the message's place among those that came.
func (d *Deliver) Came() uint64 {
	if d.Shared {
		return d.Of
	}
	return d.Number
}

// NotSent says that a message was not sent, and never will be.
type NotSent struct {
	Number uint64 `cbor:"0,keyasint"`
	Shard  uint16 `cbor:"1,keyasint"`
	// Fenced: another worker holds the shard. Else the association is gone, or takes nothing.
	Fenced bool   `cbor:"2,keyasint,omitempty"`
	Why    string `cbor:"3,keyasint"`
}

func (*Hello) kind() byte    { return 1 }
func (*Holds) kind() byte    { return 2 }
func (*LetsGo) kind() byte   { return 3 }
func (*Send) kind() byte     { return 4 }
func (*Done) kind() byte     { return 5 }
func (*Remember) kind() byte { return 6 }
func (*Share) kind() byte    { return 7 }
func (*HangUp) kind() byte   { return 8 }
func (*Keep) kind() byte     { return 9 }
func (*Welcome) kind() byte  { return 16 }
func (*Opened) kind() byte   { return 17 }
func (*Ended) kind() byte    { return 18 }
func (*Node) kind() byte     { return 19 }
func (*Deliver) kind() byte  { return 20 }
func (*NotSent) kind() byte  { return 21 }

// kinds that there are, each with an empty frame of it.
var kinds = map[byte]func() Frame{
	1: func() Frame { return &Hello{} }, 2: func() Frame { return &Holds{} }, 3: func() Frame { return &LetsGo{} },
	4: func() Frame { return &Send{} }, 5: func() Frame { return &Done{} }, 6: func() Frame { return &Remember{} },
	7: func() Frame { return &Share{} }, 8: func() Frame { return &HangUp{} }, 9: func() Frame { return &Keep{} },
	16: func() Frame { return &Welcome{} }, 17: func() Frame { return &Opened{} }, 18: func() Frame { return &Ended{} },
	19: func() Frame { return &Node{} }, 20: func() Frame { return &Deliver{} }, 21: func() Frame { return &NotSent{} },
}
