// Package storemember writes what a server of an embedded session store of three begins with, and the Sentinel beside it: who the primary is. It runs before both, in
// the pod of each member.
//
// Who is the primary is the Sentinels' word, and of several the one of the latest configuration epoch: those of the other members are asked, and
// what the Sentinel of this member has left in its file counts as well. Where nobody says anything, all members are new, or the others are new and the first one was alone: it is the first one.
// Whoever errs does no harm: a primary that nobody follows takes no writes, and the Sentinels tell it whom to follow. One with an empty disk would be followed into nothing: it does not begin as the primary
// before all others have said that they have nothing either.
//
// All members, and the Sentinels beside them, are in each Sentinel's file from the beginning: one that starts while the primary is away knows the others all the same.
package storemember
