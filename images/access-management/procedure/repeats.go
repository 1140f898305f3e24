package procedure

// Repeats says that an effect may be done before the record is written that it follows from, where the record of before is one of the same procedure: whoever takes
// that up comes to the same question, and asks it again, as it would if it had been written and not answered.
func Repeats(e Effect) bool {
	switch e.(type) {
	case AskRecording, AskSubscription, AskPolicy:
		return true
	}
	return false
}
