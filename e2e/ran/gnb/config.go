package gnb

import (
	"time"

	"core5g.dev/core5g/e2e/ran/uenas"
)

// Config describes one gNB with one cell.
type Config struct {
	Name     string
	ID       uint32 // gNB ID, 24 bits
	MCC, MNC string
	TAC      [3]byte
	Slices   []uenas.SNSSAI
	AMF      []string // "host:port", tried in order

	// Reconnection waits MinBackoff after a failure, doubling up to MaxBackoff. Zero means 200 ms
	// and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// SetupTimeout bounds the wait for the answer to NG Setup. Zero means 5 s.
	SetupTimeout time.Duration
	// ReleaseAfter is how long the source of a handover goes on forwarding when no End Marker comes. Zero means 2 s.
	ReleaseAfter time.Duration
	// HoldLimit is how long the target of a handover waits for an End Marker from the first packet of the new path on:
	// the UPF may not send one, or it may be lost. Zero means 1 s.
	HoldLimit time.Duration

	// OnLoss says what becomes of connections when N2 is lost. Zero means Keep.
	OnLoss LossMode

	// Joins: it connects to the AMF's addresses that it is told of, for the same NG interface, and lets go of those that it is told to (TS 38.413 8.7.3). Otherwise it
	// knows nothing of such lists.
	Joins bool

	// Strict refuses a PDU session resource setup of a session that the UE has already (TS 38.413 8.2.1.4). Otherwise it takes the place of what was. It refuses
	// lists of the AMF's addresses that are not as they should be, too.
	Strict bool
}

// LossMode is what a gNB does with its UEs when it loses its AMF.
type LossMode string

// The loss modes: real gNBs do one or another.
const (
	// Keep lets connections and tunnels serve on until N2 is back, and ends them then.
	Keep LossMode = "keep"
	// Release ends them at once.
	Release LossMode = "release"
	// Retain keeps them if the AMF retains them too (UE Retention Information, TS 38.413 8.7.1.1), and else ends them
	// when N2 is back.
	Retain LossMode = "retain"
)

func (c *Config) defaults() {
	if c.MinBackoff == 0 {
		c.MinBackoff = 200 * time.Millisecond
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 5 * time.Second
	}
	if c.OnLoss == "" {
		c.OnLoss = Keep
	}
	if c.HoldLimit == 0 {
		c.HoldLimit = time.Second
	}
	if c.ReleaseAfter == 0 {
		c.ReleaseAfter = 2 * time.Second
	}
	if c.SetupTimeout == 0 {
		c.SetupTimeout = 5 * time.Second
	}
}
