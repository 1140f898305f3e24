package kubectlplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilexec "k8s.io/client-go/util/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/subscriberdatabase/subscribercommand"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// subscribers works on the subscribers of a core's database, by a pod's own command, which knows where the database is and how to get in: nothing of that
// leaves the cluster.
func (p *Plugin) subscribers(ctx context.Context, args []string) error {
	action, rest := args[0], args[1:]
	if _, known := subscribercommand.Find(action); !known {
		return &usageError{fmt.Sprintf("subscribers %s: write %s", action, subscribercommand.Names())}
	}
	command := []string{"subscribers", action}
	command = append(command, p.given...)
	var in io.Reader
	switch {
	case action == subscribercommand.Import:
		if len(rest) != 1 {
			return &usageError{"subscribers import: write a FILE, or - for standard input"}
		}
		if rest[0] == "-" {
			in = p.In
			break
		}
		file, err := p.OpenFile(rest[0])
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		in = file
	case action == subscribercommand.Set && p.ofSubscribers.Keys:
		in, command = p.In, append(command, rest...)
	default:
		command = append(command, rest...)
	}
	pod, err := p.subscriberPod(ctx)
	if err != nil {
		return err
	}
	container := string(api.FunctionSubscriberData)
	if isControlPlane(pod) {
		container = string(api.FunctionControlPlane)
	}
	err = p.Pods.Stream(ctx, pod.Namespace, pod.Name, container, in, p.Out, p.Err, append([]string{container}, command...)...)
	var status utilexec.CodeExitError
	if errors.As(err, &status) { // it has said why
		return errNotWell
	}
	return err
}

// subscriberPod is a pod that knows the database of the core; a core without one is an error that says what to do.
func (p *Plugin) subscriberPod(ctx context.Context) (*corev1.Pod, error) {
	var cores api.Core5GList
	if err := p.Client.List(ctx, &cores, client.InNamespace(p.Namespace)); err != nil {
		return nil, explain(err)
	}
	cores.Items = slices.DeleteFunc(cores.Items, func(c api.Core5G) bool { return p.core != "" && c.Name != p.core })
	switch {
	case len(cores.Items) == 0:
		return nil, fmt.Errorf("there is no such Core5G in namespace %s", p.Namespace)
	case len(cores.Items) > 1:
		return nil, &usageError{fmt.Sprintf("namespace %s has %d Core5Gs: write -core NAME", p.Namespace, len(cores.Items))}
	}
	core := &cores.Items[0]
	if core.Spec.SubscriberData != api.SubscriberDataPostgreSQL {
		return nil, fmt.Errorf("the subscribers of Core5G %s are Subscriber objects: use kubectl get, apply and delete, or write subscriberData: PostgreSQL and subscriberDatabase into it", core.Name)
	}
	component := string(api.FunctionSubscriberData)
	if core.Fused() {
		component = string(api.FunctionControlPlane)
	}
	var pods corev1.PodList
	if err := p.Client.List(ctx, &pods, client.InNamespace(p.Namespace), client.MatchingLabels{api.LabelInstance: core.Name, api.LabelComponent: component}); err != nil {
		return nil, explain(err)
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
	})
	if len(pods.Items) == 0 {
		return nil, fmt.Errorf("no pod of %s runs in namespace %s: `kubectl core5g status` says why", component, p.Namespace)
	}
	pod := slices.MinFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(unready(&a)-unready(&b), strings.Compare(a.Name, b.Name))
	})
	return &pod, nil
}
