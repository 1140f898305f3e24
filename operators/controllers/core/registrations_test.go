package core

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// registrationRig is one core with an NRF in memory and a clock that the test moves.
type registrationRig struct {
	t             *testing.T
	registrations *Registrations
	nrf           *controllertest.FakeNRF
	clock         time.Time
	core          *api.Core5G
	client        client.Client
}

func newRegistrationRig(t *testing.T, pods ...*corev1.Pod) *registrationRig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, p := range pods {
		builder = builder.WithObjects(p)
	}
	nrfs := controllertest.NewFakeNRFs()
	rig := &registrationRig{
		t: t, clock: time.Unix(1_000_000, 0), client: builder.Build(),
		core: &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core5g"}},
	}
	rig.nrf = nrfs.At("http://core5g-nrf.ns.svc:8000", nil)
	now := func() time.Time { return rig.clock }
	questions := asking.By(now, func(do func()) { do() })
	rig.registrations = &Registrations{Client: rig.client, NRF: func(baseURL string, identity *sbitls.Identity) NRFClient { return nrfs.At(baseURL, identity) }, Identities: &certifying.Identities{}, Now: now, asking: questions}
	return rig
}

// after moves the clock past a period and checks.
func (r *registrationRig) after(d time.Duration, expected ...expectedFunction) registrationReport {
	r.t.Helper()
	r.clock = r.clock.Add(d)
	return r.registrations.check(r.t.Context(), r.core, expected)
}

func smfPod(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "smf-" + uid, UID: types.UID(uid)}}
}

func smf(pod *corev1.Pod) expectedFunction {
	return expectedFunction{nfType: "SMF", host: "core5g-smf-internet", pod: pod}
}

func TestRegistrationIsPutBackWithoutARestart(t *testing.T) {
	pod := smfPod("1")
	r := newRegistrationRig(t, pod)
	r.nrf.Put("i", "SMF", "core5g-smf-internet")
	if got := r.after(0, smf(pod)); got.problem != "" {
		t.Fatalf("all is well, and yet: %s", got.problem)
	}
	r.nrf.Lose()
	got := r.after(RegistrationPeriod, smf(pod))
	if !strings.Contains(got.problem, "SMF core5g-smf-internet") || len(got.events) != 0 || r.nrf.Has("i") {
		t.Fatalf("first it is given time to heal itself: %+v", got)
	}
	got = r.after(RestoreGrace, smf(pod))
	if len(got.events) != 1 || got.events[0].reason != "RegistrationRestored" || !r.nrf.Has("i") {
		t.Fatalf("then it is put back: %+v", got)
	}
	if got = r.after(2*time.Second, smf(pod)); got.problem != "" {
		t.Errorf("it is there again, and yet: %s", got.problem)
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}); err != nil {
		t.Errorf("the pod was restarted: %v", err)
	}
}

// An AMF that the NRF does not show still serves its UEs: its restart would harm more than it heals.
func TestFunctionOfAnUnknownProfileIsNotRestarted(t *testing.T) {
	for nfType, cost := range map[string]string{"AMF": "every UE", "SMF": "the PDU sessions of its slice", "PCF": ""} {
		t.Run(nfType, func(t *testing.T) {
			pod := smfPod("1")
			r := newRegistrationRig(t, pod)
			lost := expectedFunction{nfType: nfType, host: "core5g-function", pod: pod}
			r.after(0, lost)
			if got := r.after(lostGrace-time.Second, lost); len(got.events) != 0 {
				t.Fatalf("too early: %+v", got.events)
			}
			got := r.after(2*time.Second, lost)
			for _, want := range []string{nfType + " core5g-function", "kubectl -n ns delete pod " + pod.Name, cost} {
				if len(got.events) != 1 || got.events[0].reason != "NotRegistered" || !strings.Contains(got.events[0].message, want) || !strings.Contains(got.problem, want) {
					t.Errorf("problem %q and events %+v do not say %q", got.problem, got.events, want)
				}
			}
			for range 10 {
				if got = r.after(lostGrace, lost); len(got.events) != 0 || !strings.Contains(got.problem, "kubectl") {
					t.Fatalf("said once in an Event and always in the condition: %+v", got)
				}
			}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}); err != nil {
				t.Errorf("the pod was restarted: %v", err)
			}
			r.nrf.Put("i", nfType, "core5g-function")
			if got = r.after(RegistrationPeriod, lost); got.problem != "" {
				t.Errorf("it is there, and yet: %s", got.problem)
			}
		})
	}
}

func TestProfileOfAnotherProcessIsNotPutBack(t *testing.T) {
	old, fresh := smfPod("1"), smfPod("2")
	r := newRegistrationRig(t, old, fresh)
	r.nrf.Put("i", "SMF", "core5g-smf-internet")
	r.after(0, smf(old))
	r.nrf.Lose()
	r.after(RegistrationPeriod, smf(fresh))
	if r.after(RestoreGrace, smf(fresh)); r.nrf.Has("i") {
		t.Error("the new process answers to an identity that is not its own")
	}
}

func TestProfileOfADeletedSliceIsTakenOut(t *testing.T) {
	pod := smfPod("1")
	r := newRegistrationRig(t, pod)
	r.nrf.Put("i", "SMF", "core5g-smf-internet")
	r.nrf.Put("gone", "SMF", "core5g-smf-gone")
	r.nrf.Put("site", "SMF", "a-smf-of-the-site")
	got := r.after(0, smf(pod))
	if len(got.events) != 1 || got.events[0].reason != "Deregistered" {
		t.Errorf("events: %+v", got.events)
	}
	for instance, want := range map[string]bool{"i": true, "gone": false, "site": true} {
		if r.nrf.Has(instance) != want {
			t.Errorf("%s registered: %v, want %v", instance, !want, want)
		}
	}
}

func TestNRFIsAskedOnceAPeriodAndItsSilenceIsNoLoss(t *testing.T) {
	pod := smfPod("1")
	r := newRegistrationRig(t, pod)
	r.nrf.Put("i", "SMF", "core5g-smf-internet")
	r.after(0, smf(pod))
	asked := r.nrf.Asked
	if got := r.after(RegistrationPeriod/2, smf(pod)); r.nrf.Asked != asked || got.next != RegistrationPeriod/2 {
		t.Errorf("asked again after half a period; next in %s", got.next)
	}
	r.nrf.Down = true
	got := r.after(RegistrationPeriod, smf(pod))
	if !got.unknown || got.problem == "" {
		t.Errorf("an NRF that does not answer: %+v", got)
	}
	r.nrf.Down = false
	if got := r.after(lostGrace*2, smf(pod)); got.problem != "" || len(got.events) != 0 {
		t.Errorf("the NRF's silence was held against the SMF: %+v", got)
	}
}

func TestNothingIsExpectedOfAFunctionThatDoesNotRun(t *testing.T) {
	r := newRegistrationRig(t)
	r.after(0, smf(nil))
	if got := r.after(lostGrace*2, smf(nil)); got.problem != "" || len(got.events) != 0 {
		t.Errorf("got %+v", got)
	}
}
