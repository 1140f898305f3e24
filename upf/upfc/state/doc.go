// Package state is what upf-u keeps for upf-c: one blob a session and one for the whole, in a compact
// encoding of our own behind a version octet. A new upf-c continues from them; a blob of another
// version is refused. upf-c itself keeps its sessions in the same form while nothing happens to them.
package state
