package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// Any pod may be deleted at any time. Those that are not on the packets' way cost no packet; after
// the others the phone is back without anybody's help.
func TestPodsDeletedUnderTraffic(t *testing.T) {
	type death struct {
		component string
		lossless  bool
	}
	tests := []death{
		{"operator", true},
		{"subscriber-data", true},
		{"pcf", true},
		{"chf", true},
		{"nrf", true},
		{"database", true},
		{"amf", ownPlane()}, // whose UEs outlive its workers
		{"smf", ownPlane()}, // whose sessions outlive its pods
		{"upf", false},
	}
	if ownPlane() {
		tests = append(tests, death{"session-store", true})
	}
	if core.Layout == cluster.Fused {
		tests = append(tests, death{"control-plane", false}) // which gNBs are connected to
	}
	for _, tt := range tests {
		t.Run(tt.component, func(t *testing.T) {
			ctx := story(t, 7*time.Minute)
			switch componentOf(tt.component) {
			case "":
				t.Skip("layout Fused does without")
			case tt.component:
			default:
				t.Skipf("layout Fused has one pod for it: the story of %s", componentOf(tt.component))
			}
			attached(t, ctx, firstPhone)
			slice := ""
			if tt.component == "smf" && !ownPlane() {
				slice = firstSlice
			}
			were := pods(t, ctx, tt.component, slice)
			before := were[0]
			tr := startTraffic(ctx, firstPhone)

			began := time.Now()
			_, err := k.Run(ctx, "delete", "pod", before.Metadata.Name, "--wait=false")
			check(t, err)
			check(t, cluster.Eventually(ctx, 3*time.Minute, func() error {
				selector := "app.kubernetes.io/component=" + tt.component
				if slice != "" {
					selector += ",core5g.dev/slice=" + slice
				}
				pods, err := k.Pods(ctx, selector)
				if err != nil {
					return err
				}
				for _, pod := range pods {
					old := slices.ContainsFunc(were, func(was cluster.Object) bool { return was.Metadata.UID == pod.Metadata.UID })
					if !old && pod.Ready() {
						return nil
					}
				}
				return fmt.Errorf("no new pod of %s is ready", tt.component)
			}))
			t.Logf("a new pod of %s is ready after %.1f s", tt.component, time.Since(began).Seconds())
			if tt.lossless {
				lossless(t, tr)
			} else {
				tr.Stop()
			}
			attached(t, ctx, firstPhone)
			t.Logf("%s: the phone has its session after %.1f s at most; lost meanwhile: %v %v", tt.component, time.Since(began).Seconds(), tr.Lost, tr.Err)

			// Healed means that a phone can come anew, too.
			check(t, cluster.Eventually(ctx, 3*time.Minute, func() error {
				if err := k.RAN(ctx, nil, "deregister", "--ue", firstPhone); err != nil {
					return err
				}
				return k.RAN(ctx, nil, "register", "--ue", firstPhone)
			}))
			attached(t, ctx, firstPhone)
		})
	}
}

// Both halves of the UPF may die alone. Without upf-c the packets go on; upf-u gets its sessions
// back from upf-c, and the SMF notices neither.
func TestUPFHalvesKilledUnderTraffic(t *testing.T) {
	for _, half := range []string{"upf-c", "upf-u"} {
		t.Run(half, func(t *testing.T) {
			ctx := story(t, 5*time.Minute)
			ue := attached(t, ctx, firstPhone)
			before := only(t, ctx, "upf", "")
			restarts := restartsOf(before, half)
			tr := startTraffic(ctx, firstPhone)

			began := time.Now()
			killProcess(t, ctx, half)
			check(t, cluster.Eventually(ctx, patience, func() error {
				pod := only(t, ctx, "upf", "")
				if pod.Metadata.UID != before.Metadata.UID {
					return fmt.Errorf("the pod was replaced")
				}
				if restartsOf(pod, half) == restarts || !pod.Ready() {
					return fmt.Errorf("%s has not been restarted yet", half)
				}
				return nil
			}))
			if half == "upf-c" {
				lossless(t, tr)
			} else {
				tr.Stop()
			}
			check(t, pingsAgain(ctx, firstPhone, patience))
			t.Logf("%s: packets cross %.1f s after it was killed at most; lost meanwhile: %v %v", half, time.Since(began).Seconds(), tr.Lost, tr.Err)
			after := attached(t, ctx, firstPhone)
			if after.Sessions[0].Address != ue.Sessions[0].Address {
				t.Errorf("the session was made anew: address %s, was %s", after.Sessions[0].Address, ue.Sessions[0].Address)
			}
		})
	}
}

// killProcess ends a process of the node by SIGKILL, as a crash would: from a pod that sees the
// node's processes, for the UPF's own images have no shell.
func killProcess(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	ran := only(t, ctx, "ran", "")
	overrides := fmt.Sprintf(`{"spec": {"hostPID": true, "restartPolicy": "Never", "containers": [{
		"name": "kill", "image": %q, "imagePullPolicy": "IfNotPresent",
		"command": ["/bin/busybox", "sh", "-c", "kill -9 $(pidof %s)"]}]}}`, ran.Spec.Containers[0].Image, name)
	pod := "kill-" + name
	_, err := k.Run(ctx, "run", pod, "--image", ran.Spec.Containers[0].Image, "--restart=Never", "--overrides", overrides)
	check(t, err)
	t.Cleanup(func() { _, _ = k.Run(context.Background(), "delete", "pod", pod, "--wait=false") })
	_, err = k.Run(ctx, "wait", "pod/"+pod, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
	check(t, err)
}

func restartsOf(pod cluster.Object, container string) int {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == container {
			return c.RestartCount
		}
	}
	return -1
}
