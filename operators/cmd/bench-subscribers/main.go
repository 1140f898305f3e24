// Command bench-subscribers measures what many Subscribers take: the operator and the subscriber data functions as
// they are shipped, against a real API server with its etcd, filled and emptied by kubectl as a user would.
//
//	bench-subscribers [-source Kubernetes] [-subscribers 2000] [-kubectls 4] [-limit 256]
//	bench-subscribers -source PostgreSQL -subscribers 1000000 [-limit 256]
//
// With source PostgreSQL there is no API server: core and Slice are a file, and subscribers are imported into a PostgreSQL of the system's packages.
// Else there is no kubelet: it plays what makes one Slice Ready. Lines that begin with # say what the figures rest on, the
// others are key=value: seconds (_s), the most memory that a program had resident (_mib), objects a second (_per_s), challenges a
// second and what each takes of a CPU, in microseconds.
// It fails where a program has more than its limit.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"core5g.dev/core5g/operators/controllers/cluster"
)

type options struct {
	subscribers           int
	source                string
	limit                 int
	assets                string
	operator, subscriberD string
	parallel              int
	wait                  time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.subscribers, "subscribers", 2000, "Subscribers, with a Secret each")
	flag.StringVar(&o.source, "source", sourceKubernetes, "where Subscribers are: Kubernetes or PostgreSQL")
	flag.IntVar(&o.limit, "limit", 256, "MiB that each program may have")
	flag.StringVar(&o.assets, "assets", "out/bin/envtest", "folder of etcd, kube-apiserver and kubectl")
	flag.StringVar(&o.operator, "operator", "out/bin/core5g-operator", "the operator")
	flag.StringVar(&o.subscriberD, "subscriber-data", "out/bin/subscriber-data", "the subscriber data functions")
	flag.IntVar(&o.parallel, "kubectls", 4, "kubectl at a time")
	flag.DurationVar(&o.wait, "wait", 30*time.Minute, "how long to wait for each step")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-subscribers:", err)
		stop()
		os.Exit(1)
	}
}

// rig is what the figures are taken from.
type rig struct {
	options
	folder, kubeconfig string
	client             client.Client
	operator, data     *program
	// environment is what programs are told beside their own.
	environment []string
}

func run(ctx context.Context, o options) (err error) {
	if o.subscribers < 1 || o.parallel < 1 {
		return errors.New("-subscribers and -kubectls: write 1 or more")
	}
	switch o.source {
	case sourceKubernetes:
	case sourcePostgreSQL:
		return runDatabase(ctx, o)
	default:
		return fmt.Errorf("-source %q: write %s or %s", o.source, sourceKubernetes, sourcePostgreSQL)
	}
	ctrl.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "bench-subscribers-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	assets, err := filepath.Abs(o.assets)
	if err != nil {
		return err
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{"operators/config/crd", "operators/controllers/testdata/networkattachmentdefinition.yaml"}, ErrorIfCRDPathMissing: true,
	}
	restConfig, err := environment.Start()
	if err != nil {
		return fmt.Errorf("no API server from %s (`make tools` builds it): %w", o.assets, err)
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	scheme, err := cluster.Scheme()
	if err != nil {
		return err
	}
	r := &rig{options: o, folder: folder, kubeconfig: filepath.Join(folder, "kubeconfig")}
	if err := os.WriteFile(r.kubeconfig, environment.KubeConfig, 0o600); err != nil {
		return err
	}
	restConfig.QPS, restConfig.Burst = 500, 1000
	if r.client, err = client.New(restConfig, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	defer func() {
		r.operator.stop()
		r.data.stop()
		if err != nil {
			r.operator.show(os.Stderr)
			r.data.show(os.Stderr)
		}
	}()
	return r.measure(ctx)
}

func (r *rig) measure(ctx context.Context) error {
	fmt.Printf("# %d CPUs, load %s; API server, etcd (which does not wait for the disk), kubectl and both programs on them\n", runtime.NumCPU(), load())
	fmt.Printf("# %d kubectl at a time, files of %d Subscribers and as many Secrets\n", r.parallel, perFile)
	fmt.Printf("# each program is told to stay within nine tenths of %d MiB, as in a container with that limit\n", r.limit)
	say("subscribers", r.subscribers)
	if err := r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := r.startOperator(); err != nil {
		return err
	}
	if err := r.startData(ctx); err != nil {
		return err
	}
	if err := r.makeSliceReady(ctx); err != nil {
		return err
	}
	say("operator_empty_mib", r.operator.memory().most)
	say("subscriber_data_empty_mib", r.data.memory().most)

	files, err := writeManifests(r.folder, r.subscribers)
	if err != nil {
		return err
	}
	var creations [][]string
	for _, file := range files {
		creations = append(creations, []string{"create", "-f", file})
	}
	begin := time.Now()
	if err := r.kubectls(ctx, creations); err != nil {
		return err
	}
	created := time.Since(begin)
	sayTime("created_s", created)
	say("created_per_s", int(float64(2*r.subscribers)/created.Seconds()))
	if err := r.subscribersAre(ctx, "True", r.subscribers); err != nil {
		return err
	}
	sayTime("ready_s", time.Since(begin))
	if err := r.authenticateAll(ctx); err != nil {
		return err
	}
	if err := r.sayMemory(""); err != nil {
		return err
	}
	if err := r.countEvents(ctx); err != nil {
		return err
	}
	if err := r.measureKeyChange(ctx); err != nil {
		return err
	}
	if err := r.measureChallenges(ctx, "", nil); err != nil {
		return err
	}
	if err := r.withStore(ctx); err != nil {
		return err
	}

	if err := r.restart(ctx); err != nil {
		return err
	}
	if err := r.sayMemory("_after_restart"); err != nil {
		return err
	}

	begin = time.Now()
	if err := r.setSMF(ctx, 0); err != nil {
		return err
	}
	if err := r.subscribersAre(ctx, "False", r.subscribers); err != nil {
		return err
	}
	sayTime("slice_lost_s", time.Since(begin))
	begin = time.Now()
	if err := r.setSMF(ctx, 1); err != nil {
		return err
	}
	if err := r.subscribersAre(ctx, "True", r.subscribers); err != nil {
		return err
	}
	sayTime("slice_back_s", time.Since(begin))

	begin = time.Now()
	if err := r.kubectls(ctx, [][]string{
		{"delete", "subscribers", "-l", batch, "--wait=false"}, {"delete", "secrets", "-l", batch, "--wait=false"},
	}); err != nil {
		return err
	}
	deleted := time.Since(begin)
	sayTime("deleted_s", deleted)
	say("deleted_per_s", int(float64(2*r.subscribers)/deleted.Seconds()))
	if err := r.subscribersAre(ctx, "True", 0); err != nil {
		return err
	}
	return r.sayMemory("_at_the_end")
}

// sayMemory fails where a program has had more than it may.
func (r *rig) sayMemory(when string) error {
	operator, data := r.operator.memory(), r.data.memory()
	say("operator"+when+"_mib", operator.most)
	say("subscriber_data"+when+"_mib", data.most)
	fmt.Printf("# now: operator %d MiB, subscriber data %d MiB\n", operator.now, data.now)
	if operator.most > r.limit || data.most > r.limit {
		return fmt.Errorf("more than %d MiB", r.limit)
	}
	return nil
}

// restart replaces both programs, and waits until each has looked at every Subscriber again.
func (r *rig) restart(ctx context.Context) error {
	r.operator.stop()
	r.data.stop()
	begin := time.Now()
	if err := r.startData(ctx); err != nil {
		return err
	}
	sayTime("subscriber_data_restart_s", time.Since(begin))
	begin = time.Now()
	if err := r.startOperator(); err != nil {
		return err
	}
	err := r.eventually(ctx, "the operator has looked at every Subscriber", func(ctx context.Context) error {
		looked, err := r.operator.metric(ctx, `controller_runtime_reconcile_total{controller="subscriber",result="success"}`)
		if err != nil {
			return err
		}
		if int(looked) < r.subscribers {
			return fmt.Errorf("at %v", looked)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sayTime("restart_s", time.Since(begin))
	read, err := r.operator.metric(ctx, `rest_client_requests_total{code="200",method="PATCH"}`)
	say("restart_writes", int(read))
	return err
}

// countEvents says how many Events there are of Subscribers: there are none.
func (r *rig) countEvents(ctx context.Context) error {
	var events corev1.EventList
	if err := r.client.List(ctx, &events, client.InNamespace(namespace), client.MatchingFields{"involvedObject.kind": "Subscriber"}); err != nil {
		return err
	}
	say("events", len(events.Items))
	if len(events.Items) > 0 {
		return fmt.Errorf("an Event of a Subscriber: %s", events.Items[0].Message)
	}
	return nil
}

// subscribersAre waits until the operator counts so many with a status of Ready.
func (r *rig) subscribersAre(ctx context.Context, ready string, want int) error {
	return r.eventually(ctx, fmt.Sprintf("%d Subscribers are Ready=%s", want, ready), func(ctx context.Context) error {
		n, err := r.operator.metric(ctx, fmt.Sprintf(`core5g_subscribers{namespace=%q,ready=%q}`, namespace, ready))
		if err != nil {
			return err
		}
		if int(n) != want {
			return fmt.Errorf("%v are", n)
		}
		return nil
	})
}

func (r *rig) eventually(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s: %w", r.wait, what, err)
		case err := <-r.operator.end():
			return fmt.Errorf("the operator has ended: %w", err)
		case err := <-r.data.end():
			return fmt.Errorf("the subscriber data functions have ended: %w", err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// kubectls runs the commands, -kubectls of them at a time.
func (r *rig) kubectls(ctx context.Context, commands [][]string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.parallel)
	for _, command := range commands {
		group.Go(func() error { return r.kubectl(ctx, command...) })
	}
	return group.Wait()
}

// kubectl runs the command as a user would; what it says of each object is not shown.
func (r *rig) kubectl(ctx context.Context, arguments ...string) error {
	arguments = append([]string{"--kubeconfig", r.kubeconfig, "-n", namespace}, arguments...)
	command := exec.CommandContext(ctx, filepath.Join(r.assets, "kubectl"), append(arguments, "-o", "name")...)
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("kubectl %v: %w: %.1000s", arguments, err, said.String())
	}
	return nil
}

func say(key string, value int) { fmt.Printf("%s=%d\n", key, value) }

func sayTime(key string, d time.Duration) { fmt.Printf("%s=%.1f\n", key, d.Seconds()) }
