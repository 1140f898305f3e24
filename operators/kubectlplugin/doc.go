// Package kubectlplugin is `kubectl core5g`: the state of a whole core on one screen, the preflight of the
// nodes, the drain of UPF units, the PDU sessions of SMF and units, the UEs of the AMF, one of either in full, what is
// said for a UE, the subscribers of a core's database, and a support bundle without secrets. It does nothing that kubectl could not do with the same rights.
package kubectlplugin

import (
	"context"
	"io"
)

// Pods reaches into pods.
type Pods interface {
	// Exec runs a command in a container and returns its output.
	Exec(ctx context.Context, namespace, pod, container string, command ...string) ([]byte, error)
	// Stream runs a command in a container with the input, where it is not nil, and has its output written as it comes.
	Stream(ctx context.Context, namespace, pod, container string, in io.Reader, out, errs io.Writer, command ...string) error
	// Logs returns the last lines of a container, or of the one before it.
	Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int64) ([]byte, error)
}
