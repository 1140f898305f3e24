package cluster

import (
	"context"
	"path/filepath"
)

// Node does to a node of the embedded cluster what the verb says: off kills all its processes, cut pulls its cables out, on has it up again.
func (c *Cluster) Node(ctx context.Context, verb, name string) error {
	_, err := c.exec(ctx, nil, filepath.Join(c.Root, "hack/cluster.sh"), "node", verb, name)
	return err
}

// OnNode runs a command on a node of the embedded cluster, whether the API server reaches that or not.
func (c *Cluster) OnNode(ctx context.Context, name string, command ...string) (string, error) {
	state := filepath.Dir(c.Kubeconfig) // there may be several clusters
	return c.exec(ctx, nil, filepath.Join(c.Root, "out/bin/embedded"), append([]string{"exec", "-state", state, "-node", name}, command...)...)
}
