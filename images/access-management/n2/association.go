package n2

// UEAssociated tells whether a message is UE-associated signalling, which has a stream other than those of the rest
// (TS 38.412 7). An Error Indication is where it names a UE (TS 38.413 8.7.5.2).
func UEAssociated(m Message) bool {
	if e, ok := m.(*ErrorIndication); ok {
		return e.AMF != nil || e.RAN != nil
	}
	return m.Kind().UEAssociated()
}

// UEAssociated tells it of a kind of messages; of an Error Indication it is the header that tells.
func (k Kind) UEAssociated() bool {
	facts := procedures[k.Procedure]
	return facts != nil && facts.ueAssociated
}

// UEAssociated tells it of a message that was not read whole.
func (h Header) UEAssociated() bool {
	if h.Kind.Procedure == ProcedureErrorIndication {
		return h.AMF != nil || h.RAN != nil
	}
	return h.Kind.UEAssociated()
}

// Names are those of the UE that a message names, nil where it does not: of a Path Switch Request the AMF's is the source's.
// They point into the message.
func Names(m Message) (*AMFUEID, *RANUEID) {
	x := exchange{mode: naming}
	m.ies(&x)
	return x.amf, x.ran
}
