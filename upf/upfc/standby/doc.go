// Package standby keeps a second member of a redundant UPF ready: what the unit stores goes to it in a stream, and when
// the unit dies, the standby leaves what a upf-c of the unit would have left, for a upf-c that goes on.
//
// Unit is the side that serves, Holder the side that holds. Who of them serves, package fencing decides; here are the
// connections, clocks and goroutines. frame.go is what they say to each other, held.go what of it is held.
//
// Two TCP connections with mutual TLS lead from the unit to the standby. The stream carries the changes and their
// acknowledgements. Over the line nothing is said: the unit's upf-u has it open as well, so that the kernel ends it when both
// processes are gone, and not before.
//
// A unit that ends on purpose says over the stream that it has yielded, and is told when the standby serves (Unit.HandOver, Holder.Served).
//
// A change is a number, in the order of the store. The stream begins with all that is stored, while changes
// come behind it in a log; who has read up to a change has all those before. What waits to be
// sent is bounded (Options.Log); a standby that lags farther behind begins anew.
package standby
