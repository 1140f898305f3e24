package kubectlplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// session is what `upf-c ctl sessions -o json` says of one.
type session struct {
	SEID    string    `json:"seid"`
	Node    string    `json:"node"` // of the SMF
	UE      string    `json:"ueIPAddress"`
	UE6     string    `json:"ueIPv6Prefix"`
	PDRs    int       `json:"pdrs"`
	UL      uint64    `json:"uplinkOctets"`
	DL      uint64    `json:"downlinkOctets"`
	Created time.Time `json:"created"`
}

func (s *session) addresses() string {
	return or(strings.TrimSpace(s.UE+" "+s.UE6), "-")
}

func (p *Plugin) sessions(ctx context.Context, args []string) error {
	if err := p.checkOutput(); err != nil {
		return err
	}
	byUnits := len(args) == 1 || p.ue != ""
	own := false
	if !byUnits {
		var err error
		if own, err = p.ownControlPlane(ctx); err != nil {
			return err
		}
	}
	switch {
	case p.limit < 1:
		return &usageError{"-limit: write 1 or more"}
	case byUnits && (p.slice != "" || p.unit != "" || p.supi != ""):
		return &usageError{"sessions: a UPFINSTANCE and -ue are for what units have, -slice, -unit and -supi for what the SMF has: write one or the other"}
	case own:
		return p.printSMFSessions(ctx, p.Out, p.limit)
	case p.slice != "" || p.supi != "":
		return errors.New("free5GC's SMF does not tell its PDU sessions, and units know neither Slice nor SUPI: ask with -ue ADDRESS, or for a -unit")
	}
	upf := ""
	if len(args) == 1 {
		found, err := p.upfInstance(ctx, args[0])
		if err != nil {
			return err
		}
		if found.Spec.External != nil {
			return fmt.Errorf("UPFInstance %s runs elsewhere, and what it has is asked for there (upfctl sessions): the SMF's sessions at it are those of `kubectl core5g sessions -unit %s`", found.Name, specs.ExternalUnitName(found))
		}
		upf = found.Name
	}
	return p.printSessions(ctx, p.Out, upf)
}

// printSessions asks every unit; one that does not answer is named, and the others are printed.
func (p *Plugin) printSessions(ctx context.Context, out io.Writer, upf string) error {
	pods, err := p.unitPods(ctx, upf)
	if err != nil {
		return err
	}
	if p.unit != "" {
		pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return unitOf(&pod) != p.unit })
		if len(pods) == 0 {
			return fmt.Errorf("there is no UPF unit %s in namespace %s: `kubectl core5g status` lists them", p.unit, p.Namespace)
		}
	}
	all := []unitSession{}
	rows := [][]string{{"UNIT", "SEID", "UE IP ADDRESS", "SMF", "PDRS", "UL OCTETS", "DL OCTETS", "SINCE"}}
	var silent []string
	for i := range pods {
		list, err := p.sessionsOf(ctx, &pods[i])
		if err != nil {
			silent = append(silent, fmt.Sprintf("%s: %v", unitOf(&pods[i]), err))
			continue
		}
		for _, s := range list {
			all = append(all, unitSession{unitOf(&pods[i]), s})
			rows = append(rows, []string{unitOf(&pods[i]), s.SEID, s.addresses(), s.Node, fmt.Sprint(s.PDRs), fmt.Sprint(s.UL), fmt.Sprint(s.DL), s.Created.UTC().Format(time.DateTime)})
		}
	}
	if p.output == outputJSON {
		if err := printJSON(out, map[string]any{"sessions": all}); err != nil {
			return err
		}
		return notAsked(silent)
	}
	if len(rows) > 1 {
		table(out, rows)
	}
	fmt.Fprintf(out, "%s in %d of %d units\n", counted(int64(len(rows)-1)), len(pods)-len(silent), len(pods))
	return notAsked(silent)
}

func notAsked(silent []string) error {
	if len(silent) == 0 {
		return nil
	}
	return fmt.Errorf("not asked: %s", strings.Join(silent, "; "))
}

// unitSession is a session and the unit that has it.
type unitSession struct {
	Unit string `json:"unit"`
	session
}

// checkOutput of commands whose -o is no file.
func (p *Plugin) checkOutput() error {
	if p.output != "" && p.output != outputJSON {
		return &usageError{fmt.Sprintf("-o %q: write json, or leave it out", p.output)}
	}
	return nil
}

func counted(sessions int64) string {
	if sessions == 1 {
		return "1 PDU session"
	}
	return fmt.Sprintf("%d PDU sessions", sessions)
}

// unitPods are the pods of UPF units, of one UPFInstance or of all.
func (p *Plugin) unitPods(ctx context.Context, upf string) ([]corev1.Pod, error) {
	options := []client.ListOption{client.InNamespace(p.Namespace), client.HasLabels{api.LabelUPF}}
	if upf != "" {
		options[1] = client.MatchingLabels{api.LabelUPF: upf}
	}
	var pods corev1.PodList
	if err := p.Client.List(ctx, &pods, options...); err != nil {
		return nil, err
	}
	// A standby has no sessions of its own.
	serving := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Labels[api.LabelMember] != "" && pod.Labels[api.LabelServing] == ""
	})
	slices.SortFunc(serving, func(a, b corev1.Pod) int { return strings.Compare(unitOf(&a), unitOf(&b)) })
	return serving, nil
}

// unitOf names the unit that the pod serves, which is its own name where there is no redundancy.
func unitOf(pod *corev1.Pod) string {
	if pod.Labels[api.LabelMember] == "" {
		return pod.Name
	}
	return pod.Labels[api.LabelUPF] + "-" + pod.Labels[api.LabelUnit]
}

func (p *Plugin) sessionsOf(ctx context.Context, pod *corev1.Pod) ([]session, error) {
	if pod.Status.Phase != corev1.PodRunning {
		return nil, fmt.Errorf("the pod is %s", or(string(pod.Status.Phase), "not started"))
	}
	command := []string{"upf-c", "ctl", "sessions", "-o", "json"}
	if p.ue != "" {
		command = append(command, "-ue", p.ue)
	}
	answer, err := p.Pods.Exec(ctx, pod.Namespace, pod.Name, string(api.FunctionUPFC), command...)
	if err != nil {
		return nil, err
	}
	var out []session
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("upf-c does not list sessions as JSON: %w", err)
	}
	return out, nil
}
