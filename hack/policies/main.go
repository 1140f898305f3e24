package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

func main() {
	config := options.NewKubeRouterConfig()
	config.EnableIPv4, config.EnableIPv6, config.RunFirewall = true, false, true
	var services, health string
	flag.StringVar(&services, "service-cidrs", "", "where Services have their addresses, comma-separated; without, what the API server's ServiceCIDRs say (Kubernetes 1.33 or later)")
	flag.StringVar(&config.HostnameOverride, "node", os.Getenv("NODE_NAME"), "this node's name")
	flag.StringVar(&health, "health-address", "127.0.0.1:20244", "where /healthz is")
	flag.DurationVar(&config.IPTablesSyncPeriod, "sync-period", time.Minute, "how often all rules are looked at without a cause")
	klog.InitFlags(nil)
	flag.Parse()
	config.ClusterIPCIDRs = strings.FieldsFunc(services, func(r rune) bool { return r == ',' })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, config, health); err != nil {
		fmt.Fprintln(os.Stderr, "network-policies:", err)
		os.Exit(1)
	}
}

// run leaves the rules as they are when it ends: pods stay protected while it is replaced.
func run(ctx context.Context, config *options.KubeRouterConfig, health string) error {
	rest, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	if len(config.ClusterIPCIDRs) == 0 {
		if config.ClusterIPCIDRs, err = serviceCIDRs(ctx, client); err != nil {
			return err
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()

	iptables, ipsets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, iptables, ipsets)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: controller.PodEventHandler, namespaces: controller.NamespaceEventHandler, policies: controller.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("no list of %v from the API server", kind)
		}
	}

	beats := make(chan *healthcheck.ControllerHeartbeat)
	watch := newPulse(config.IPTablesSyncPeriod)
	go watch.follow(ctx, beats)
	server := &http.Server{Addr: health, Handler: watch, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.ListenAndServe(); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "health server ended")
		}
	}()
	defer server.Close()

	var wait sync.WaitGroup
	wait.Add(1)
	go controller.Run(beats, ctx.Done(), &wait)
	wait.Wait()
	return nil
}

// serviceCIDRs are the IPv4 ranges that the cluster gives Services their addresses from. The controller knows
// no other family here.
func serviceCIDRs(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	const instead = "write them after -service-cidrs"
	list, err := client.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("ServiceCIDRs of the cluster: %w; %s", err, instead)
	}
	var cidrs []string
	for _, object := range list.Items {
		for _, cidr := range object.Spec.CIDRs {
			if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Addr().Is4() {
				cidrs = append(cidrs, cidr)
			}
		}
	}
	if len(cidrs) == 0 {
		return nil, fmt.Errorf("no ServiceCIDR of the cluster is IPv4; %s", instead)
	}
	return cidrs, nil
}

// pulse turns the controller's heartbeats, one after each time that it has written all rules, into an
// answer to the kubelet: not before the first, and not when the last is two periods ago.
type pulse struct {
	period time.Duration
	last   atomic.Int64 // Unix nanoseconds
}

func newPulse(period time.Duration) *pulse { return &pulse{period: period} }

func (p *pulse) follow(ctx context.Context, beats <-chan *healthcheck.ControllerHeartbeat) {
	for {
		select {
		case beat := <-beats:
			p.last.Store(beat.LastHeartBeat.UnixNano())
		case <-ctx.Done():
			return
		}
	}
}

func (p *pulse) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	last := p.last.Load()
	switch age := time.Since(time.Unix(0, last)); {
	case last == 0:
		http.Error(w, "the rules are not written yet", http.StatusServiceUnavailable)
	case age > 2*p.period:
		http.Error(w, fmt.Sprintf("the rules were last written %s ago", age.Round(time.Second)), http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ok")
	}
}
