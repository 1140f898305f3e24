// Package fencing decides which of the members of a redundant UPF serves a unit: never two at once.
//
// A unit is a UPF as the network knows it: N4, N3 and N6 addresses, sessions, Recovery Time Stamp. A member is a pod of
// upf-c and upf-u; a life of it is one upf-c from its start to its end. One life serves the unit (Unit); another one may
// hold all that it would need to go on (Standby). An arbiter keeps one Record a unit, which says who serves, in which
// epoch, and who alone may take over. It changes by comparison (a Kubernetes Lease, by its resourceVersion).
//
// Why never two answer for one address.
//
//   - Only the life that the record names as standby may take over, and only by a change of the record as it last saw it.
//   - A unit serves by grants, each for Terms.Grant from before it was asked for: a renewal of the record, or an answer of
//     the named standby to a beat. Without one it is silent. A standby that has answered a beat does not ask for the
//     unit for Terms.Wait, and asks only when the record, too, has stood still for so long before its eyes. Wait is longer than
//     Grant by what clocks may disagree. So when a standby asks, the last grant has ended.
//   - Or the kernel has said that both processes of the life are gone (Standby.Ended).
//   - Or the life has yielded (Unit.Yield): it answers no more, whatever becomes of the record, and its word for that, and the record
//     as it knew it, are sent when upf-u has been told so. It still forwards what comes, so that no packet is lost until
//     everybody has heard of the new one; that is no answer, and has an end by upf-u's own clock.
//   - A record without a holder is written only by who knows that both processes of the holder are gone, and those of the
//     standby that it named, or that it will not come. Then whoever is first may claim the unit.
//   - A unit that names no standby needs no grant: nobody can take over.
//
// Why nothing is lost that was answered. A unit answers N4 when every life that may take over has the change
// (Unit.Takers): that is the named standby, and whoever is named by a change of the record of which it is not known
// whether it happened. A standby that is too slow is struck out of the record before the unit goes on without it.
//
// All is pure: events and the time of the caller's own clock go in, what is to be asked comes out. Times are of a
// clock that does not stand still while the machine sleeps, since any moment.
package fencing
