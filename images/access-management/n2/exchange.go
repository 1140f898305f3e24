package n2

// mode is what is done with the IEs that a message names.
type mode uint8

const (
	reading mode = iota
	writing
	// naming only looks for the UE's names.
	naming
)

// mostIEs in a message: none of TS 38.413 9.2 has a fourth of it.
const mostIEs = 256

// rawIE is an IE of a message that is read: its value is not.
type rawIE struct {
	id          IE
	criticality Criticality
	// known: the message has named it.
	known bool
	value []byte
}

// exchange is a message on its way. Its IEs are named once, in the order of the specification, with its criticality and
// presence; whether they are read or written is settled here, and what TS 38.413 10.3 says of those that are not as they
// should be.
type exchange struct {
	mode mode
	c    coder

	// raw are the IEs as they were received, at is where the next may be.
	raw []rawIE
	at  int
	few [16]rawIE
	// wrong are the IEs that were not understood or are missing, by criticality; disordered is one in the wrong place,
	// there twice, or there though its condition does not hold.
	wrong      []IEDiagnostics
	disordered *IE
	// bad is the IE whose value is none.
	bad    IE
	badErr error

	// count of what was written.
	count int

	// The UE's names, and where there are more, the first.
	amf *AMFUEID
	ran *RANUEID
}

// The presences.
const (
	optionally = false
	always     = true
)

// ie names an IE. In writing, it is there or not; in reading, the result tells whether it was there and understood.
func (x *exchange) ie(id IE, criticality Criticality, mandatory, there bool, code func()) bool {
	if x.mode == writing {
		if there {
			x.write(id, criticality, code)
		}
		return there
	}
	raw := x.find(id)
	if raw == nil {
		if mandatory && criticality != Ignore {
			x.wrongIE(IEDiagnostics{Criticality: criticality, ID: id, Error: Missing})
		}
		return false
	}
	return x.read(raw, code)
}

func (x *exchange) write(id IE, criticality Criticality, code func()) {
	if x.c.err != nil {
		return
	}
	x.count++
	x.c.field(id, criticality)
	start := x.c.begin()
	code()
	if x.c.err != nil {
		x.bad, x.badErr = id, x.c.err
		return
	}
	x.c.end(start)
}

// find looks for the first IE of this ID. Of IEs that are known, the order is the specification's (TS 38.413 10.3.6).
func (x *exchange) find(id IE) *rawIE {
	for n := x.at; n < len(x.raw); n++ {
		if x.raw[n].id == id {
			x.raw[n].known, x.at = true, n+1
			return &x.raw[n]
		}
	}
	for n := range x.at {
		if raw := &x.raw[n]; raw.id == id && !raw.known {
			raw.known = true
			x.disorder(id)
			return raw
		}
	}
	return nil
}

func (x *exchange) disorder(id IE) {
	if x.disordered == nil {
		x.disordered = &id
	}
}

func (x *exchange) read(raw *rawIE, code func()) bool {
	x.c.b, x.c.bit, x.c.strange, x.c.untimely = raw.value, 0, false, false
	x.c.foreign = x.c.foreign[:0]
	code()
	if x.c.err == nil && x.c.left() >= 8 {
		x.c.fail("%d octets behind its end", x.c.left()/8)
	}
	if x.c.err != nil {
		if x.badErr == nil {
			x.bad, x.badErr = raw.id, x.c.err
		}
		x.c.err = nil
		return false
	}
	if x.c.untimely {
		x.disorder(raw.id)
	}
	for _, e := range x.c.foreign {
		x.wrongIE(e)
	}
	if x.c.strange && raw.criticality != Ignore {
		x.wrongIE(IEDiagnostics{Criticality: raw.criticality, ID: raw.id, Error: NotUnderstood})
	}
	return !x.c.strange
}

func (x *exchange) wrongIE(d IEDiagnostics) { x.wrong = append(x.wrong, d) }

// rest looks at the IEs that the message has not named: unknown ones, and known ones that are there again.
func (x *exchange) rest() {
	for n := range x.raw {
		raw := &x.raw[n]
		switch {
		case raw.known:
		case x.again(n):
			x.disorder(raw.id)
		case raw.criticality != Ignore:
			x.wrongIE(IEDiagnostics{Criticality: raw.criticality, ID: raw.id, Error: NotUnderstood})
		}
	}
}

func (x *exchange) again(n int) bool {
	for m := range x.raw {
		if m != n && x.raw[m].known && x.raw[m].id == x.raw[n].id {
			return true
		}
	}
	return false
}

// name keeps the UE's names.
func (x *exchange) name(v any) {
	switch id := v.(type) {
	case *AMFUEID:
		if x.amf == nil {
			x.amf = id
		}
	case *RANUEID:
		if x.ran == nil {
			x.ran = id
		}
	}
}

// mandatory is an IE that has to be there.
func mandatory[T any](x *exchange, id IE, criticality Criticality, v *T, code codeOf[T]) {
	if x.mode == naming {
		x.name(v)
		return
	}
	if !x.ie(id, criticality, always, true, func() { code(&x.c, v) }) && x.mode == reading {
		*v = *new(T)
	}
}

// optional is an IE whose field is a pointer, nil where it is not there.
func optional[T any](x *exchange, id IE, criticality Criticality, v **T, code codeOf[T]) {
	if x.mode == naming {
		if *v != nil {
			x.name(*v)
		}
		return
	}
	present(x, id, criticality, optionally, v, code)
}

// conditional is one that has to be there where a condition holds, and else has not (TS 38.413 10.3.6).
func conditional[T any](x *exchange, id IE, criticality Criticality, holds bool, v **T, code codeOf[T]) {
	if x.mode == naming {
		return
	}
	present(x, id, criticality, holds, v, code)
	x.unconditionally(id, holds, *v != nil)
}

// unconditionally: an IE is there though its condition does not hold.
func (x *exchange) unconditionally(id IE, holds, there bool) {
	switch {
	case holds || !there:
	case x.mode == reading:
		x.disorder(id)
	case x.c.err == nil:
		x.c.fail("it is there, and its condition does not hold")
		x.bad, x.badErr = id, x.c.err
	}
}

// present is one whose field is a pointer, which must be there or may be.
func present[T any](x *exchange, id IE, criticality Criticality, must bool, v **T, code codeOf[T]) {
	if !x.ie(id, criticality, must, *v != nil || must, func() {
		switch {
		case x.mode == reading:
			*v = new(T)
		case *v == nil:
			x.c.fail("there has to be one")
			return
		}
		code(&x.c, *v)
	}) && x.mode == reading {
		*v = nil
	}
}

// optionalValue is an IE whose field is zero where it is not there.
func optionalValue[T comparable](x *exchange, id IE, criticality Criticality, v *T, code codeOf[T]) {
	if x.mode == naming {
		return
	}
	zero := *new(T)
	if !x.ie(id, criticality, optionally, *v != zero, func() { code(&x.c, v) }) && x.mode == reading {
		*v = zero
	}
}

// optionalList is an IE whose field is a list, empty where it is not there.
func optionalList[T any](x *exchange, id IE, criticality Criticality, v *[]T, code codeOf[[]T]) {
	if x.mode == naming {
		return
	}
	if !x.ie(id, criticality, optionally, len(*v) > 0, func() { code(&x.c, v) }) && x.mode == reading {
		*v = nil
	}
}

// optionalOctets is an IE that is an octet string, nil where it is not there.
func optionalOctets(x *exchange, id IE, criticality Criticality, v *[]byte) {
	if x.mode == naming {
		return
	}
	x.ie(id, criticality, optionally, *v != nil, func() { octetString(&x.c, v) })
}

// opaque is an IE whose value is passed on without a look.
func opaque(x *exchange, id IE, criticality Criticality, presence bool, v *[]byte) {
	if x.mode == naming {
		return
	}
	x.ie(id, criticality, presence, presence || *v != nil, func() {
		if x.mode == reading {
			*v = x.c.take(uint(len(x.c.b)))
			return
		}
		if len(*v) == 0 {
			x.c.fail("a value has an octet at least")
			return
		}
		x.c.give(*v)
	})
}

// ue are both names of a UE's connection.
func (x *exchange) ue(criticality Criticality, v *UEIDs) {
	mandatory(x, ieAMFUEID, criticality, &v.AMF, codeAMFUEID)
	mandatory(x, ieRANUEID, criticality, &v.RAN, codeRANUEID)
}

// diagnostics are the Criticality Diagnostics, which are the same everywhere.
func (x *exchange) diagnostics(v **CriticalityDiagnostics) {
	optional(x, ieCriticalityDiagnostics, Ignore, v, codeDiagnostics)
}

// cause is a Cause, which is the same everywhere.
func (x *exchange) cause(v *Cause) { mandatory(x, ieCause, Ignore, v, codeCause) }

// promises tells whether a message has an IE that stands behind the one on which its presence depends.
func (x *exchange) promises(id IE, there bool) bool {
	if x.mode != reading {
		return there
	}
	for n := range x.raw {
		if x.raw[n].id == id {
			return true
		}
	}
	return false
}
