// Package state is what upf-u keeps for upf-c: one blob a session and one for the whole, in CBOR
// behind a version octet. A new upf-c continues from them; a blob of another version is refused.
package state
