package slice

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/specs"
)

const (
	// smfStopTimeout bounds how long the end of a Slice waits for its SMF.
	smfStopTimeout = time.Minute
	// releaseRetry is how soon a UPF that did not release sessions is asked again.
	releaseRetry = 2 * time.Second
)

// delete stops free5GC's SMF first, so that it leaves the NRF while that is still there for it, and then has the
// UPF drop the SMF's PDU sessions; with the object its N3 endpoint becomes free. It ends in any case, a while after
// it has begun: the operator may have been away when the Slice was deleted.
func (r *Reconciler) delete(ctx context.Context, slice *api.Slice) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(slice, api.Finalizer) {
		return ctrl.Result{}, nil
	}
	if cluster.NamespaceEnds(ctx, r.Live, slice.Namespace) {
		controllerutil.RemoveFinalizer(slice, api.Finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, slice))
	}
	began := r.Now()
	if c := meta.FindStatusCondition(slice.Status.Conditions, api.ConditionReleased); c != nil {
		began = c.LastTransitionTime.Time
	}
	left := began.Add(smfStopTimeout).Sub(r.Now())
	for _, step := range []struct {
		reason string
		do     func(context.Context, *api.Slice) (problem string, err error)
	}{
		{"SMFNotStopped", r.stopSMF},
		{"SessionsNotReleased", r.releaseSessions},
	} {
		problem, err := step.do(ctx, slice)
		if err != nil {
			return ctrl.Result{}, err
		}
		if problem != "" && left > 0 {
			return ctrl.Result{RequeueAfter: min(left, 2*time.Second)}, r.noteEnd(ctx, slice, step.reason, problem, began)
		}
		if problem != "" {
			r.Recorder.Eventf(slice, corev1.EventTypeWarning, step.reason, "%s within %s; the Slice ends without it", problem, smfStopTimeout)
		}
	}
	if err := r.applier.ForgetAllocations(ctx, specs.SliceAllocations(slice)); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(slice, api.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, slice))
}

// noteEnd writes what the end of the Slice waits for, and since when.
func (r *Reconciler) noteEnd(ctx context.Context, slice *api.Slice, reason, problem string, began time.Time) error {
	base := slice.DeepCopy()
	slice.Status.ObservedGeneration = slice.Generation
	meta.SetStatusCondition(&slice.Status.Conditions, metav1.Condition{
		Type: api.ConditionReleased, Status: metav1.ConditionFalse, Reason: reason, Message: problem,
		ObservedGeneration: slice.Generation, LastTransitionTime: metav1.NewTime(began),
	})
	conditions.Of(&slice.Status.Conditions, slice.Generation).No(api.ConditionReady, api.ReasonDeleting, "the Slice is deleted: "+problem)
	return conditions.PatchStatus(ctx, r.Client, base, slice, base.Status, slice.Status)
}

func (r *Reconciler) stopSMF(ctx context.Context, slice *api.Slice) (string, error) {
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = slice.Namespace, specs.SMFObjectName(slice.Spec.CoreRef.NameOrDefault(), slice.Name)
	if err := r.applier.Remove(ctx, slice, deployment); err != nil {
		return "", err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(slice.Namespace), client.MatchingLabels{
		api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: slice.Name,
	}); err != nil {
		return "", err
	}
	for i := range pods.Items {
		if pods.Items[i].Labels[api.LabelSessionManagement] == "" { // which core5g's own have
			return fmt.Sprintf("pod %s did not stop", pods.Items[i].Name), nil
		}
	}
	return "", nil
}

// releaseSessions speaks to the UPF in the SMF's place. A UPF that is not there holds no sessions.
func (r *Reconciler) releaseSessions(ctx context.Context, slice *api.Slice) (string, error) {
	for _, used := range []*api.SliceUPFStatus{slice.Status.PreviousUPF, slice.Status.UPF} {
		if problem, err := r.releaseFrom(ctx, slice, used); problem != "" || err != nil {
			return problem, err
		}
	}
	return "", nil
}

func (r *Reconciler) releaseFrom(ctx context.Context, slice *api.Slice, used *api.SliceUPFStatus) (string, error) {
	if used == nil || used.N4Address == "" {
		return "", nil
	}
	upf := &api.UPFInstance{}
	err := r.Get(ctx, client.ObjectKey{Namespace: slice.Namespace, Name: used.Name}, upf)
	if apierrors.IsNotFound(err) || (err == nil && upf.Status.Units == 0) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	service := &corev1.Service{}
	name := specs.SMFObjectName(slice.Spec.CoreRef.NameOrDefault(), slice.Name)
	err = r.Get(ctx, client.ObjectKey{Namespace: slice.Namespace, Name: name}, service)
	if apierrors.IsNotFound(err) {
		return "", nil // there never was an SMF
	}
	if err != nil {
		return "", err
	}
	addresses := []string{used.N4Address}
	if len(used.Units) > 0 {
		addresses = nil
		for _, u := range used.Units {
			addresses = append(addresses, u.N4Address)
		}
	}
	node := service.Spec.ClusterIP
	answer := asking.Ask(ctx, r.asking, slice, "release of "+used.Name, fmt.Sprint(slice.Generation, node, addresses), asking.Every[struct{}](releaseRetry), func(ctx context.Context) (struct{}, error) {
		failures := make([]error, len(addresses))
		var all sync.WaitGroup
		for i, address := range addresses {
			all.Go(func() { failures[i] = r.Release(ctx, address, node) })
		}
		all.Wait()
		return struct{}{}, errors.Join(failures...)
	})
	switch {
	case !answer.Known:
		return fmt.Sprintf("UPFInstance %s is asked to release the sessions of the SMF and did not answer", upf.Name), nil
	case answer.Err != nil:
		return fmt.Sprintf("UPFInstance %s did not release the sessions of the SMF: %v", upf.Name, answer.Err), nil
	}
	return "", nil
}
