// Package takeover measures what it costs that a UPF's standby takes its unit over: how long no packet of a PDU session passed, how many
// were lost, whether two pods answered for one address, and which sessions are gone. `make e2e-redundancy` runs its Probe in a pod with an
// interface on N3 (e2e/cmd/redundancy).
package takeover
