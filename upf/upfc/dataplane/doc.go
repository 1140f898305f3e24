// Package dataplane is upf-c's side of the contract in upf/abi: transactions and events over the
// SEQPACKET socket, statistics and usage counters through the shared memory.
package dataplane
