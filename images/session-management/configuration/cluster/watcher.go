package cluster

import (
	"context"
	"log/slog"
	"slices"

	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watcher has the Snapshot of one core that is in force.
type Watcher struct {
	*customresources.Watcher[configuration.Snapshot]
	reader          client.Reader
	namespace, core string
	// slice with pods of its own, which these are; "": all that have none.
	slice string
	good  Good
}

// NewWatcher of the named core. reader is a cache of the namespace, or what stands for one.
func NewWatcher(reader client.Reader, namespace, core string, log *slog.Logger, registry prometheus.Registerer) *Watcher {
	w := &Watcher{reader: reader, namespace: namespace, core: core}
	w.Watcher = customresources.New(customresources.Options[configuration.Snapshot]{
		Function: "SMF",
		Names: customresources.Names{
			Refused: "core5g_smf_configuration_refused", Changes: "core5g_smf_configuration_changes_total", Failures: "core5g_smf_configuration_read_failures_total",
		},
		Kinds: []client.Object{&v1alpha1.Core5G{}, &v1alpha1.Slice{}, &v1alpha1.UPFInstance{}},
		Build: w.build, Equal: (*configuration.Snapshot).Equal, Log: log, Registry: registry,
	})
	return w
}

// Serve the one Slice with sessionManagement Dedicated whose pods these are; without it, or with "", all that have no pods of
// their own. It comes before the first look.
func (w *Watcher) Serve(slice string) { w.slice = slice }

func (w *Watcher) serves(s *v1alpha1.Slice) bool {
	if s.Spec.CoreRef.NameOrDefault() != w.core {
		return false
	}
	dedicated := s.Spec.SessionManagement == v1alpha1.SessionManagementDedicated
	return w.slice == "" && !dedicated || dedicated && w.slice == s.Name
}

func (w *Watcher) build(ctx context.Context) (*configuration.Snapshot, []Refusal, error) {
	objects, err := w.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	now, refusals := Build(objects, &w.good)
	return now, refusals, nil
}

func (w *Watcher) read(ctx context.Context) (Objects, error) {
	var o Objects
	core := &v1alpha1.Core5G{}
	err := w.reader.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: w.core}, core)
	switch {
	case err == nil:
		o.Core = core
	case !apierrors.IsNotFound(err):
		return o, err
	}
	var all v1alpha1.SliceList
	if err := w.reader.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return o, err
	}
	o.Slices = slices.DeleteFunc(all.Items, func(s v1alpha1.Slice) bool { return !w.serves(&s) })
	var upfs v1alpha1.UPFInstanceList
	if err := w.reader.List(ctx, &upfs, client.InNamespace(w.namespace)); err != nil {
		return o, err
	}
	o.UPFInstances = slices.DeleteFunc(upfs.Items, func(u v1alpha1.UPFInstance) bool { return u.Spec.CoreRef.NameOrDefault() != w.core })
	return o, nil
}
