package upf

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// mistakes are changes of a UPFInstance that an admission webhook refuses, where there is one, with the reason that the conditions have.
var mistakes = map[string]struct {
	change func(*api.UPFInstance)
	reason string
}{
	"memory that does not hold the sessions": {func(upf *api.UPFInstance) {
		upf.Spec.Sessions, upf.Spec.Hugepages.Amount = 400000, ptr.To(resource.MustParse("256Mi"))
	}, api.ReasonTooLittleMemory},
	"addresses of another UPFInstance": {func(upf *api.UPFInstance) { upf.Spec.N3.Endpoints = "172.30.3.64/28" }, api.ReasonAddressOverlap},
	"a network instance that is none": {func(upf *api.UPFInstance) {
		upf.Spec.NetworkInstances = []api.NetworkInstance{{Name: "ims", VLAN: ptr.To[int32](200), Addresses: []api.InterfaceAddress{"172.30.7.2"}}}
	}, api.ReasonMalformed},
}

// beside makes an older UPFInstance and a Slice.
func (r pairRig) beside() {
	r.t.Helper()
	older := controllertest.UPF(r.t, "ns")
	older.Name, older.CreationTimestamp = "older", metav1.NewTime(r.clock.Add(-time.Hour))
	older.Spec.N3.Endpoints, older.Spec.N6.Address = "172.30.3.64/28", "172.30.6.3/24"
	slice := controllertest.Slice(r.t, "ns", "internet", "010203", "10.45.0.0/16")
	for _, o := range []client.Object{older, slice} {
		if err := r.live.Create(r.t.Context(), o); err != nil {
			r.t.Fatal(err)
		}
	}
	slice.Status.UPF = &api.SliceUPFStatus{Name: "upf"}
	if err := r.live.Status().Update(r.t.Context(), slice); err != nil {
		r.t.Fatal(err)
	}
	r.change(func(upf *api.UPFInstance) { upf.CreationTimestamp = metav1.NewTime(r.clock) })
}

// wantUntouched checks that these pods have not been touched, and returns the UPFInstance.
func (r pairRig) wantUntouched(pods ...*corev1.Pod) *api.UPFInstance {
	r.t.Helper()
	for _, pod := range pods {
		switch now := r.member(pod.Name); {
		case now == nil:
			r.t.Errorf("pod %s is gone", pod.Name)
		case now.UID != pod.UID || !now.DeletionTimestamp.IsZero():
			r.t.Errorf("pod %s was taken down", pod.Name)
		}
	}
	return r.upf()
}

// wantMistake checks that the conditions say what is wrong, and which units wait for it.
func wantMistake(t *testing.T, upf *api.UPFInstance, reason string) {
	t.Helper()
	for kind, status := range map[string]metav1.ConditionStatus{
		api.ConditionReady: metav1.ConditionFalse, api.ConditionEndpointsAllocated: metav1.ConditionFalse, api.ConditionUpdatePending: metav1.ConditionTrue,
	} {
		if c := meta.FindStatusCondition(upf.Status.Conditions, kind); c == nil || c.Status != status || c.Reason != reason {
			t.Errorf("condition %s is %+v, want %s/%s", kind, c, status, reason)
		}
	}
}

// No pod can be made of a mistake, so none that serves is taken down for it, and when it is mended nothing has happened.
func TestRunningUnitOutlivesAMistake(t *testing.T) {
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			r := pairRig{newUnitRig(t)}
			r.beside()
			r.mustPass()
			pod := r.runs("upf-0", true)
			r.mustPass()
			before := r.upf()
			if len(before.Status.Endpoints) != 1 {
				t.Fatalf("endpoints %v, want one of the Slice", before.Status.Endpoints)
			}
			r.change(func(upf *api.UPFInstance) {
				mistake.change(upf)
				// An update that was let through earlier, and a drain that has begun, are of what can be made.
				metav1.SetMetaDataAnnotation(&upf.ObjectMeta, api.AnnotationApplyUpdate, specs.UPFUnit(upf, nil, r.reconciler.Platform, 0, upf.Status.UnitStatuses[0].N4Address).TemplateHash)
			})
			for range 3 {
				r.mustPass()
			}
			upf := r.wantUntouched(pod)
			wantMistake(t, upf, mistake.reason)
			if u := upf.Status.UnitStatuses; len(u) != 1 || u[0].State != api.UnitReady || u[0].Drain != nil {
				t.Errorf("units %+v, want one that is ready", u)
			}
			if diff := cmp.Diff(before.Status.Endpoints, upf.Status.Endpoints); diff != "" {
				t.Errorf("the unit has other endpoints than its pod (-want +got):\n%s", diff)
			}
			r.change(func(upf *api.UPFInstance) { upf.Spec, upf.Annotations = before.Spec, before.Annotations })
			r.mustPass()
			upf = r.wantUntouched(pod)
			if !meta.IsStatusConditionTrue(upf.Status.Conditions, api.ConditionEndpointsAllocated) || !meta.IsStatusConditionFalse(upf.Status.Conditions, api.ConditionUpdatePending) {
				t.Errorf("conditions %+v after the mistake was mended", upf.Status.Conditions)
			}
		})
	}
}

// Units that the mistake has no addresses for are asked for as before.
func TestRunningUnitsOutliveAMistakeAboutTheirAddresses(t *testing.T) {
	r := pairRig{newUnitRig(t)}
	r.change(func(upf *api.UPFInstance) {
		upf.Spec.Units, upf.Spec.N6.UnitAddresses = ptr.To[int32](2), ptr.To[api.CIDR]("172.30.6.16/28")
	})
	r.mustPass()
	pods := []*corev1.Pod{r.runs("upf-0", true), r.runs("upf-1", true)}
	r.mustPass()
	before := r.upf().Status.UnitStatuses
	mistake := mistakes["a network instance that is none"]
	r.change(mistake.change)
	for range 3 {
		r.mustPass()
	}
	upf := r.wantUntouched(pods...)
	wantMistake(t, upf, mistake.reason)
	if diff := cmp.Diff(before, upf.Status.UnitStatuses); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	if err := r.live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf-1-n4"}, &corev1.Service{}); err != nil {
		t.Errorf("the second unit has no N4 Service any more: %v", err)
	}
}

// A standby is kept as what it is one of.
func TestPairOutlivesAMistake(t *testing.T) {
	for name, mistake := range mistakes {
		for _, redundant := range []bool{true, false} {
			t.Run(map[bool]string{true: name, false: name + ", and no redundancy any more"}[redundant], func(t *testing.T) {
				r := newPairRig(t)
				r.beside()
				a, b := r.inSync()
				r.serves(2, b, a) // it has taken over
				r.runs("upf-0-b", true)
				r.runs("upf-0", false)
				r.mustPass()
				r.change(func(upf *api.UPFInstance) {
					mistake.change(upf)
					if !redundant {
						upf.Spec.Redundancy = nil
					}
				})
				for range 3 {
					r.mustPass()
				}
				upf := r.wantUntouched(a, b)
				wantMistake(t, upf, mistake.reason)
				if u := upf.Status.UnitStatuses; len(u) != 1 || u[0].State != api.UnitReady {
					t.Errorf("units %+v, want one that is ready", u)
				}
				for _, m := range specs.Members {
					if err := r.live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: specs.StandbyServiceName("upf", 0, m)}, &corev1.Service{}); err != nil {
						t.Errorf("members do not reach each other: %v", err)
					}
				}
				service := &corev1.Service{}
				if err := r.live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: specs.N4ServiceName("upf", 0)}, service); err != nil || service.Spec.Selector[api.LabelServing] == "" {
					t.Errorf("N4 leads to %v, not to who serves, %v", service.Spec.Selector, err)
				}
			})
		}
	}
}
