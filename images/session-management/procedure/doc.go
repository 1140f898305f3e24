// Package procedure is what the SMF does with a PDU session (TS 23.502 4.2.3, 4.2.6, 4.3, 4.9), without doing it: Handle
// takes a session and an event, and says what the session is then and what is to be done. It reads no clock, sends
// nothing and keeps nothing, so that a test or a simulation can lead it anywhere.
//
// A procedure is a list of steps, in the order and with the numbers of TS 23.502, one procedure a file. A step asks
// one network function for something and waits for the answer. What is asked can be asked again: who takes a session over
// from a pod that died begins with the step that its record names.
//
// Who calls Handle does, in this order: write the record that it returned into the store, unless the output is Lazy; then
// the effects, one after the other. The answer to an effect is the next event. So what others are asked is known before
// they are (the intent), and what they have answered is kept before anybody hears of it (the commit).
//
// One procedure is under way at a time, and for seconds at most: whatever else happens to the session meanwhile waits
// (Output.Busy). What takes longer is no procedure but a state of the record: a phase, a command that the UE has not answered,
// a handover that the target has not finished. Timers of these come back as Due.
//
//	event.go          what happens to a session        effect.go        what is to be done
//	handle.go         which event begins what          turn.go          one call of Handle, steps
//	establishment.go  TS 23.502 4.3.2.2.1              connection.go    user plane up, down, paging: 4.2.3, 4.2.6
//	release.go        4.3.4                            accept.go        what the UE is told of its session
package procedure
