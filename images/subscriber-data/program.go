package subscriberdata

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"core5g.dev/core5g/images/nf/nrf"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/ausf"
	"core5g.dev/core5g/images/subscriber-data/nssf"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriber-data/udm"
	"core5g.dev/core5g/images/subscriber-data/udr"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Parts are what the functions are made of.
type Parts struct {
	Directory *subscription.Directory
	// Records keep what is to be remembered, nil: in this process.
	Records *records.Records
	// Tells says whether this is the replica that tells of changes, nil: there is no other.
	Tells func() bool
	// NRF is the base URI of the NRF that knows the slices' SMFs.
	NRF string
	Now func() time.Time
	// Sequences makes the sequence numbers of challenges.
	Sequences *aka.Sequences
	// Callbacks calls back who asked for it.
	Callbacks http.RoundTripper
	// Withdraw as in Config.
	Withdraw bool
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// Functions are AUSF, UDM, UDR and NSSF.
type Functions struct {
	// Handler is their service based interface.
	Handler http.Handler

	ausf *ausf.AUSF
	udm  *udm.UDM
}

// New makes the functions.
func New(p Parts) *Functions {
	if p.Records == nil {
		p.Records = records.InMemory()
	}
	router := sbi.NewRouter(p.Log, p.Registry)
	f := &Functions{Handler: router, ausf: ausf.New(p.Directory, p.Sequences, p.Records, p.Now, p.Log, p.Registry), udm: udm.New(p.Directory, p.Records, p.Callbacks, p.Log, p.Registry)}
	f.ausf.Register(router)
	f.udm.Withdraws, f.udm.Tells = p.Withdraw, p.Tells
	f.udm.Register(router)
	p.Directory.OnChange(f.udm.Changed)
	udr.New(p.Directory, p.Records).Register(router)
	nssf.New(p.Directory, p.NRF).Register(router)
	return f
}

// NewHandler returns the service based interface of all four functions.
func NewHandler(p Parts) http.Handler { return New(p).Handler }

// Begin says that this replica tells of changes from now on.
func (f *Functions) Begin() { f.udm.Begin() }

// Run does what need be done now and then, until ctx ends.
func (f *Functions) Run(ctx context.Context) { f.udm.Run(ctx, f.ausf.Tidy) }

// functions are the profiles to register. Replicas are one instance to others, which has lost nothing when one of them begins,
// and stays when one of them ends.
func functions(c Config, shared bool) []nrf.Function {
	out := []nrf.Function{
		{Type: "AUSF", URI: c.AUSF, Services: map[string][]string{"nausf-auth": {"v1"}}},
		{Type: "UDM", URI: c.UDM, Services: map[string][]string{"nudm-sdm": {"v2", "v1"}, "nudm-uecm": {"v1"}}},
		{Type: "UDR", URI: c.UDR, Services: map[string][]string{"nudr-dr": {"v2"}}},
		{Type: "NSSF", URI: c.NSSF, Services: map[string][]string{"nnssf-nsselection": {"v2", "v1"}}},
	}
	for i := range out {
		if shared {
			out[i].Recovery, out[i].Stays = time.Unix(0, 0), func() bool { return true }
		}
	}
	return out
}

// Run the functions in a pod of their own until ctx ends.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	around, err := (&pod.Config{MetricsListen: c.MetricsListen, HealthListen: c.HealthListen}).Alone(ctx, group.Go, log)
	if err != nil {
		return err
	}
	group.Go(func() error { return RunWith(ctx, c, around) })
	return group.Wait()
}

// RunWith what is around the functions, until ctx ends. They are ready when the objects are read, and do not wait for the NRF: who already knows them can use
// them, and core5g_nf_registered tells about the NRF.
func RunWith(ctx context.Context, c Config, around *pod.Around) error {
	log := around.Log
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	around.Answers(nil, func() error { return errors.New("the objects are not read yet") })
	objects, reservation, err := openObjects(ctx, group, c, log)
	if err != nil {
		return err
	}
	objects, follow, err := withDatabase(c, around, objects)
	if err != nil {
		return err
	}
	kept, err := openKept(ctx, c, around)
	if err != nil {
		return err
	}
	sequences, err := openSequences(ctx, reservation, kept.shared(), time.Now, log)
	if err != nil {
		return err
	}
	directory := subscription.NewDirectory(objects)

	serve, err := around.Listen(c.Listen, c.AUSF, c.UDM, c.UDR, c.NSSF)
	if err != nil {
		return err
	}
	served := New(Parts{
		Directory: directory, Records: kept.records, Tells: kept.tells, NRF: c.NRF, Now: time.Now, Sequences: sequences,
		Callbacks: around.Calls(), Withdraw: c.Withdraw, Log: log, Registry: around.Registry,
	})
	group.Go(func() error { // who is to be told of changes is known by now
		follow(ctx)
		return nil
	})
	// The functions leave the NRF before they stop to answer.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer kept.close()
		return serve(serving, served.Handler)
	})
	group.Go(func() error {
		served.Run(ctx)
		return nil
	})
	group.Go(func() error {
		kept.run(ctx, served.Begin)
		return nil
	})
	log.Info("serving AUSF, UDM, UDR and NSSF", "address", c.Listen, "core", c.Core)
	around.Answers(nil, func() error { return nil })

	plmns := func(ctx context.Context) ([]subscription.PLMN, error) {
		core, err := directory.Core(ctx)
		return core.PLMNs, err
	}
	registrar := around.Registrar(c.NRF, plmns)
	group.Go(func() error {
		defer stopServing()
		known, ctx := errgroup.WithContext(ctx)
		for _, f := range functions(c, kept.shared()) {
			known.Go(func() error { return registrar.Keep(ctx, f) })
		}
		return known.Wait()
	})
	return group.Wait()
}

// openObjects opens the file or the cluster. With a file there is no reservation.
func openObjects(ctx context.Context, group *errgroup.Group, c Config, log *slog.Logger) (subscription.Objects, *reservation, error) {
	if c.SubscribersFile != "" {
		file, err := subscription.OpenFile(c.SubscribersFile)
		if err != nil {
			return nil, nil, err
		}
		group.Go(func() error { return file.Watch(ctx, log) })
		return file, nil, nil
	}
	restConfig, err := config.GetConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("no Kubernetes: %w", err)
	}
	return openCluster(ctx, group, restConfig, c, log)
}

// openCluster starts the cache of one namespace and returns when it is filled.
func openCluster(ctx context.Context, group *errgroup.Group, restConfig *rest.Config, c Config, log *slog.Logger) (subscription.Objects, *reservation, error) {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	// Until Secrets are watched, an authentication reads one: the client's own limit of 20 a second would be that of the core.
	restConfig.QPS, restConfig.Burst = 500, 1000
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	objects, err := cache.New(restConfig, subscription.CacheOptions(scheme, c.Namespace))
	if err != nil {
		return nil, nil, err
	}
	if err := objects.IndexField(ctx, &v1alpha1.Subscriber{}, subscription.SUPIIndex, subscription.IndexSUPI); err != nil {
		return nil, nil, err
	}
	direct, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, err
	}
	cluster := subscription.NewCluster(objects, direct, c.Namespace, c.Core)
	subscribers, err := objects.GetInformer(ctx, &v1alpha1.Subscriber{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, nil, err
	}
	if err := cluster.Follow(subscribers); err != nil {
		return nil, nil, err
	}
	for _, o := range []client.Object{&v1alpha1.Core5G{}, &v1alpha1.Slice{}} {
		informer, err := objects.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, nil, err
		}
		if err := cluster.FollowShared(informer); err != nil {
			return nil, nil, err
		}
	}
	if err := watchKeys(ctx, group, restConfig, scheme, c.Namespace, cluster); err != nil {
		return nil, nil, err
	}
	group.Go(func() error { return objects.Start(ctx) })
	log.Info("reading the objects", "namespace", c.Namespace)
	if !objects.WaitForCacheSync(ctx) {
		return nil, nil, errors.New("stopped before the objects were read")
	}
	return cluster, &reservation{api: direct, core: cluster.Core5G, namespace: c.Namespace, name: c.Core + "-sequence-numbers"}, nil
}

// watchKeys has the keys of subscribers watched. It does not wait for them: until they are read, and for an account that may
// not watch Secrets for ever, they are read one at a time.
func watchKeys(ctx context.Context, group *errgroup.Group, restConfig *rest.Config, scheme *runtime.Scheme, namespace string, cluster *subscription.Cluster) error {
	keys, err := cache.New(restConfig, subscription.KeyCacheOptions(scheme, namespace))
	if err != nil {
		return err
	}
	informer, err := keys.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	cluster.Watch(keys, informer.HasSynced)
	group.Go(func() error { return keys.Start(ctx) })
	return nil
}
