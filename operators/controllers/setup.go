package controllers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"core5g.dev/core5g/images/associations"
	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/core"
	"core5g.dev/core5g/operators/controllers/metrics"
	"core5g.dev/core5g/operators/controllers/slice"
	"core5g.dev/core5g/operators/controllers/subscriber"
	"core5g.dev/core5g/operators/controllers/upf"
	"core5g.dev/core5g/operators/n4"
	"core5g.dev/core5g/operators/nrf"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/operators/storemember"
	"core5g.dev/core5g/operators/userplane"
	"core5g.dev/core5g/upf/upfc/topology"
)

// Options of Setup that tests replace.
type Options struct {
	Platform specs.Platform
	// NRF returns a client for the NRF at a base URL; the identity is nil where the SBI has no TLS.
	NRF func(baseURL string, identity *sbitls.Identity) core.NRFClient
	// Release tells a UPF that the association of an SMF is over.
	Release func(ctx context.Context, upfAddress, smfNodeID string) error
	// Sessions counts the PFCP sessions of a UPF unit.
	Sessions func(ctx context.Context, pod *corev1.Pod) (int64, error)
	// Topology asks a UPF unit where its CPUs, ports and memory are.
	Topology func(ctx context.Context, pod *corev1.Pod) (*topology.Topology, error)
	// Associations asks a pod of the SMF for its associations with UPFs, and how many sessions some have, by Node ID.
	Associations func(ctx context.Context, pod *corev1.Pod, units []string) (*associations.Report, error)
	// UserPlane returns the user-plane API of the SMF at a base URL.
	UserPlane func(baseURL string, identity *sbitls.Identity) slice.UserPlane
	// StoreSynced asks a server of an embedded session store of three whether it has everything.
	StoreSynced func(ctx context.Context, address, password string) (bool, error)
	// Reach an N2 terminator; nil: they are not asked.
	Reach func(ctx context.Context, pod *corev1.Pod) error
	Now   func() time.Time
	// Metrics is where the state of all objects is registered; nil for nowhere.
	Metrics prometheus.Registerer
}

// DefaultOptions speak to real NRFs and read the real clock.
func DefaultOptions(p specs.Platform) Options {
	var sbi *http.Client = nrf.NewHTTP()
	calls := userplane.NewHTTP()
	over := func(clear *http.Client, identity *sbitls.Identity) *http.Client {
		if identity == nil {
			return clear
		}
		return identity.HTTP()
	}
	return Options{
		Platform: p,
		NRF: func(baseURL string, identity *sbitls.Identity) core.NRFClient {
			return &nrf.Client{BaseURL: baseURL, HTTP: over(sbi, identity)}
		},
		Release:  n4.ReleaseAssociation,
		Sessions: upf.ScrapeSessions,
		Topology: upf.ScrapeTopology, Associations: upf.ScrapeAssociations,
		UserPlane: func(baseURL string, identity *sbitls.Identity) slice.UserPlane {
			return &userplane.SMF{BaseURL: baseURL, HTTP: over(calls, identity)}
		},
		StoreSynced: storemember.Synced,
		Reach:       core.ReachMetrics,
		Now:         time.Now,
		Metrics:     ctrlmetrics.Registry,
	}
}

// Setup adds every controller to the manager.
func Setup(mgr ctrl.Manager, o Options) error {
	if o.Metrics != nil {
		if err := metrics.Register(context.Background(), o.Metrics, mgr); err != nil {
			return err
		}
	}
	rejections := metrics.NewRejections()
	if o.Metrics != nil {
		if err := o.Metrics.Register(rejections); err != nil {
			return err
		}
	}
	recorder := mgr.GetEventRecorderFor("core5g-operator")
	shown := &certifying.Identities{}
	for name, c := range map[string]interface{ SetupWithManager(ctrl.Manager) error }{
		"Core5G": &core.Reconciler{
			Client: mgr.GetClient(), Platform: o.Platform, Recorder: recorder,
			Registrations: &core.Registrations{Client: mgr.GetClient(), NRF: o.NRF, Identities: shown, Now: o.Now},
			Now:           o.Now,
			StoreSynced:   o.StoreSynced,
		},
		"Slice": &slice.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Platform: o.Platform, Recorder: recorder, Now: o.Now, Release: o.Release, UserPlane: o.UserPlane, Identities: shown},
		"UPFInstance": &upf.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Platform: o.Platform, Recorder: recorder, Now: o.Now,
			Sessions: o.Sessions, Topology: o.Topology, Associations: o.Associations, Rejections: rejections,
		},
		"Subscriber": &subscriber.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		"serving":    &upf.ServingReconciler{Client: mgr.GetClient()},
	} {
		if err := c.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("controller of %s: %w", name, err)
		}
	}
	if o.Reach != nil {
		if err := mgr.Add(&core.SilentTerminators{Client: mgr.GetClient(), Reach: o.Reach, Now: o.Now}); err != nil {
			return err
		}
	}
	for _, kind := range []client.Object{&api.Core5G{}, &api.Slice{}, &api.UPFInstance{}, &api.Subscriber{}} {
		if err := (&cluster.StoredVersion{Client: mgr.GetClient(), Kind: kind}).SetupWithManager(mgr); err != nil {
			return fmt.Errorf("controller of the version of a %T: %w", kind, err)
		}
	}
	return nil
}
