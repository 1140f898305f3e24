package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Serving is whose AMF and SMF a core has, and in how many programs.
type Serving struct{ Plane, Layout string }

// Serves says who serves the core now.
func (c *Cluster) Serves(ctx context.Context) (Serving, error) {
	var core struct {
		Spec struct{ ControlPlane, Layout string }
	}
	err := c.JSON(ctx, &core, "get", "core5g/core5g")
	return Serving{Plane: core.Spec.ControlPlane, Layout: core.Spec.Layout}, err
}

// Serve has the core served so, as who installed the chart would, and waits until it and those objects of it are Ready and all pods are the wanted ones.
// UEs register anew where AMF and SMF are another's.
func (c *Cluster) Serve(ctx context.Context, wanted Serving, objects ...string) error {
	now, err := c.Serves(ctx)
	if err != nil {
		return err
	}
	if now != wanted {
		if err := c.upgradeTo(ctx, wanted); err != nil {
			return err
		}
	}
	// The Slices' conditions are of the SMF before, until the operator has seen the core: so are pods.
	smf, amf := "core5g.dev/slice", "!core5g.dev/access-management"
	if wanted.Plane == Core5G {
		smf, amf = "core5g.dev/session-management=core", "core5g.dev/access-management"
	}
	for component, labels := range map[string]string{"smf": smf, "amf": amf} {
		if err := c.aloneAre(ctx, wanted.Layout, component, labels); err != nil {
			return err
		}
	}
	for _, object := range append([]string{"core5g/core5g"}, objects...) {
		if err := c.WaitCondition(ctx, object, "Ready", 3*time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// upgradeTo the release's values with the wanted AMF and SMF, in the wanted layout.
func (c *Cluster) upgradeTo(ctx context.Context, wanted Serving) error {
	said, err := c.HelmRun(ctx, "get", "values", Release, "--output", "json")
	if err != nil {
		return err
	}
	values := map[string]any{}
	if err := json.Unmarshal([]byte(said), &values); err != nil {
		return fmt.Errorf("the release's values: %w", err)
	}
	if values == nil { // it has none of its own
		values = map[string]any{}
	}
	ControlPlaneValues(values, wanted.Plane, wanted.Layout)
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "values-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	args := []string{"upgrade", Release, "charts/core5g", "--reset-values", "--wait", "--timeout", "4m", "--values", file.Name()}
	if pods := PodNetwork(); pods != "" {
		args = append(args, "--set", "upf.spec.n4.controlPlaneSubnets={"+pods+"}")
	}
	_, err = c.HelmRun(ctx, args...)
	return err
}

// aloneAre waits until all pods of the component, in whatever layout, are those of the wanted one with these labels, and ready.
func (c *Cluster) aloneAre(ctx context.Context, layout, component, labels string) error {
	everywhere := fmt.Sprintf("app.kubernetes.io/component in (%s,%s)", component, ComponentOf(Fused, component))
	selector := "app.kubernetes.io/component=" + ComponentOf(layout, component) + "," + labels
	return Eventually(ctx, 4*time.Minute, func() error {
		all, err := c.Pods(ctx, everywhere)
		if err != nil {
			return err
		}
		found, err := c.Pods(ctx, selector)
		if err != nil {
			return err
		}
		if len(found) == 0 || len(found) != len(all) {
			return fmt.Errorf("%d pods with %s, %d of them with %s: want all, and one at least", len(all), everywhere, len(found), selector)
		}
		for _, pod := range found {
			if !pod.Ready() {
				return fmt.Errorf("pod %s is not ready", pod.Metadata.Name)
			}
		}
		return nil
	})
}
