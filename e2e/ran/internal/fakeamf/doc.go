// Package fakeamf is an AMF (with SMF and home network) for tests: it answers a gNB's N2 as a core
// would, with knobs for each thing that a core may refuse or get wrong, and keeps a trace of what it
// was sent. Its keys come from free5gc/util, not from the UE's code.
package fakeamf
