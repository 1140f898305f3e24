package upf

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

func TestReadSessions(t *testing.T) {
	for name, c := range map[string]struct {
		metrics, wantError string
		want               int64
	}{
		"as upf-c writes it":   {metrics: "# HELP upf_sessions PFCP sessions.\n# TYPE upf_sessions gauge\nupf_sessions 3\n", want: 3},
		"large numbers":        {metrics: "upf_sessions 4e+05\n", want: 400000},
		"none":                 {metrics: "upf_sessions 0", want: 0},
		"another metric":       {metrics: "upf_sessions_dropped_total{reason=\"x\"} 3\n", wantError: "no metric upf_sessions"},
		"not a number":         {metrics: "upf_sessions many\n", wantError: `is "many"`},
		"less than none":       {metrics: "upf_sessions -1\n", wantError: `is "-1"`},
		"nothing":              {wantError: "no metric upf_sessions"},
		"a line without limit": {metrics: strings.Repeat("x", 2<<20), wantError: "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSessions(strings.NewReader(c.metrics))
			if (err == nil) != (c.wantError == "") || (err != nil && !strings.Contains(err.Error(), c.wantError)) {
				t.Fatalf("error %v, want %q", err, c.wantError)
			}
			if got != c.want {
				t.Errorf("%d sessions, want %d", got, c.want)
			}
		})
	}
}

// The name of the metric is upf-c's to choose; its page is checked against what upf-c serves.
func TestSessionsMetricIsOneOfUPFC(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "upf", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "| `"+metricSessions+"` | gauge |  |") {
		t.Errorf("upf-c has no gauge %s without labels", metricSessions)
	}
}

func TestScrapeSessionsOfAPodThatDoesNotAnswer(t *testing.T) {
	if _, err := ScrapeSessions(t.Context(), &corev1.Pod{}); err == nil {
		t.Error("a pod without an address was asked")
	}
	server := httptest.NewServer(http.NotFoundHandler())
	host, _, _ := net.SplitHostPort(server.Listener.Addr().String())
	server.Close()
	if _, err := ScrapeSessions(t.Context(), &corev1.Pod{Status: corev1.PodStatus{PodIP: host}}); err == nil {
		t.Error("nobody listens, and there was an answer")
	}
}

func (r *unitRig) ready() {
	r.t.Helper()
	pod := r.pod()
	if pod == nil {
		r.t.Fatal("no pod was made")
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := r.live.Status().Update(r.t.Context(), pod); err != nil {
		r.t.Fatal(err)
	}
}

func (r *unitRig) change(change func(*api.UPFInstance)) {
	r.t.Helper()
	upf := r.upf()
	change(upf)
	if err := r.live.Update(r.t.Context(), upf); err != nil {
		r.t.Fatal(err)
	}
}

// A unit whose sessions do not end, or that does not tell, stops when its time is over.
func TestDrainEnds(t *testing.T) {
	for name, sessions := range map[string]func() (int64, error){
		"sessions stay":  func() (int64, error) { return 5, nil },
		"it is not told": func() (int64, error) { return 0, errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			rig := newUnitRig(t)
			rig.reconciler.Sessions = func(context.Context, *corev1.Pod) (int64, error) { return sessions() }
			rig.change(func(u *api.UPFInstance) {
				u.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
			})
			rig.mustPass()
			rig.ready()
			rig.mustPass()
			rig.change(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateLocked })
			rig.mustPass()
			rig.mustPass()
			unit := rig.upf().Status.UnitStatuses[0]
			if rig.pod() == nil || unit.State != api.UnitDraining || unit.Drain == nil || unit.Drain.Cause != "administrativeState is Locked" {
				t.Fatalf("the unit does not drain: %+v", unit)
			}
			rig.clock = rig.clock.Add(59 * time.Second)
			rig.mustPass()
			if rig.pod() == nil {
				t.Fatal("the pod was stopped before its time")
			}
			rig.clock = rig.clock.Add(time.Second)
			rig.mustPass()
			if rig.pod() != nil {
				t.Error("the pod was not stopped in time")
			}
			rig.mustPass()
			if unit := rig.upf().Status.UnitStatuses[0]; unit.State != api.UnitStopped || unit.Drain != nil {
				t.Errorf("the unit is %+v", unit)
			}
		})
	}
}

// The operator was away when the UPFInstance was deleted, and for longer than a drain takes: the drain begins when it
// is back, the SMF is told, and it ends.
func TestDeletionDrainsFromWhenItIsDone(t *testing.T) {
	rig := newUnitRig(t)
	rig.reconciler.Sessions = func(context.Context, *corev1.Pod) (int64, error) { return 5, nil }
	rig.change(func(u *api.UPFInstance) {
		u.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
	})
	rig.mustPass()
	rig.ready()
	rig.mustPass()
	if err := rig.live.Delete(t.Context(), rig.upf()); err != nil {
		t.Fatal(err)
	}
	rig.clock = rig.upf().DeletionTimestamp.Add(time.Hour)
	rig.mustPass()
	upf := rig.upf()
	unit := upf.Status.UnitStatuses[0]
	if rig.pod() == nil || unit.State != api.UnitDraining || unit.Drain == nil || !unit.Drain.StartedAt.Time.Equal(rig.clock) {
		t.Fatalf("the unit does not drain: %+v", unit)
	}
	ready := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionReady)
	if ready.Status != metav1.ConditionFalse || ready.Reason != api.ReasonDeleting || !strings.Contains(ready.Message, "5 PDU sessions") {
		t.Errorf("Ready is %+v", ready)
	}
	rig.clock = rig.clock.Add(59 * time.Second)
	rig.mustPass()
	if rig.pod() == nil {
		t.Fatal("the pod was stopped before its time")
	}
	rig.clock = rig.clock.Add(time.Second)
	rig.mustPass()
	if rig.pod() != nil {
		t.Fatal("the pod was not stopped in time")
	}
	rig.mustPass()
	if err := rig.live.Get(t.Context(), client.ObjectKeyFromObject(upf), upf); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}

// The operator was away while SMFs were to take a unit out: they have their time when it is back.
func TestSMFsHaveTheirTimeWhenTheOperatorIsBack(t *testing.T) {
	rig := newUnitRig(t)
	rig.change(func(u *api.UPFInstance) {
		u.Spec.MaxUnits = ptr.To[int32](2)
		u.Spec.N6.UnitAddresses = ptr.To[api.CIDR]("172.30.6.16/28")
	})
	slice := controllertest.Slice(t, "ns", "internet", "010203", "10.45.0.0/16")
	slice.Status.UPF = &api.SliceUPFStatus{Name: "upf", Units: []api.SliceUnitStatus{{Name: "upf-0", N3Endpoint: "172.30.3.16", N4Address: "10.96.0.1"}}}
	if err := rig.live.Create(t.Context(), slice.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	there := &api.Slice{}
	if err := rig.live.Get(t.Context(), client.ObjectKeyFromObject(slice), there); err != nil {
		t.Fatal(err)
	}
	there.Status = slice.Status
	if err := rig.live.Status().Update(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	rig.mustPass()
	rig.ready()
	rig.mustPass()
	rig.change(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateLocked })
	rig.mustPass()
	unit := rig.upf().Status.UnitStatuses[0]
	if rig.pod() == nil || unit.Drain == nil || unit.Drain.ReleasedAt == nil {
		t.Fatalf("the unit does not wait for the SMF: %+v", unit)
	}
	before := rig.reconciler
	rig.reconciler = &Reconciler{
		Client: before.Client, Live: before.Live, Platform: before.Platform, Recorder: before.Recorder, Now: before.Now, applier: before.applier,
		Sessions: before.Sessions, Rejections: before.Rejections, Topology: before.Topology,
	}
	rig.clock = rig.clock.Add(time.Hour)
	rig.mustPass()
	if rig.pod() == nil {
		t.Fatal("the unit went before an SMF could be told")
	}
	rig.clock = rig.clock.Add(SMFReleaseTimeout)
	rig.mustPass()
	if rig.pod() != nil {
		t.Error("an SMF that does not answer keeps it")
	}
}

// A pod with the labels of a unit that somebody else has made is not the UPFInstance's to delete.
func TestDeletionLeavesPodsOfOthers(t *testing.T) {
	rig := newUnitRig(t)
	rig.mustPass()
	theirs := rig.pod().DeepCopy()
	theirs.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: "theirs", Labels: theirs.Labels}
	if err := rig.live.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := rig.live.Delete(t.Context(), rig.upf()); err != nil {
		t.Fatal(err)
	}
	rig.mustPass()
	rig.mustPass()
	if err := rig.live.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
		t.Errorf("it was deleted: %v", err)
	}
	if rig.pod() != nil {
		t.Error("the unit was left")
	}
}

// What is taken back in time ends the drain, and the unit goes on.
func TestDrainIsTakenBack(t *testing.T) {
	rig := newUnitRig(t)
	rig.reconciler.Sessions = func(context.Context, *corev1.Pod) (int64, error) { return 5, nil }
	rig.change(func(u *api.UPFInstance) {
		u.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
	})
	rig.mustPass()
	rig.ready()
	rig.change(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateLocked })
	rig.mustPass()
	rig.change(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateUnlocked })
	rig.mustPass()
	rig.clock = rig.clock.Add(time.Hour)
	rig.mustPass()
	if unit := rig.upf().Status.UnitStatuses[0]; rig.pod() == nil || unit.State != api.UnitReady || unit.Drain != nil {
		t.Errorf("the unit is %+v", unit)
	}
}
