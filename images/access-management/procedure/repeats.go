package procedure

// Repeats says that an effect may be done before the record is written that it follows from, where the record of before is one of the same procedure: whoever takes
// that up comes to the same question, by itself or by the same message, and asks it again, as it would if it had been written and not answered.
func Repeats(e Effect) bool {
	switch e.(type) {
	case AskRecording, AskSubscription, AskPolicy:
		return true
	}
	return false
}

// Idempotent says that an effect may be done before the record is written that it follows from, where what it follows from comes again to whoever takes up the record of
// before: a message that its terminator has not heard to be done with, an association that is gone. The SMF is in the same state however often it is asked for
// a user plane, or told an access network's tunnel (TS 29.502 5.2.2.3.2), and of a session that it is to make it has the same answer, or makes it anew (5.2.2.2.1).
func Idempotent(e Effect) bool {
	a, is := e.(AskSession)
	switch {
	case !is || a.End || a.Switched || a.NotSwitched || a.Target != nil || a.Handover != "":
		return false
	case a.Operation == CreateSession:
		return len(a.N2) == 0
	case a.Operation == UpdateSession && a.N2Type == setupDone:
		return true
	case len(a.N2) > 0:
		return false
	}
	return a.Operation == UpdateSession && (a.Connection == activating || a.Connection == deactivated) && len(a.N1) == 0
}
