package cluster

import (
	"context"
	"log/slog"

	"core5g.dev/core5g/images/access-management/configuration"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/operators/api/v1alpha1"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewWatcher has the Settings of the named core that are in force. reader is a cache of the namespace, or what stands for one.
func NewWatcher(reader client.Reader, namespace, core string, log *slog.Logger, registry prometheus.Registerer) *customresources.Watcher[procedure.Settings] {
	var good Good
	build := func(ctx context.Context) (*procedure.Settings, []customresources.Refusal, error) {
		o := &v1alpha1.Core5G{}
		err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: core}, o)
		switch {
		case apierrors.IsNotFound(err):
			o = nil
		case err != nil:
			return nil, nil, err
		}
		settings, refusals := Build(o, &good)
		return settings, refusals, nil
	}
	return customresources.New(customresources.Options[procedure.Settings]{
		Function: "AMF",
		Names: customresources.Names{
			Refused: "core5g_amf_configuration_refused", Changes: "core5g_amf_configuration_changes_total", Failures: "core5g_amf_configuration_read_failures_total",
		},
		Kinds: []client.Object{&v1alpha1.Core5G{}}, Build: build, Equal: configuration.Equal, Log: log, Registry: registry,
	})
}
