package rules

import (
	"fmt"
	"net/netip"
)

// DetectedFlow is traffic that upf-u found to be of an application by its domain names (TS 29.244 5.4.11): a flow of the UE, or all
// between it and an address that it has asked for.
type DetectedFlow struct {
	Application string
	Instance    uint32 // upf-u's name of it, while it lasts
	Remote      netip.Addr
	// Of a flow; else Local is not valid.
	Local                 netip.Addr
	Protocol              uint8
	RemotePort, LocalPort uint16
}

// ID is the Application Instance Identifier (TS 29.244 8.2.60).
func (f *DetectedFlow) ID() string { return fmt.Sprintf("%08x", f.Instance) }

// Description is the Flow Description (TS 29.244 8.2.61, TS 29.212 5.4.2), of both directions.
func (f *DetectedFlow) Description() string {
	if !f.Local.IsValid() {
		return fmt.Sprintf("permit out ip from %s to assigned", f.Remote)
	}
	return fmt.Sprintf("permit out %d from %s %d to %s %d", f.Protocol, f.Remote, f.RemotePort, f.Local, f.LocalPort)
}

// String is for a human.
func (f *DetectedFlow) String() string {
	return f.Application + " " + f.ID() + ": " + f.Description()
}
