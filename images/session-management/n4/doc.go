// Package n4 turns a PDU session into the rules of its UPF unit (TS 23.501 5.8.2, TS 29.244).
//
// What the unit has to do follows from the session's record alone: rulesOf() says all of it, Establishment() asks for it,
// and Modification() for the difference between two records, in which a flow's filters count by their version. So nobody
// has to remember what a unit was told, a new holder of the session can say it anew, and a rule that the unit refused is
// not forgotten.
//
//	PDR 1, 2       the default flow's packets, up and down; of flow q: 2q+1, 2q+2
//	FAR 1, 2       to the data network; to the access network, into the buffer, or nowhere
//	PDR, FAR 3     what the source of a handover forwards, to its target
//	BAR 1          of FAR 2
//	QER 1          the session's AMBR, for the flows without a guaranteed rate
//	QER 1+q        flow q
//
// A unit between access network and anchor has rules of its own (branch.go); the anchor then sends to it, whatever the access network does.
package n4
