package kubectlplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// core5g's own SMF and AMF keep what they have in the session store, so that any pod of a set tells all of the set's. It is asked as upf-c is, by exec of the
// pod's own program, which is called as its container is; package inspection of either says what it answers.

// kind of pods that share records.
type kind struct {
	function api.FunctionName
	// label is on the pods, with the name of the set.
	label string
	// what they are for people.
	what string
	// missing is how they say that there is no such record.
	missing string
	// part is their name where one pod is the whole control plane.
	part string
}

var (
	sessionManagement = kind{api.FunctionSessionManagement, api.LabelSessionManagement, "session management", "there is no such session", "smf"}
	accessManagement  = kind{api.FunctionAccessManagement, api.LabelAccessManagement, "access management", "there is no such UE", "amf"}
)

// errNothing: those that were asked have no such record.
var errNothing = errors.New("there is none")

// ownControlPlane says whether a core of the namespace has core5g's own AMF and SMF.
func (p *Plugin) ownControlPlane(ctx context.Context) (bool, error) {
	var cores api.Core5GList
	if err := p.Client.List(ctx, &cores, client.InNamespace(p.Namespace)); err != nil {
		return false, explain(err)
	}
	return slices.ContainsFunc(cores.Items, func(c api.Core5G) bool { return c.OwnControlPlane() }), nil
}

// sets are the pods of a kind by the set that they are of, those that are ready first.
func (p *Plugin) sets(ctx context.Context, k kind) ([][]corev1.Pod, error) {
	var pods corev1.PodList
	if err := p.Client.List(ctx, &pods, client.InNamespace(p.Namespace), client.HasLabels{k.label}); err != nil {
		return nil, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(pods.Items, func(a, b corev1.Pod) int { return unready(&a) - unready(&b) })
	sets := map[string][]corev1.Pod{}
	for _, pod := range pods.Items {
		set := pod.Labels[api.LabelInstance] + " " + pod.Labels[k.label]
		sets[set] = append(sets[set], pod)
	}
	var out [][]corev1.Pod
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		out = append(out, sets[set])
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no pod of %s is in namespace %s: `kubectl core5g status` says why", k.what, p.Namespace)
	}
	return out, nil
}

func unready(pod *corev1.Pod) int {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return 0
		}
	}
	return 1
}

// ask the pods of a set, until one answers; errNothing where that has no such record.
func (p *Plugin) ask(ctx context.Context, k kind, set []corev1.Pod, command ...string) ([]byte, error) {
	var silent []string
	for i := range set {
		answer, err := p.askPod(ctx, k, &set[i], command...)
		if err == nil || errors.Is(err, errNothing) {
			return answer, err
		}
		silent = append(silent, err.Error())
	}
	return nil, fmt.Errorf("not asked: %s", strings.Join(silent, "; "))
}

// isControlPlane: the pod is all of the control plane in one.
func isControlPlane(pod *corev1.Pod) bool {
	return pod.Labels[api.LabelComponent] == string(api.FunctionControlPlane)
}

// askPod asks one. Its error names the pod.
func (p *Plugin) askPod(ctx context.Context, k kind, pod *corev1.Pod, command ...string) ([]byte, error) {
	if pod.Status.Phase != corev1.PodRunning {
		return nil, fmt.Errorf("%s: the pod is %s", pod.Name, or(string(pod.Status.Phase), "not started"))
	}
	container := string(k.function)
	if isControlPlane(pod) {
		container = string(api.FunctionControlPlane)
	}
	answer, err := p.Pods.Exec(ctx, pod.Namespace, pod.Name, container, append([]string{container}, command...)...)
	switch {
	case err == nil:
		return answer, nil
	case strings.Contains(err.Error(), k.missing):
		return nil, errNothing
	}
	return nil, fmt.Errorf("%s: %w", pod.Name, err)
}

// askOne asks set after set for one record, until one has it; errNothing where none does.
func (p *Plugin) askOne(ctx context.Context, k kind, command ...string) ([]byte, error) {
	sets, err := p.sets(ctx, k)
	if err != nil {
		return nil, err
	}
	var silent []error
	for _, set := range sets {
		answer, err := p.ask(ctx, k, set, command...)
		switch {
		case err == nil:
			return answer, nil
		case !errors.Is(err, errNothing):
			silent = append(silent, err)
		}
	}
	if len(silent) > 0 {
		return nil, errors.Join(silent...)
	}
	return nil, errNothing
}

// filter is an option of a command that lists, and what was asked for; "" where nothing was.
type filter struct{ name, value string }

// page is what a command that lists answers.
type page struct {
	UEs      []json.RawMessage `json:"ues"`
	Sessions []json.RawMessage `json:"sessions"`
	Next     string            `json:"next"`
}

// listOf things, which their command is named after in lower case, is what all sets of a kind have, as they wrote it and read. more: there are others.
func listOf[T any](
	ctx context.Context, p *Plugin, k kind, things string, limit int, filters []filter, name func(*T) string,
) (raw []json.RawMessage, read []T, more bool, err error) {
	sets, err := p.sets(ctx, k)
	if err != nil {
		return nil, nil, false, err
	}
	command := []string{strings.ToLower(things), "-limit", strconv.Itoa(limit)}
	for _, f := range filters {
		if f.value != "" {
			command = append(command, f.name, f.value)
		}
	}
	seen := map[string]bool{}
	var problems []error
	for _, set := range sets {
		answer, err := p.ask(ctx, k, set, command...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		var found page
		if err := json.Unmarshal(answer, &found); err != nil {
			return nil, nil, false, fmt.Errorf("%s does not list %s as JSON: %w", k.what, things, err)
		}
		more = more || found.Next != ""
		for _, text := range append(found.UEs, found.Sessions...) {
			var one T
			if err := json.Unmarshal(text, &one); err != nil {
				return nil, nil, false, fmt.Errorf("%s does not list %s as JSON: %w", k.what, things, err)
			}
			if name := name(&one); !seen[name] { // the store may name one twice
				seen[name] = true
				raw, read = append(raw, text), append(read, one)
			}
		}
	}
	return raw, read, more, errors.Join(problems...)
}
