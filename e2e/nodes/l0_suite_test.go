package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	api "core5g.dev/core5g/operators/api/v1alpha1"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/e2e/takeover"
)

const (
	upfInstance, unitName = "upf", "upf-0"
	slice                 = "internet"
	// firstNode has the API server, the gNB and the data network, and does not die.
	firstNode = "core5g-node"
	// lostNodeAfter of the UPFInstance.
	lostNodeAfter = time.Minute

	// Generous: three nodes share a machine of two CPUs.
	patience = 5 * time.Minute
)

var (
	k     *cluster.Cluster
	probe *takeover.Pod
)

func TestMain(m *testing.M) { scene.Main(m, "CORE5G_E2E_NODES", run) }

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if k, err = cluster.Open(ctx); err != nil {
		return 0, err
	}
	for _, tool := range []string{"kubectl-core5g", "redundancy"} {
		if _, err := k.Built(tool, "e2e-nodes"); err != nil {
			return 0, err
		}
	}
	probe = &takeover.Pod{Cluster: k, Node: firstNode}
	return m.Run(), nil
}

// story begins a test: a context with a limit, and a clear skip without a cluster.
func story(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if k == nil {
		t.Skip("needs a cluster of three nodes: CORE5G_E2E_NODES=1 (make e2e-nodes makes one)")
	}
	return scene.Begin(t, limit, explain)
}

func explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	scene.Show(t, ctx, k, 40,
		[]string{"get", "nodes"},
		[]string{"get", "pods", "-o", "wide"},
		[]string{"get", "core5g", "core5g", "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}`},
		[]string{"get", "upfinstance", upfInstance, "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}{.status.unitStatuses}`},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
	)
}

var check = scene.Check

// nodeReady says what a node lacks.
func nodeReady(ctx context.Context, name string) error {
	var node cluster.Object
	if err := k.JSON(ctx, &node, "get", "node", name); err != nil {
		return err
	}
	if c, _ := node.Condition("Ready"); c.Status != "True" {
		return fmt.Errorf("node %s: Ready=%s (%s)", name, c.Status, c.Message)
	}
	return nil
}

// unit is the UPF's, with the pod that serves, the other one, and the epoch, which grows with each takeover.
type unit struct {
	holder, standby cluster.Object
	epoch           int64
}

func theUnit(ctx context.Context) (u unit, err error) {
	var upf api.UPFInstance
	if err := k.JSON(ctx, &upf, "get", "upfinstance", upfInstance); err != nil {
		return u, err
	}
	if len(upf.Status.UnitStatuses) != 1 || upf.Status.UnitStatuses[0].Standby == nil {
		return u, fmt.Errorf("UPFInstance %s says of its units %+v: want one with a standby", upfInstance, upf.Status.UnitStatuses)
	}
	s := upf.Status.UnitStatuses[0]
	u.epoch = s.Epoch
	return u, errors.Join(k.JSON(ctx, &u.holder, "get", "pod", s.Pod), k.JSON(ctx, &u.standby, "get", "pod", s.Standby.Pod))
}

// allWell says what is not as it should be when everything is.
func allWell(ctx context.Context) error {
	for object, conditions := range map[string][]string{
		"core5g/core5g": {"Ready"}, "slice/" + slice: {"Ready"}, "upfinstance/" + upfInstance: {"Ready", "StandbyInSync"},
	} {
		var o cluster.Object
		if err := k.JSON(ctx, &o, "get", object); err != nil {
			return err
		}
		for _, name := range conditions {
			if c, _ := o.Condition(name); c.Status != "True" {
				return fmt.Errorf("%s: %s=%s (%s: %s)", object, name, c.Status, c.Reason, c.Message)
			}
		}
		if c, is := o.Condition("NodesReachable"); is {
			return fmt.Errorf("%s: NodesReachable=%s (%s)", object, c.Status, c.Message)
		}
	}
	return nil
}

// podsOn are the pods of the core and its UPF on a node by UID, those that are on their way out too.
func podsOn(ctx context.Context, node string) (map[string]string, error) {
	var list struct{ Items []cluster.Object }
	if err := k.JSON(ctx, &list, "get", "pods", "-l", "app.kubernetes.io/managed-by=core5g-operator", "--field-selector", "spec.nodeName="+node); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range list.Items {
		out[p.Metadata.UID] = p.Metadata.Name
	}
	return out, nil
}

// stillServed are the Services of the core that lead to a node.
func stillServed(ctx context.Context, node string) ([]string, error) {
	var list struct {
		Items []struct {
			Metadata  struct{ Labels map[string]string }
			Endpoints []struct {
				NodeName   string
				Conditions struct{ Ready bool }
			}
		}
	}
	if err := k.JSON(ctx, &list, "get", "endpointslices"); err != nil {
		return nil, err
	}
	var out []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			// A member of the session store is waited for, and the others know that it is away.
			if name := s.Metadata.Labels["kubernetes.io/service-name"]; e.NodeName == node && e.Conditions.Ready && !strings.HasPrefix(name, storeName) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// says waits until a condition that is False says all these words.
func says(ctx context.Context, object, condition string, words ...string) error {
	return notes(ctx, object, condition, "False", words...)
}
