package n4

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	// T1 and N1 of TS 29.244 6.4.
	responseTimeout = time.Second
	attempts        = 3
	maxMessage      = 2048
)

// ReleaseAssociation sends a PFCP Association Release Request with the SMF's Node ID to a UPF and waits
// for the answer. That the UPF knows of no such association is no error.
func ReleaseAssociation(ctx context.Context, upfAddress, smfNodeID string) error {
	node := net.ParseIP(smfNodeID).To4()
	if node == nil {
		return fmt.Errorf("node ID %q is no IPv4 address", smfNodeID)
	}
	if _, _, err := net.SplitHostPort(upfAddress); err != nil {
		upfAddress = net.JoinHostPort(upfAddress, strconv.Itoa(8805))
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", upfAddress)
	if err != nil {
		return err
	}
	defer conn.Close()
	sequence := uint32(time.Now().UnixMilli()) & 0xffffff
	request := message.NewAssociationReleaseRequest(sequence, ie.NewNodeID(node.String(), "", ""))
	raw, err := request.Marshal()
	if err != nil {
		return err
	}
	var last error
	for range attempts {
		if _, last = conn.Write(raw); last != nil {
			continue
		}
		var done bool
		if done, last = await(ctx, conn, sequence); done {
			return last
		}
	}
	return fmt.Errorf("UPF %s does not answer: %w", upfAddress, last)
}

// await reads until the answer to the request or the timeout; done is false when it should be sent again.
func await(ctx context.Context, conn net.Conn, sequence uint32) (done bool, err error) {
	deadline := time.Now().Add(responseTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := conn.SetReadDeadline(deadline); err != nil {
		return true, err
	}
	buffer := make([]byte, maxMessage)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			if ctx.Err() != nil {
				return true, ctx.Err()
			}
			return false, err
		}
		answer, err := message.Parse(buffer[:n])
		if err != nil {
			continue // not for us to judge; the answer may still come
		}
		response, ok := answer.(*message.AssociationReleaseResponse)
		if !ok || response.Sequence() != sequence {
			continue
		}
		if response.Cause == nil {
			return true, errors.New("the answer has no cause")
		}
		cause, err := response.Cause.Cause()
		if err != nil {
			return true, err
		}
		if cause != ie.CauseRequestAccepted && cause != ie.CauseNoEstablishedPFCPAssociation {
			return true, fmt.Errorf("refused with cause %d", cause)
		}
		return true, nil
	}
}
