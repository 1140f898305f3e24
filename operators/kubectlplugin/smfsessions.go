package kubectlplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// core5g's own SMF keeps PDU sessions in the session store, so that any pod of a set tells all of the set's. It is asked as upf-c is, by
// exec: `session-management sessions` and `session`, whose answers are package inspection's.

// smfSession is what they say of one.
type smfSession struct {
	SUPI      string    `json:"supi"`
	ID        int       `json:"id"`
	Problem   string    `json:"problem"`
	Slice     string    `json:"slice"`
	SNSSAI    string    `json:"snssai"`
	DNN       string    `json:"dnn"`
	Type      string    `json:"type"`
	Addresses []string  `json:"addresses"`
	Phase     string    `json:"phase"`
	Flows     []smfFlow `json:"flows"`
	Unit      string    `json:"unit"`
	Shard     string    `json:"shard"`
	Since     time.Time `json:"since"`
}

type smfFlow struct {
	QFI          int    `json:"qfi"`
	FiveQI       int    `json:"fiveQI"`
	Name         string `json:"name"`
	Priority     int    `json:"priority"`
	GFBRUplink   uint64 `json:"gfbrUplink"`
	GFBRDownlink uint64 `json:"gfbrDownlink"`
	Refused      bool   `json:"refusedByAccess"`
}

func (s *smfSession) name() string { return fmt.Sprintf("%s/%d", s.SUPI, s.ID) }

// ownSMF says whether a core of the namespace has core5g's SMF.
func (p *Plugin) ownSMF(ctx context.Context) (bool, error) {
	var cores api.Core5GList
	if err := p.Client.List(ctx, &cores, client.InNamespace(p.Namespace)); err != nil {
		return false, explain(err)
	}
	return slices.ContainsFunc(cores.Items, func(c api.Core5G) bool { return c.OwnControlPlane() }), nil
}

// smfSets are the pods of core5g's SMF by the set that they are of, those that are ready first.
func (p *Plugin) smfSets(ctx context.Context) ([][]corev1.Pod, error) {
	var pods corev1.PodList
	if err := p.Client.List(ctx, &pods, client.InNamespace(p.Namespace), client.HasLabels{api.LabelSessionManagement}); err != nil {
		return nil, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(pods.Items, func(a, b corev1.Pod) int { return unready(&a) - unready(&b) })
	sets := map[string][]corev1.Pod{}
	for _, pod := range pods.Items {
		set := pod.Labels[api.LabelInstance] + " " + pod.Labels[api.LabelSessionManagement]
		sets[set] = append(sets[set], pod)
	}
	var out [][]corev1.Pod
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		out = append(out, sets[set])
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no pod of session management is in namespace %s: `kubectl core5g status` says why", p.Namespace)
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

// askSMF asks the pods of a set, until one answers; errNoSession where that has no such session.
func (p *Plugin) askSMF(ctx context.Context, set []corev1.Pod, command ...string) ([]byte, error) {
	var silent []string
	for i := range set {
		pod := &set[i]
		if pod.Status.Phase != corev1.PodRunning {
			silent = append(silent, fmt.Sprintf("%s: the pod is %s", pod.Name, or(string(pod.Status.Phase), "not started")))
			continue
		}
		container := string(api.FunctionSessionManagement)
		answer, err := p.Pods.Exec(ctx, pod.Namespace, pod.Name, container, append([]string{container}, command...)...)
		if err == nil {
			return answer, nil
		}
		if strings.Contains(err.Error(), "there is no such session") {
			return nil, errNoSession
		}
		silent = append(silent, fmt.Sprintf("%s: %v", pod.Name, err))
	}
	return nil, fmt.Errorf("not asked: %s", strings.Join(silent, "; "))
}

var errNoSession = errors.New("there is no such session")

// smfPage is what `session-management sessions` answers.
type smfPage struct {
	Sessions []json.RawMessage `json:"sessions"`
	Next     string            `json:"next"`
}

// smfList is what all sets have, as they wrote it and read. more: there are others.
func (p *Plugin) smfList(ctx context.Context, limit int) (raw []json.RawMessage, read []smfSession, more bool, err error) {
	sets, err := p.smfSets(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	command := []string{"sessions", "-limit", strconv.Itoa(limit)}
	for _, f := range []struct{ name, value string }{{"-slice", p.slice}, {"-unit", p.unit}, {"-supi", p.supi}} {
		if f.value != "" {
			command = append(command, f.name, f.value)
		}
	}
	seen := map[string]bool{}
	var problems []error
	for _, set := range sets {
		answer, err := p.askSMF(ctx, set, command...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		var page smfPage
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, nil, false, fmt.Errorf("session management does not list sessions as JSON: %w", err)
		}
		more = more || page.Next != ""
		for _, text := range page.Sessions {
			var s smfSession
			if err := json.Unmarshal(text, &s); err != nil {
				return nil, nil, false, fmt.Errorf("session management does not list sessions as JSON: %w", err)
			}
			if !seen[s.name()] { // the store may name one twice
				seen[s.name()] = true
				raw, read = append(raw, text), append(read, s)
			}
		}
	}
	return raw, read, more, errors.Join(problems...)
}

// printSMFSessions prints what the SMF has; a set that does not answer is named, and the others are printed.
func (p *Plugin) printSMFSessions(ctx context.Context, out io.Writer, limit int) error {
	raw, list, more, err := p.smfList(ctx, limit)
	if p.output == outputJSON {
		if err != nil {
			return err
		}
		return printJSON(out, map[string]any{"sessions": append([]json.RawMessage{}, raw...), "more": more})
	}
	rows := [][]string{{"SUPI", "ID", "SLICE", "DNN", "ADDRESSES", "PHASE", "QFI/5QI", "UNIT", "SHARD", "SINCE"}}
	slices.SortFunc(list, func(a, b smfSession) int { return strings.Compare(a.name(), b.name()) })
	var unreadable []string
	for _, s := range list {
		if s.Problem != "" {
			unreadable = append(unreadable, s.name()+": "+s.Problem)
			continue
		}
		rows = append(rows, []string{
			s.SUPI, strconv.Itoa(s.ID), s.Slice, s.DNN, or(strings.Join(s.Addresses, " "), "-"), s.Phase, flowsText(s.Flows), or(s.Unit, "-"), s.Shard,
			s.Since.UTC().Format(time.DateTime),
		})
	}
	if len(rows) > 1 {
		table(out, rows)
	}
	fmt.Fprint(out, counted(int64(len(list))))
	if more {
		fmt.Fprintf(out, ", and there are more: -limit, or -slice, -unit, -supi")
	}
	fmt.Fprintln(out)
	for _, text := range unreadable {
		fmt.Fprintln(out, "cannot be read:", text)
	}
	return err
}

func flowsText(flows []smfFlow) string {
	var out []string
	for _, f := range flows {
		out = append(out, fmt.Sprintf("%d/%d", f.QFI, f.FiveQI))
	}
	return or(strings.Join(out, " "), "-")
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
