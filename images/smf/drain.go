package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/free5gc/pfcp"
	"github.com/free5gc/pfcp/pfcpType"
	"github.com/free5gc/smf/pkg/service"
)

// free5GC's SMF leaves without a word: the UEs keep PDU sessions that nobody serves, and the UPFs
// rules that nobody will ever delete. An SMF that is told to end (its Slice is deleted, its pod moves)
// leaves the NRF, so that it gets no new sessions; ends its PFCP associations, whereupon the UPFs drop
// its sessions (TS 29.244 6.2.8); and has the AMF release them at the UEs (TS 23.502 4.3.4.2). In this
// order: its successor has the same NF instance id and Node ID, and comes up within seconds.

const (
	// releaseLimit bounds the wait for the UEs' answers, drainLimit the whole way out.
	releaseLimit = 3 * time.Second
	drainLimit   = 8 * time.Second
	pfcpPort     = 8805
	// A request is sent pfcpAttempts times, pfcpWait apart (TS 29.244 6.4: T1, N1).
	pfcpAttempts = 3
	pfcpWait     = 500 * time.Millisecond
)

// drain returns when nobody needs this SMF any more, or when the limits have passed.
func drain(app *service.SmfApp, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	if _, err := app.Consumer().SendDeregisterNFInstance(); err != nil {
		log.Warn("the NRF keeps the profile until the successor replaces it", "error", err)
	}
	self := app.Context()
	self.UserPlaneInformation.Mu.RLock()
	defer self.UserPlaneInformation.Mu.RUnlock()
	for name, node := range self.UserPlaneInformation.UPFs {
		if int(node.UPF.UPFStatus) != associated {
			continue
		}
		upf := &net.UDPAddr{IP: node.UPF.NodeID.ResolveNodeIdToIp(), Port: pfcpPort}
		if err := releaseAssociation(ctx, self.CPNodeID, upf); err != nil {
			log.Warn("the UPF keeps the association until it finds the path failed", "upf", name, "error", err)
		}
	}

	ctx, cancelRelease := context.WithTimeout(ctx, releaseLimit)
	defer cancelRelease()
	for name, node := range self.UserPlaneInformation.UPFs {
		sessions := count(node.UPF.ProcEachSMContext)
		if sessions == 0 {
			continue
		}
		log.Info("releasing the PDU sessions at the UEs", "upf", name, "sessions", sessions)
		released := make(chan struct{})
		go func() {
			defer close(released)
			app.Processor().ReleaseAllResourcesOfUPF(node.UPF)
			await(ctx, func() bool { return count(node.UPF.ProcEachSMContext) == 0 })
		}()
		select {
		case <-released:
		case <-ctx.Done():
		}
	}
}

// count tells how often each calls back.
func count[T any](each func(func(T))) int {
	n := 0
	each(func(T) { n++ })
	return n
}

func await(ctx context.Context, done func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// releaseAssociation sends a PFCP Association Release Request (TS 29.244 7.4.4.5) and waits for the
// answer. The SMF's own socket cannot be had; the UPF answers to where the request came from.
func releaseAssociation(ctx context.Context, self pfcpType.NodeID, upf *net.UDPAddr) error {
	request := pfcp.Message{
		Header: pfcp.Header{
			Version:     pfcp.PfcpVersion,
			MessageType: pfcp.PFCP_ASSOCIATION_RELEASE_REQUEST,
			// Any number that the SMF itself is not about to use.
			SequenceNumber: 0xfffff0,
		},
		Body: pfcp.PFCPAssociationReleaseRequest{NodeID: &self},
	}
	wire, err := request.Marshal()
	if err != nil {
		return fmt.Errorf("Association Release Request: %w", err)
	}
	conn, err := net.DialUDP("udp", nil, upf)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer := make([]byte, 2048)
	for range pfcpAttempts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := conn.Write(wire); err != nil {
			return err
		}
		if err := conn.SetReadDeadline(time.Now().Add(pfcpWait)); err != nil {
			return err
		}
		n, err := conn.Read(answer)
		if err != nil {
			continue
		}
		var response pfcp.Message
		if err := response.Unmarshal(answer[:n]); err != nil {
			return fmt.Errorf("Association Release Response: %w", err)
		}
		if response.Header.MessageType == pfcp.PFCP_ASSOCIATION_RELEASE_RESPONSE {
			return nil
		}
	}
	return fmt.Errorf("no answer from %s", upf)
}
