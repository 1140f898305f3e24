package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

// The release of `make up`, or this installs one.
func TestInstall(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	if _, err := k.HelmRun(ctx, "status", cluster.Release); err != nil {
		t.Fatalf("no release %s in namespace %s; run `make up`, or helm install: %v", cluster.Release, cluster.Namespace, err)
	}
	check(t, k.Apply(ctx, sliceFile, ranFile))
	chooseServing(t, ctx, core)
	for _, object := range []string{"upfinstance/" + upfInstance, "core5g/core5g", "slice/" + firstSlice} {
		check(t, k.WaitCondition(ctx, object, "Ready", 4*time.Minute))
	}
}

func TestEveryFunctionRuns(t *testing.T) {
	ctx := story(t, 3*time.Minute)
	components := []string{"operator", "amf", "smf", "nrf", "pcf", "chf", "database", "subscriber-data", "upf"}
	if ownPlane() {
		components = append(components, "session-store", "amf-n2")
	}
	for _, component := range components {
		t.Run(component, func(t *testing.T) {
			component := componentOf(component)
			if component == "" {
				t.Skip("layout Fused does without")
			}
			check(t, cluster.Eventually(ctx, patience, func() error {
				pods, err := k.Component(ctx, component)
				if err != nil {
					return err
				}
				if len(pods) == 0 {
					return fmt.Errorf("no pod is labelled app.kubernetes.io/component=%s", component)
				}
				for _, pod := range pods {
					if !pod.Ready() {
						return fmt.Errorf("pod %s is %s, not ready", pod.Metadata.Name, pod.Status.Phase)
					}
				}
				return nil
			}))
		})
	}
}

// What a layout does without is not there.
func TestNoOtherFunctionRuns(t *testing.T) {
	ctx := story(t, 3*time.Minute)
	without := []string{"control-plane"}
	if core.Layout == cluster.Fused {
		without = []string{"amf", "amf-n2", "smf", "nrf", "pcf", "chf", "database", "subscriber-data"}
	}
	selector := "app.kubernetes.io/component in (" + strings.Join(without, ",") + ")"
	check(t, cluster.Eventually(ctx, patience, func() error {
		left, err := k.Run(ctx, "get", "deployments,pods,networkpolicies,configmaps", "-l", selector, "-o", "name")
		if err == nil && left != "" {
			err = fmt.Errorf("layout %s has %s", core.Layout, strings.Join(strings.Fields(left), " "))
		}
		return err
	}))
}

// Nothing crash-loops while the core comes up: whoever needs a peer waits for it.
func TestStartOrderDoesNotMatter(t *testing.T) {
	ctx := story(t, time.Minute)
	pods := scene.Must[[]cluster.Object](t)(k.Pods(ctx, "app.kubernetes.io/name=core5g"))
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 1 {
				t.Errorf("%s/%s was restarted %d times while the core came up", pod.Metadata.Name, c.Name, c.RestartCount)
			}
		}
	}
}

func TestConditionsAreCurrent(t *testing.T) {
	ctx := story(t, time.Minute)
	for _, object := range []string{"upfinstance/" + upfInstance, "core5g/core5g", "slice/" + firstSlice} {
		var o cluster.Object
		check(t, k.JSON(ctx, &o, "get", object))
		if len(o.Status.Conditions) == 0 {
			t.Errorf("%s has no conditions", object)
		}
		for _, c := range o.Status.Conditions {
			if c.ObservedGeneration != o.Metadata.Generation {
				t.Errorf("%s: condition %s is of generation %d, the object of %d", object, c.Type, c.ObservedGeneration, o.Metadata.Generation)
			}
			if c.Reason == "" {
				t.Errorf("%s: condition %s has no reason", object, c.Type)
			}
		}
	}
}
