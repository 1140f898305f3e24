// Package compile turns the rules of a session into the arrays that upf-u takes. It is pure: the
// same session gives the same octets, so that a replay after a restart of upf-u restores exactly
// what was there.
package compile
