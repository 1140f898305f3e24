// Package strictcbor is CBOR (RFC 8949) as core5g's functions keep it in the session store and tell it each other: one
// way to write a thing, and nothing read that a program of theirs would not have written, or more than it takes.
package strictcbor

import "github.com/fxamacker/cbor/v2"

// Encoding writes the fields of a struct in their order, with an empty one left out by the rules of Go; what marshals
// itself, as addresses do, is a byte string.
func Encoding() cbor.EncMode {
	return must(cbor.EncOptions{
		Sort: cbor.SortNone, OmitEmpty: cbor.OmitEmptyGoValue,
		BinaryMarshaler: cbor.BinaryMarshalerByteString,
	}.EncMode())
}

// Decoding refuses a key that comes twice, an indefinite length, text that is not UTF-8, nesting of more than depth
// levels (4 at least), and arrays and maps of more than so many elements and pairs (16 at least).
func Decoding(depth, elements, pairs int) cbor.DecMode {
	return must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, MaxNestedLevels: depth,
		MaxArrayElements: elements, MaxMapPairs: pairs, UTF8: cbor.UTF8RejectInvalid,
		BinaryUnmarshaler: cbor.BinaryUnmarshalerByteString,
	}.DecMode())
}

// must: the options are constants of the programs.
func must[M any](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}
