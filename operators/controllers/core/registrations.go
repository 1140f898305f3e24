package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/nrf"
	"core5g.dev/core5g/operators/specs"
)

// free5GC's own functions register once, at their start, and never look again. When the NRF's database
// is replaced, the core would stay deaf: the NRF is up, every function is up, and nobody finds anybody.
// (This project's images look after themselves within seconds; those of a site may not.)
//
// So the operator remembers each profile while all is well. When one is missing although the process
// that made it still runs, it puts the profile back; nobody restarts and no PDU session ends. Where it has
// never seen the profile (the operator itself is younger than the loss) it says so, once and then in the
// condition, and which command heals it. It restarts nobody: an AMF of free5GC's that the NRF does not show still serves
// its UEs, and its restart would end them all; so would that of an SMF its sessions. A person can choose the
// moment. A profile that a killed SMF left behind for a Slice that is gone is taken out, because the AMF takes
// the first SMF that it finds.

const (
	// RegistrationPeriod is how often an NRF is asked who is registered.
	RegistrationPeriod = 12 * time.Second
	// RestoreGrace leaves a function time to register again by itself.
	RestoreGrace = 15 * time.Second
	// lostGrace is patient: a function that comes registers within it, and one with an answer of the NRF's
	// missing is not lost.
	lostGrace = 60 * time.Second
)

// NRFClient is what the check needs of an NRF.
type NRFClient interface {
	Discover(ctx context.Context, nfType string) ([]nrf.Profile, error)
	Profile(ctx context.Context, instance string) (json.RawMessage, error)
	Register(ctx context.Context, instance string, profile json.RawMessage) error
	Deregister(ctx context.Context, instance string) error
}

// Registrations watches over the NRFs of all cores.
type Registrations struct {
	// Client reads the operator's certificate.
	Client client.Client
	// NRF returns a client for the NRF at a base URL.
	NRF        func(baseURL string, identity *sbitls.Identity) NRFClient
	Identities *certifying.Identities
	Now        func() time.Time

	// asking asks NRFs beside the passes.
	asking *asking.Questions
	mu     sync.Mutex
	cores  map[types.NamespacedName]*coreRegistrations
}

// coreRegistrations is what is known of one core. The question under way is the only one to touch it.
type coreRegistrations struct {
	known   map[string]knownProfile
	missing map[string]lostFunction
}

// lostFunction is one that the NRF does not show.
type lostFunction struct {
	since time.Time
	// told is set once a person was asked to restart it.
	told bool
}

type knownProfile struct {
	instance string
	pod      types.UID
	restarts int32
	profile  json.RawMessage
}

// expectedFunction is one function that ought to be registered.
type expectedFunction struct {
	nfType string
	// host is the name of its Service, under which it registers.
	host string
	// pod is nil as long as none is ready; then nothing is expected yet.
	pod *corev1.Pod
	// lasting: what the pod serves is in the session store.
	lasting bool
}

// lasting says of a pod's labels whether it is one of core5g's own SMF or AMF.
func lasting(labels map[string]string) bool {
	return labels[api.LabelSessionManagement] != "" || labels[api.LabelAccessManagement] != ""
}

type registrationReport struct {
	// problem is empty when everybody is registered.
	problem string
	// unknown is set when the NRF could not be asked, asked while it has not answered yet.
	unknown, asked bool
	events         []registrationEvent
	next           time.Duration
}

type registrationEvent struct{ kind, reason, message string }

func (r *Registrations) forget(core types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cores, core)
}

func (r *Registrations) of(core types.NamespacedName) *coreRegistrations {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cores == nil {
		r.cores = map[types.NamespacedName]*coreRegistrations{}
	}
	if r.cores[core] == nil {
		r.cores[core] = &coreRegistrations{known: map[string]knownProfile{}, missing: map[string]lostFunction{}}
	}
	return r.cores[core]
}

// check returns what the NRF has answered last, and asks it at most once a period, beside the pass. What can be healed is
// healed then.
func (r *Registrations) check(ctx context.Context, core *api.Core5G, expected []expectedFunction) registrationReport {
	state := r.of(client.ObjectKeyFromObject(core))
	now := r.Now()
	expected = slices.Clone(expected)
	for i := range expected {
		expected[i].pod = expected[i].pod.DeepCopy()
	}
	of := core.DeepCopy()
	answer := asking.Ask(ctx, r.asking, core, "registrations", string(core.UID), registrationReport.period, func(ctx context.Context) (registrationReport, error) {
		return r.ask(ctx, of, state, expected, now), nil
	})
	report := answer.Value
	report.next, report.asked = answer.Next, !answer.Known
	if !answer.First {
		report.events = nil
	}
	return report
}

// period is when to ask again after this.
func (r registrationReport) period(error) time.Duration {
	if r.problem != "" {
		return 2 * time.Second
	}
	return RegistrationPeriod
}

func (r *Registrations) ask(ctx context.Context, core *api.Core5G, state *coreRegistrations, expected []expectedFunction, now time.Time) registrationReport {
	identity, err := r.Identities.Of(ctx, r.Client, core)
	if err != nil {
		return registrationReport{unknown: true, problem: err.Error()}
	}
	client := r.NRF(specs.SBIURL(core, specs.FunctionObjectName(core.Name, api.FunctionNRF)), identity)
	registered := map[string][]nrf.Profile{}
	for _, nfType := range []string{"AMF", "PCF", "CHF", "SMF"} {
		profiles, err := client.Discover(ctx, nfType)
		if err != nil {
			return registrationReport{unknown: true, problem: "the NRF does not answer: " + err.Error()}
		}
		registered[nfType] = profiles
	}
	var report registrationReport
	var missing []string
	for _, e := range expected {
		found := registeredAs(registered[e.nfType], e.host)
		if len(found) > 0 {
			delete(state.missing, e.host)
			r.remember(ctx, client, state, e, found[len(found)-1])
			continue
		}
		if e.pod == nil {
			delete(state.missing, e.host)
			continue
		}
		if _, was := state.missing[e.host]; !was {
			state.missing[e.host] = lostFunction{since: now}
		}
		said, events := heal(ctx, client, state, e, now)
		missing = append(missing, e.nfType+" "+e.host+said)
		report.events = append(report.events, events...)
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		report.problem = "not registered with the NRF: " + strings.Join(missing, ", ")
	}
	report.events = append(report.events, removeOrphans(ctx, client, core, registered["SMF"], expected)...)
	return report
}

func registeredAs(profiles []nrf.Profile, host string) []nrf.Profile {
	var out []nrf.Profile
	for _, p := range profiles {
		if p.Hosts()[host] {
			out = append(out, p)
		}
	}
	return out
}

// remember keeps the profile of a process that runs, once for each process.
func (r *Registrations) remember(ctx context.Context, client NRFClient, state *coreRegistrations, e expectedFunction, p nrf.Profile) {
	if e.pod == nil {
		return
	}
	known, ok := state.known[e.host]
	if ok && known.instance == p.NfInstanceID && known.pod == e.pod.UID && known.restarts == workloads.Restarts(e.pod) {
		return
	}
	profile, err := client.Profile(ctx, p.NfInstanceID)
	if err != nil {
		return // asked again in the next period
	}
	state.known[e.host] = knownProfile{instance: p.NfInstanceID, pod: e.pod.UID, restarts: workloads.Restarts(e.pod), profile: profile}
}

// heal puts the profile of a function back where it is known. Else it returns what the condition adds to the
// function's name.
func heal(ctx context.Context, nrfClient NRFClient, state *coreRegistrations, e expectedFunction, now time.Time) (said string, events []registrationEvent) {
	lost := state.missing[e.host]
	missing := now.Sub(lost.since)
	known, ok := state.known[e.host]
	if ok && known.pod == e.pod.UID && known.restarts == workloads.Restarts(e.pod) {
		if missing < RestoreGrace {
			return "", nil
		}
		if err := nrfClient.Register(ctx, known.instance, known.profile); err != nil {
			return "", []registrationEvent{{corev1.EventTypeWarning, "RegistrationNotRestored",
				fmt.Sprintf("the NRF has lost %s %s and does not take it back: %v", e.nfType, e.host, err)}}
		}
		return "", []registrationEvent{{corev1.EventTypeNormal, "RegistrationRestored",
			fmt.Sprintf("the NRF had lost %s %s (its database was replaced); the profile was put back, nothing was restarted", e.nfType, e.host)}}
	}
	if missing < lostGrace {
		return "", nil
	}
	said = fmt.Sprintf(" (it runs, and its profile is not known: to have it register again, `kubectl -n %s delete pod %s`%s)", e.pod.Namespace, e.pod.Name, e.restartCost())
	if !lost.told {
		lost.told = true
		state.missing[e.host] = lost
		events = []registrationEvent{{corev1.EventTypeWarning, "NotRegistered", "not registered with the NRF: " + e.nfType + " " + e.host + said}}
	}
	return said, events
}

// restartCost is what a restart of a function ends.
func (e expectedFunction) restartCost() string {
	switch {
	case e.lasting:
		return ", which ends nothing"
	case e.nfType == "AMF":
		return ", which makes every UE register anew"
	case e.nfType == "SMF":
		return ", which ends the PDU sessions of its slice"
	default:
		return ""
	}
}

// removeOrphans takes out SMFs of this core whose Slice is gone.
func removeOrphans(ctx context.Context, client NRFClient, core *api.Core5G, smfs []nrf.Profile, expected []expectedFunction) []registrationEvent {
	var events []registrationEvent
	prefix := specs.SMFObjectName(core.Name, "")
	for _, p := range smfs {
		hosts := p.Hosts()
		ours, wanted := "", false
		for h := range hosts {
			if strings.HasPrefix(h, prefix) {
				ours = h
			}
		}
		for _, e := range expected {
			wanted = wanted || hosts[e.host]
		}
		if ours == "" || wanted {
			continue
		}
		if err := client.Deregister(ctx, p.NfInstanceID); err != nil {
			events = append(events, registrationEvent{corev1.EventTypeWarning, "DeregistrationFailed", fmt.Sprintf("SMF %s: %v", ours, err)})
			continue
		}
		events = append(events, registrationEvent{corev1.EventTypeNormal, "Deregistered",
			fmt.Sprintf("SMF %s was still registered with the NRF, and its Slice is gone", ours)})
	}
	return events
}

// checkRegistrations asks the NRF who is registered, as soon as it is there and then periodically.
func (r *Reconciler) checkRegistrations(ctx context.Context, s *scope) error {
	if s.halted || s.core.Fused() {
		return nil
	}
	if !s.conditions.Is(api.ConditionNRFReady) {
		s.conditions.Unknown(api.ConditionRegistered, api.ReasonProgressing, "the NRF is not ready")
		return nil
	}
	expected, err := r.expectedRegistrations(ctx, s)
	if err != nil {
		return err
	}
	report := r.Registrations.check(ctx, s.core, expected)
	s.requeue = report.next
	for _, e := range report.events {
		r.Recorder.Event(s.core, e.kind, e.reason, e.message)
	}
	switch {
	case report.asked:
		if meta.FindStatusCondition(s.core.Status.Conditions, api.ConditionRegistered) == nil {
			s.conditions.Unknown(api.ConditionRegistered, api.ReasonProgressing, "the NRF has not answered yet")
		}
	case report.problem == "":
		s.conditions.Yes(api.ConditionRegistered, api.ReasonReady, "every network function is registered with the NRF")
	case report.unknown:
		s.conditions.Unknown(api.ConditionRegistered, api.ReasonFailed, report.problem)
	default:
		s.conditions.No(api.ConditionRegistered, api.ReasonRegistrationMis, report.problem)
	}
	return nil
}

func (r *Reconciler) expectedRegistrations(ctx context.Context, s *scope) ([]expectedFunction, error) {
	var out []expectedFunction
	add := func(nfType, object string, labels map[string]string) error {
		e := expectedFunction{nfType: nfType, host: object, lasting: lasting(labels)}
		var pods corev1.PodList
		if err := r.List(ctx, &pods, client.InNamespace(s.core.Namespace), client.MatchingLabels(labels)); err != nil {
			return err
		}
		for i := range pods.Items {
			if workloads.PodReady(&pods.Items[i]) && pods.Items[i].DeletionTimestamp.IsZero() {
				e.pod = &pods.Items[i]
			}
		}
		out = append(out, e)
		return nil
	}
	for _, f := range s.functions {
		var err error
		switch f.Function {
		case api.FunctionAMF, api.FunctionPCF, api.FunctionCHF:
			err = add(strings.ToUpper(string(f.Function)), f.Deployment.Name, f.Deployment.Spec.Selector.MatchLabels)
		case api.FunctionAccessManagement:
			err = add("AMF", f.Deployment.Name, f.Deployment.Spec.Selector.MatchLabels)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.core.OwnControlPlane() {
		return out, shardsOf(s, add)
	}
	for _, slice := range s.slices {
		object := specs.SMFObjectName(s.core.Name, slice.Name)
		labels := map[string]string{
			api.LabelInstance: s.core.Name, api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: slice.Name,
		}
		if err := add("SMF", object, labels); err != nil {
			return nil, err
		}
	}
	return out, nil
}
