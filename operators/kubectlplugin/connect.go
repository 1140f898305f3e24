package kubectlplugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Scheme holds every kind that the plug-in reads or writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), api.AddToScheme(s))
}

// Connect reaches the cluster that kubectl would, in the namespace that kubectl would use.
func Connect(kubeconfig, contextName, namespace string) (client.Client, Pods, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, nil, "", fmt.Errorf("kubeconfig: %w", err)
		}
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, nil, "", err
	}
	// A report asks for a few hundred things at once.
	config.QPS, config.Burst = 50, 100
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, "", err
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, "", err
	}
	return c, &clusterPods{config, set}, namespace, nil
}

// clusterPods are the pods of a cluster.
type clusterPods struct {
	config *rest.Config
	set    kubernetes.Interface
}

func (p *clusterPods) Stream(ctx context.Context, namespace, pod, container string, in io.Reader, out, errs io.Writer, command ...string) error {
	request := p.set.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: in != nil, Stdout: true, Stderr: true}, clientgoscheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(p.config, "POST", request.URL())
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: errs})
}

func (p *clusterPods) Exec(ctx context.Context, namespace, pod, container string, command ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	if err := p.Stream(ctx, namespace, pod, container, nil, &out, &errs, command...); err != nil {
		if said := strings.TrimSpace(errs.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	return out.Bytes(), nil
}

func (p *clusterPods) Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int64) ([]byte, error) {
	return p.set.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: &lines}).DoRaw(ctx)
}
