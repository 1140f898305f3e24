// Package controlplane is the layout Fused: one program, and one pod, that is a core's whole control plane. It has the N2 terminator, the AMF's worker, the
// SMF with all its shards, and AUSF, UDM and UDR, each as it is in a pod of its own; only what is around them is another (images/nf/pod):
//
//	between them           memory: sbimemory for the service based interface, link.Memory for N2
//	who finds whom         the program's directory: there is no NRF
//	policy                 the Slices': there is no PCF, and no CHF
//	state                  the session store, as everywhere. Names, shards and keys are those of the layout Distributed, so that UEs and sessions outlive
//	                       a change of the layout
//	to the outside         N2, and N4 of each shard; health and metrics of all parts, at one port each
//
//	config.go   the command line      program.go   the parts, their beginning and end      look.go   what people ask for in its place
package controlplane
