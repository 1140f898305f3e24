package record

// Attachment is a UE's connection on N2: the association of TS 38.412 and the two names of the UE on it (TS 38.413 8.6.1).
//
// The stream is not kept: that of a UE follows from its AMF UE NGAP ID and from how many streams the association has, which its terminator knows. Nor
// is anything kept of the gNB that it has said of itself: Association leads to that.
type Attachment struct {
	// Terminator is the pod that has the association, Association the number that it gave it: never given again.
	Terminator  string `cbor:"0,keyasint"`
	Association uint64 `cbor:"1,keyasint"`
	// GNB is the gNB's name of record.GNB.
	GNB string `cbor:"2,keyasint"`
	// RAN and AMF are the UE's NGAP IDs.
	RAN uint32 `cbor:"3,keyasint"`
	AMF uint64 `cbor:"4,keyasint"`
	// Set: the access network has a UE context (TS 38.413 8.3.1), with keys and radio bearers.
	Set bool `cbor:"5,keyasint,omitempty"`
	// Setting: it was asked for one and has not answered.
	Setting bool `cbor:"6,keyasint,omitempty"`
	// Releasing: it was told to let go of it.
	Releasing bool `cbor:"7,keyasint,omitempty"`
	// Again: of one that the UE has left, it was told so a second time.
	Again bool `cbor:"13,keyasint,omitempty"`
	// Secured: a message that was protected has come by it, and plain ones are not taken any more (TS 24.501 4.4.4.3).
	Secured bool `cbor:"8,keyasint,omitempty"`
	// Lost: the association is no more. The gNB may have kept the UE, and come back with another one.
	Lost bool `cbor:"10,keyasint,omitempty"`
	// Since is the number of the message by which the UE came, as the terminator counts them: what a gNB said before that is not of this connection.
	Since uint64 `cbor:"9,keyasint,omitempty"`
	// Came is when that message did, by its terminator's clock, Unix time in ms; 0: nobody knows. Numbers of different terminators do not say which was first.
	Came int64 `cbor:"14,keyasint,omitempty"`
	// Until is how long the access network of a connection that the UE has left may take to let go of it, or to come back; Unix time in ms.
	Until int64 `cbor:"11,keyasint,omitempty"`
	// Interface is that of the association's GNB.
	Interface uint64 `cbor:"12,keyasint,omitempty"`
}

// Root of the NG interface that the connection is on.
func (a *Attachment) Root() uint64 { return rootOf(a.Interface, a.Terminator, a.Association) }

// Move a connection to another association.
func (a *Attachment) Move(to Attachment) {
	a.Terminator, a.Association, a.Since, a.Interface, a.Lost = to.Terminator, to.Association, to.Since, to.Interface, false
}

// Shares says whether two are on the same association.
func (a *Attachment) Shares(o *Attachment) bool {
	return a.Terminator == o.Terminator && a.Association == o.Association
}

// Follow an access network that speaks of the UE by another association of the interface: that is the UE's from now on (TS 23.501 5.21.1.3).
func (a *Attachment) Follow(at Attachment) {
	if a.Root() == at.Root() && !a.Shares(&at) {
		a.Move(at)
	}
}

// Behind says whether the UE came by the connection behind a message of its gNB, by whichever association of the interface that was.
func (a *Attachment) Behind(m *Attachment) bool {
	if a.Terminator == m.Terminator && a.Since != 0 {
		return a.Since > m.Since
	}
	return m.Came != 0 && a.Came > m.Came
}

// Is says whether two are the same connection.
func (a *Attachment) Is(o *Attachment) bool {
	return a != nil && o != nil && a.Shares(o) && a.RAN == o.RAN
}
