package core

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/workloads"
)

func TestSilentTerminators(t *testing.T) {
	for name, c := range map[string]struct {
		// silent by round; which of a, b and c answer nothing then.
		silent []string
		want   string
	}{
		"all answer":                              {[]string{"", "", "", ""}, ""},
		"one is silent":                           {[]string{"a", "a", "a"}, "a"},
		"for a moment":                            {[]string{"a", "a", "", "a", "a"}, ""},
		"two are":                                 {[]string{"ab", "ab", "ab"}, "ab"},
		"nobody answers: it is we who are cut":    {[]string{"abc", "abc", "abc", "abc", "abc"}, ""},
		"nobody answered, and one does again":     {[]string{"abc", "abc", "abc", "ab"}, "ab"},
		"the last ones answer no more afterwards": {[]string{"a", "a", "a", "bc", "bc", "bc", "bc"}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, err := cluster.Scheme()
			if err != nil {
				t.Fatal(err)
			}
			pods := []client.Object{controllertest.TerminatorPod("ns", "core5g", "a"), controllertest.TerminatorPod("ns", "core5g", "b"), controllertest.TerminatorPod("ns", "core5g", "c")}
			// Those of other cores are no evidence, and neither are pods that are on their way out, or have no address yet.
			alone := controllertest.TerminatorPod("ns", "another", "alone")
			young := controllertest.TerminatorPod("ns", "core5g", "young")
			young.Status.PodIP = ""
			worker := controllertest.TerminatorPod("ns", "core5g", "worker")
			worker.Labels[api.LabelComponent] = "amf"
			live := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&corev1.Pod{}).WithObjects(append(pods, alone, young, worker)...).Build()
			now := time.Unix(1_000_000, 0)
			round := ""
			s := &SilentTerminators{Client: live, Now: func() time.Time { return now }, Reach: func(_ context.Context, pod *corev1.Pod) error {
				if strings.Contains(round, pod.Name) || pod.Name == "alone" || pod.Name == "worker" {
					return errors.New("no route to host")
				}
				return nil
			}}
			for _, round = range c.silent {
				now = now.Add(silenceEvery)
				if err := s.look(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var list corev1.PodList
			if err := live.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			var out []string
			for i := range list.Items {
				pod := &list.Items[i]
				if len(pod.Status.Conditions) != 2 || pod.Status.PodIP == "" && pod.Name != "young" {
					t.Errorf("pod %s has %+v", pod.Name, pod.Status)
				}
				if !workloads.PodReady(pod) {
					out = append(out, pod.Name)
					if ready := pod.Status.Conditions[0]; ready.Reason != ReasonSilent || !strings.Contains(ready.Message, "no route to host") || ready.LastTransitionTime.IsZero() {
						t.Errorf("pod %s says %+v", pod.Name, ready)
					}
				}
			}
			slices.Sort(out)
			if got := strings.Join(out, ""); got != c.want {
				t.Errorf("taken out are %q, want %q", got, c.want)
			}
		})
	}
}
