package shards

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// probeTime bounds the question whether anybody listens.
const probeTime = 500 * time.Millisecond

// Unreached: another pod did not answer at that address, host:port. Who has somebody to answer does not wait for more: it is probed behind the call.
func (k *Keeper) Unreached(holder, address string, err error) {
	if errors.Is(err, syscall.ECONNREFUSED) {
		k.Dead(holder)
		return
	}
	go k.Probe(holder, address)
}

// Probe a pod that did not answer. Where its host refuses connections to the port, which it listens on as long as it lives, its process has ended, and its
// shards are free; one that is silent may be slow.
func (k *Keeper) Probe(holder, address string) {
	conn, err := net.DialTimeout("tcp", address, probeTime)
	switch {
	case err == nil: // it lives
		_ = conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		k.Dead(holder)
	default:
		k.Gone(holder)
	}
}
