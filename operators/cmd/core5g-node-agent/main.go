// Command core5g-node-agent writes the DataplaneNode of the node that it runs on:
//
//	core5g-node-agent [flags]          looks every few seconds until it is stopped
//	core5g-node-agent -print [flags]   looks once and prints the status, without a cluster
//
// It needs the node's /sys/devices, /sys/bus and /sys/kernel/mm, /var/lib/kubelet/pod-resources, and the
// kubelet's configuration file, all read-only, and changes nothing on the node. The socket in pod-resources is
// the node's root's, so it must be uid 0; it needs no capability. Of the API server it needs: get of its Node; get and create of
// dataplanenodes; patch of dataplanenodes/status; and with -kubelet-config configz, get of nodes/proxy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/nodeagent"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "core5g-node-agent:", err)
		os.Exit(1)
	}
}

// configz as the value of -kubelet-config asks the kubelet through the API server.
const configz = "configz"

type config struct {
	node, sysfs, socket, kubelet, dropIns, runtime, health, metrics, level string
	interval                                                               time.Duration
	print                                                                  bool
}

func parse(args []string, errs io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("core5g-node-agent", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&c.node, "node", os.Getenv("NODE_NAME"), "the Node that it runs on (default $NODE_NAME)")
	f.StringVar(&c.sysfs, "sysfs", "/sys", "where the node's sysfs is mounted")
	f.StringVar(&c.socket, "pod-resources", "/var/lib/kubelet/pod-resources/kubelet.sock", "the kubelet's podresources socket")
	f.StringVar(&c.kubelet, "kubelet-config", "/var/lib/kubelet/config.yaml", "the kubelet's configuration file, or configz for asking the kubelet through the API server")
	f.StringVar(&c.dropIns, "kubelet-config-dir", "", "the kubelet's --config-dir, where it has one")
	f.StringVar(&c.runtime, "runtime-config", "", "the container runtime's configuration file, which tells whether units with virtual functions must be root")
	f.StringVar(&c.health, "health-probe-bind-address", ":8081", "address of /healthz; 0 for none")
	f.StringVar(&c.metrics, "metrics-bind-address", "0", "address of /metrics, for example :9090; 0 for none")
	f.StringVar(&c.level, "log-level", "info", "debug, info, warn or error")
	f.DurationVar(&c.interval, "interval", nodeagent.Interval, "how often to look")
	f.BoolVar(&c.print, "print", false, "look once, print the status, and end")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.node == "" && (!c.print || c.kubelet == configz):
		return c, errors.New("which Node? Set NODE_NAME from spec.nodeName, or write -node")
	case c.interval < time.Second || c.interval > nodeagent.Interval:
		return c, fmt.Errorf("-interval %s: write 1s to %s, so that changes are known within 10 s", c.interval, nodeagent.Interval)
	}
	return c, nil
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	c, err := parse(args, errs)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.level)); err != nil {
		return fmt.Errorf("-log-level %q: write debug, info, warn or error", c.level)
	}
	log := slog.New(slog.NewJSONHandler(errs, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))

	resources, err := nodeagent.DialKubelet(c.socket)
	if err != nil {
		return err
	}
	defer resources.Close()
	agent := &nodeagent.Agent{Node: c.node, Sysfs: os.DirFS(c.sysfs), Resources: resources, RuntimeConfig: c.runtime, Now: time.Now, Log: log}
	var cluster *rest.Config
	if !c.print || c.kubelet == configz {
		if cluster, err = ctrl.GetConfig(); err != nil {
			return err
		}
	}
	if agent.Kubelet, err = kubelet(c, cluster); err != nil {
		return err
	}
	if c.print {
		return show(nodeagent.Status(agent.Observe(ctx), nil, time.Now()), out)
	}
	if agent.Store, err = store(cluster); err != nil {
		return err
	}
	if c.health != "0" {
		server := &http.Server{Addr: c.health, Handler: health(agent.LastStep, replaced(agent.Kubelet), time.Now), ReadHeaderTimeout: 5 * time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() {
			if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
				log.Error("nobody can ask after the agent's health", "err", err)
			}
		}()
	}
	if c.metrics != "0" {
		registry := prometheus.NewRegistry()
		agent.Looked = observe(registry)
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		server := &http.Server{Addr: c.metrics, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() {
			if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
				log.Error("metrics are not served", "err", err)
			}
		}()
	}
	agent.Run(ctx, c.interval)
	return nil
}

func kubelet(c config, cluster *rest.Config) (nodeagent.Kubelet, error) {
	if c.kubelet != configz {
		// The kubelet's own path may be a link to anywhere, so the root of the file system is the base.
		absolute, err := filepath.Abs(c.kubelet)
		if err != nil {
			return nil, err
		}
		file := nodeagent.ConfigFile{FS: os.DirFS("/"), Path: strings.TrimPrefix(absolute, "/")}
		if c.dropIns != "" {
			if absolute, err = filepath.Abs(c.dropIns); err != nil {
				return nil, err
			}
			file.DropIns = strings.TrimPrefix(absolute, "/")
		}
		return file, nil
	}
	config := rest.CopyConfig(cluster)
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	asks, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return nodeagent.Configz{Get: func(ctx context.Context) ([]byte, error) {
		return asks.Get().AbsPath("/api/v1/nodes", c.node, "proxy", "configz").DoRaw(ctx)
	}}, nil
}

func store(cluster *rest.Config) (nodeagent.Store, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(cluster, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	return nodeagent.APIServer{Client: c}, nil
}

func show(status api.DataplaneNodeStatus, out io.Writer) error {
	text, err := yaml.Marshal(status)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// replaced says that what the agent sees of the kubelet's configuration is no longer what the kubelet has.
func replaced(k nodeagent.Kubelet) func() bool {
	if file, is := k.(nodeagent.ConfigFile); is {
		return file.Replaced
	}
	return func() bool { return false }
}

// patience is how long an agent may go without a look that ended well before it is restarted. An API server
// that is away for a while is no reason: the start counts as a look.
const patience = 10 * time.Minute

func health(last func() time.Time, replaced func() bool, now func() time.Time) http.Handler {
	started := now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		seen := last()
		if seen.Before(started) {
			seen = started
		}
		age := now().Sub(seen)
		switch {
		case age > patience:
			http.Error(w, fmt.Sprintf("the DataplaneNode was not written for %s", age.Round(time.Second)), http.StatusServiceUnavailable)
		case replaced():
			http.Error(w, "the kubelet's configuration is another file now: a new container sees it", http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "ok")
		}
	})
	return mux
}
