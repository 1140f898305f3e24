package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/takeover"
)

const (
	upf, unit = "upf", "upf-0"
	core      = "core5g"
	slice     = "internet"
	phone     = "imsi-208930000000001"

	handPod = "redundancy-hand"

	patience = 5 * time.Minute
)

// scene is the cluster with what this command makes in it.
type scene struct {
	*cluster.Cluster
	options
	probe takeover.Pod

	functions, redundancy, strategy string // JSON, as they were

	upgrades int // so many templates there were
}

func open(ctx context.Context, o options) (*scene, error) {
	for _, name := range o.cases {
		if cases[name].do == nil {
			return nil, fmt.Errorf("there is no case %q: write some of %s", name, strings.Join(caseNames(), ", "))
		}
	}
	k, err := cluster.Open(ctx)
	if err != nil {
		return nil, err
	}
	s := &scene{Cluster: k, options: o, probe: takeover.Pod{Cluster: k}}
	if s.functions, err = s.field(ctx, "core5g/"+core, "functions"); err != nil {
		return nil, err
	}
	if s.redundancy, err = s.field(ctx, "upfinstance/"+upf, "redundancy"); err != nil {
		return nil, err
	}
	s.strategy, err = s.field(ctx, "upfinstance/"+upf, "updateStrategy")
	return s, err
}

// field is a field of an object's spec in JSON, null where it is not there.
func (s *scene) field(ctx context.Context, object, name string) (string, error) {
	var o struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := s.JSON(ctx, &o, "get", object); err != nil {
		return "", err
	}
	if raw, is := o.Spec[name]; is {
		return string(raw), nil
	}
	return "null", nil
}

func (s *scene) set(ctx context.Context, object, field, value string) error {
	_, err := s.Run(ctx, "patch", object, "--type", "merge", "-p", fmt.Sprintf(`{"spec":{%q:%s}}`, field, value))
	return err
}

// prepare turns redundancy on, and has the unit filled.
func (s *scene) prepare(ctx context.Context) error {
	if err := s.setFunctions(ctx); err != nil {
		return err
	}
	if _, err := s.Run(ctx, "patch", "upfinstance/"+upf, "--type", "merge", "-p",
		`{"spec":{"redundancy":{"standbys":1},"updateStrategy":{"type":"Switch"}}}`); err != nil {
		return err
	}
	if err := s.inSync(ctx); err != nil {
		return err
	}
	if err := s.startPods(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := s.tell(ctx, nil, "/fill", url.Values{"sessions": {fmt.Sprint(s.sessions)}}); err != nil {
		return err
	}
	fmt.Printf("# %d sessions in %s\n", s.sessions, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// setFunctions says what the functions of a unit's pods ask for; a little more memory with each upgrade.
func (s *scene) setFunctions(ctx context.Context) error {
	memory := 256 + s.upgrades
	functions := fmt.Sprintf(`[{"name":"upf-u","resources":{"requests":{"memory":"%[1]dMi"},"limits":{"memory":"%[1]dMi"}}}]`, memory)
	if s.cpu != "" {
		limits := `"memory":"256Mi"`
		if s.upfc != "" {
			limits += fmt.Sprintf(`,"cpu":%q`, s.upfc)
		}
		functions = fmt.Sprintf(`[{"name":"upf-u","resources":{"requests":{"cpu":%[1]q,"memory":"%[2]dMi"},"limits":{"memory":"%[2]dMi"}}},
			{"name":"upf-c","resources":{"requests":{"cpu":"300m","memory":"256Mi"},"limits":{%[3]s}}}]`, s.cpu, memory, limits)
	}
	return s.set(ctx, "core5g/"+core, "functions", functions)
}

// apply lets a change of the functions through, and says what is not as it should be yet.
func (s *scene) apply(ctx context.Context, conditions ...string) error {
	err := s.well(ctx, conditions...)
	var pending pendingError
	if errors.As(err, &pending) {
		if _, hash, found := strings.Cut(string(pending), "core5g.dev/apply-update="); found {
			if _, err := s.Run(ctx, "annotate", "--overwrite", "upfinstance", upf, "core5g.dev/apply-update="+strings.TrimSpace(hash)); err != nil {
				return err
			}
		}
	}
	return err
}

// pendingError is what condition UpdatePending says.
type pendingError string

func (e pendingError) Error() string { return "an update is pending: " + string(e) }

// well says what is not as it should be yet.
func (s *scene) well(ctx context.Context, conditions ...string) error {
	var o cluster.Object
	if err := s.JSON(ctx, &o, "get", "upfinstance/"+upf); err != nil {
		return err
	}
	pending, is := o.Condition("UpdatePending")
	if !is || pending.ObservedGeneration < o.Metadata.Generation {
		return errors.New("UpdatePending is not known yet")
	}
	if pending.Status != "False" {
		return pendingError(pending.Message)
	}
	for _, name := range conditions {
		if c, _ := o.Condition(name); c.Status != "True" {
			return fmt.Errorf("%s=%s (%s: %s)", name, c.Status, c.Reason, c.Message)
		}
	}
	return nil
}

// inSync waits for a standby that may take over, and for the phone's packets.
func (s *scene) inSync(ctx context.Context) error {
	if err := cluster.Eventually(ctx, patience, func() error { return s.apply(ctx, "Ready", "StandbyInSync") }); err != nil {
		return err
	}
	return cluster.Eventually(ctx, patience, func() error {
		p, err := s.Ping(ctx, phone, cluster.DataNetwork, 3, 100*time.Millisecond)
		if err == nil && p.Received != p.Sent {
			err = fmt.Errorf("%d of %d packets of the phone came back", p.Received, p.Sent)
		}
		return err
	})
}

// restore takes back what prepare did.
func (s *scene) restore() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.Run(ctx, "delete", "pod", takeover.PodName, handPod, "--ignore-not-found", "--wait")
	err = errors.Join(err, s.set(ctx, "core5g/"+core, "functions", s.functions), s.set(ctx, "upfinstance/"+upf, "updateStrategy", s.strategy), s.set(ctx, "upfinstance/"+upf, "redundancy", s.redundancy))
	if err == nil {
		err = cluster.Eventually(ctx, patience, func() error { return s.apply(ctx, "Ready") })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "redundancy: restore:", err)
	}
}

// startPods starts the probe, and the hand that kills and cuts.
func (s *scene) startPods(ctx context.Context) error {
	if _, err := s.Run(ctx, "delete", "pod", handPod, "--ignore-not-found", "--wait"); err != nil {
		return err
	}
	image, err := s.Run(ctx, "get", "deployment", "ran", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	if err != nil {
		return err
	}
	node, err := s.Run(ctx, "get", "pod", unit, "-o", "jsonpath={.spec.nodeName}")
	if err != nil {
		return err
	}
	if _, err := s.Input(ctx, fmt.Sprintf(hand, handPod, node, image), "apply", "-f", "-"); err != nil {
		return err
	}
	if _, err := s.Run(ctx, "wait", "pod/"+handPod, "--for=condition=Ready", "--timeout=90s"); err != nil {
		return err
	}
	return s.probe.Start(ctx, upf, unit, slice)
}

const hand = `apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: core5g
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 2
  restartPolicy: Never
  hostPID: true
  nodeName: %s
  containers:
    - name: hand
      image: %s
      imagePullPolicy: IfNotPresent
      command: [/bin/busybox, sleep, "86400"]
      resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 128Mi}}
      securityContext: {privileged: true, runAsUser: 0}
`

// tell has the probe do something, and decodes what it answers.
func (s *scene) tell(ctx context.Context, v any, path string, values url.Values) error {
	return s.probe.Tell(ctx, v, path, values)
}

// within runs a script on the unit's node, with $pids the processes upf-u and upf-c of a pod.
func (s *scene) within(ctx context.Context, pod cluster.Object, script string) error {
	uid := pod.Metadata.UID
	find := fmt.Sprintf(`pids=; for p in /proc/[0-9]*; do
		case "$(cat $p/comm 2>/dev/null)" in upf-u|upf-c) grep -q -e %s -e %s $p/cgroup 2>/dev/null && pids="$pids ${p#/proc/}";; esac; done
		[ -n "$pids" ] || { echo "no process of pod %s is on this node" >&2; exit 1; }
		`, uid, strings.ReplaceAll(uid, "-", "_"), pod.Metadata.Name)
	_, err := s.Run(ctx, "exec", handPod, "--", "/bin/busybox", "sh", "-c", find+script)
	return err
}

// unitState is how a unit is.
type unitState struct {
	holder, standby cluster.Object
	epoch           int64
}

func (s *scene) state(ctx context.Context) (st unitState, err error) {
	var o struct {
		Status struct {
			UnitStatuses []struct {
				Name, Pod string
				Epoch     int64
				Standby   struct{ Pod string }
			}
		}
	}
	if err := s.JSON(ctx, &o, "get", "upfinstance/"+upf); err != nil {
		return st, err
	}
	for _, u := range o.Status.UnitStatuses {
		if u.Name != unit {
			continue
		}
		st.epoch = u.Epoch
		return st, errors.Join(s.JSON(ctx, &st.holder, "get", "pod/"+u.Pod), s.JSON(ctx, &st.standby, "get", "pod/"+u.Standby.Pod))
	}
	return st, fmt.Errorf("UPFInstance %s has no unit %s", upf, unit)
}

// setUps is how often the core's SMFs have begun an association anew.
func (s *scene) setUps(ctx context.Context) (n float64, err error) {
	smfs, err := s.Component(ctx, "smf")
	if err != nil {
		return 0, err
	}
	for _, pod := range smfs {
		if pod.Metadata.Name == takeover.PodName {
			continue
		}
		metrics, err := s.UPFMetrics(ctx, pod.Metadata.Name)
		if err != nil {
			return 0, err
		}
		n += metrics[`core5g_pfcp_messages_total{cause="",direction="out",message="association_setup_request"}`]
	}
	return n, nil
}

func (s *scene) checked(ctx context.Context) (takeover.Check, error) { return s.probe.Check(ctx) }
