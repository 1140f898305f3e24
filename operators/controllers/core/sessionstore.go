package core

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// The session store of a core: its Secrets, the embedded server, and whether records last there. The sealing key is
// made once. Where it is gone it is not made anew without a word: what the store holds could be read by nobody.

// storeCheckEvery is how often a store is asked whether it is as it must be, storeRetryEvery while it is not.
const (
	storeCheckEvery = 30 * time.Second
	storeRetryEvery = 5 * time.Second
	storeTimeout    = 5 * time.Second
	// storeJoinEvery is how often a store that grows is asked whether the next server may begin.
	storeJoinEvery = time.Second
	// mostStoreMembers are the servers that an embedded store may have.
	mostStoreMembers = 3
)

// keepSessionStore comes before the functions that keep records in the store.
func (r *Reconciler) keepSessionStore(ctx context.Context, s *scope) error {
	if !specs.NeedsSessionStore(s.core) {
		meta.RemoveStatusCondition(&s.core.Status.Conditions, api.ConditionSessionStoreReady)
		return r.removeSessionStore(ctx, s)
	}
	sound, err := r.keepSealingKeys(ctx, s)
	if err != nil || !sound {
		return err
	}
	if !specs.EmbeddedSessionStore(s.core) {
		if err := r.removeSessionStore(ctx, s); err != nil {
			return err
		}
		return r.checkSessionStore(ctx, s)
	}
	if starting, err := r.applySessionStore(ctx, s); err != nil || starting != "" {
		if err == nil {
			s.conditions.No(api.ConditionSessionStoreReady, api.ReasonProgressing, starting+specs.SessionStoreDirectoryHint(s.core))
		}
		return err
	}
	return r.checkSessionStore(ctx, s)
}

// keepSealingKeys makes the first key, and says what is wrong with those that are there.
func (r *Reconciler) keepSealingKeys(ctx context.Context, s *scope) (sound bool, err error) {
	name := specs.SessionStoreKeysName(s.core.Name)
	secret := &corev1.Secret{}
	err = r.Get(ctx, client.ObjectKey{Namespace: s.core.Namespace, Name: name}, secret)
	if err == nil {
		if _, err := mounted.ParseKeys(secret.Data); err != nil {
			s.conditions.No(api.ConditionSessionStoreReady, api.ReasonMalformed, fmt.Sprintf("Secret %s: %v", name, err))
			return false, nil
		}
		return true, nil
	}
	if !apierrors.IsNotFound(err) {
		return false, err
	}
	used, err := r.storeWasUsed(ctx, s)
	if err != nil {
		return false, err
	}
	if used {
		s.conditions.No(api.ConditionSessionStoreReady, api.ReasonKeyMissing, fmt.Sprintf(
			"Secret %s, which seals what the session store holds, is gone: restore it from a backup; or, to begin anew without the sessions that are there, "+
				"kubectl -n %s create secret generic %s --from-literal=%s=$(openssl rand -base64 %d)", name, s.core.Namespace, name, specs.SessionStoreKey, sessionstore.KeySize))
		return false, nil
	}
	key := make([]byte, sessionstore.KeySize)
	_, _ = rand.Read(key) // never fails
	if err := r.Create(ctx, specs.SessionStoreKeys(s.core, key), client.FieldOwner(specs.FieldOwner)); err != nil {
		// The cache may be behind: another pass sees the key that is there.
		return false, err
	}
	r.Recorder.Eventf(s.core, corev1.EventTypeNormal, "SealingKeyMade", "Secret %s seals what the session store holds: keep a copy of it with the store's backups", name)
	return true, nil
}

// storeWasUsed says whether there may be records: the core had a store, or there is the claim of a core of its name.
func (r *Reconciler) storeWasUsed(ctx context.Context, s *scope) (bool, error) {
	if meta.FindStatusCondition(s.core.Status.Conditions, api.ConditionSessionStoreReady) != nil {
		return true, nil
	}
	claim := specs.SessionStoreClaim(s.core, 0)
	if claim == nil || !specs.EmbeddedSessionStore(s.core) {
		return false, nil
	}
	return r.claimIsThere(ctx, claim)
}

func (r *Reconciler) claimIsThere(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	err := r.applier.Live.Get(ctx, client.ObjectKeyFromObject(claim), &corev1.PersistentVolumeClaim{})
	return err == nil, client.IgnoreNotFound(err)
}

// applySessionStore makes the embedded store. It says why the store does not serve yet.
func (r *Reconciler) applySessionStore(ctx context.Context, s *scope) (starting string, err error) {
	services, err := r.storeServices(ctx, s)
	if err != nil {
		return "", err
	}
	password, err := r.storePassword(ctx, s, services)
	if err != nil {
		return "", err
	}
	members := r.storeMembers(s, password, services)
	runs, away, err := r.storeRuns(ctx, members)
	if err != nil {
		return "", err
	}
	var waiting []string
	begun := slices.Contains(runs, true) || len(away) > 0
	for n := range members {
		claim := specs.SessionStoreClaim(s.core, n)
		if n > 0 && begun {
			there, err := r.claimIsThere(ctx, claim)
			if err != nil {
				return "", err
			}
			until := ""
			if !there {
				until = r.joins(ctx, members[:n], services, password, away)
			}
			if until != "" {
				waiting, s.storeNext = append(waiting, members[n].Deployment.Name+" is made when "+until), storeJoinEvery
				continue
			}
		}
		if problem, err := r.keepClaim(ctx, claim); err != nil || problem != "" {
			return problem, err
		}
		if runs[n] && slices.ContainsFunc(away, func(other int) bool { return other != n }) { // of three, two go on
			continue
		}
		if err := r.applier.ApplyFunction(ctx, s.kept, &members[n]); err != nil {
			return "", err
		}
		problem, err := workloads.DeploymentProblem(ctx, r.Client, members[n].Deployment)
		if err != nil {
			return "", err
		}
		if problem != "" {
			waiting, away = append(waiting, problem), append(away, n)
		}
	}
	s.store = &api.FunctionStatus{
		Name: members[0].Function, Ready: metav1.ConditionTrue, Message: strings.Join(waiting, "; "), Image: members[0].Deployment.Spec.Template.Spec.Containers[0].Image,
	}
	if len(waiting) == 0 {
		return "", nil
	}
	s.store.Ready = metav1.ConditionFalse
	if len(members)-len(waiting) > len(members)/2 { // the others serve; what is with them they say themselves
		s.storeLacks = s.store.Message
		return "", nil
	}
	return s.store.Message, nil
}

// storeServices are those of a store of three, which are made first; none of one that is alone.
func (r *Reconciler) storeServices(ctx context.Context, s *scope) ([]*corev1.Service, error) {
	if specs.SessionStoreMembers(s.core) == 1 {
		return nil, nil
	}
	services := specs.SessionStoreServices(s.core)
	for _, service := range services {
		if err := r.applier.ApplyService(ctx, s.kept, service); err != nil {
			return nil, err
		}
	}
	return services, nil
}

// storeMembers are the servers of the embedded store.
func (r *Reconciler) storeMembers(s *scope, password string, services []*corev1.Service) []specs.FunctionObjects {
	if len(services) == 0 {
		return []specs.FunctionObjects{specs.SessionStoreFunction(s.core, r.Platform, password)}
	}
	var out []specs.FunctionObjects
	for n := range services {
		out = append(out, specs.SessionStoreMember(s.core, r.Platform, password, n, services))
	}
	return out
}

// joins says what a member waits for that a store which has data is to have beside those before it. Two that have nothing yet would take each other for all that there
// is while the one with the data is away, and choose one of themselves: so it begins when all before it run, and have everything.
func (r *Reconciler) joins(ctx context.Context, before []specs.FunctionObjects, services []*corev1.Service, password string, away []int) (until string) {
	for n := range before {
		name := before[n].Deployment.Name
		if slices.Contains(away, n) {
			return name + " runs"
		}
		if synced, err := r.StoreSynced(ctx, services[n].Spec.ClusterIP, password); err != nil || !synced {
			return name + " has everything"
		}
	}
	return ""
}

// storeRuns says which members run, and which of those that there are do not. Those that are still to be made keep nobody waiting: the one that was alone is changed
// before they are.
func (r *Reconciler) storeRuns(ctx context.Context, members []specs.FunctionObjects) (runs []bool, away []int, err error) {
	runs = make([]bool, len(members))
	for n := range members {
		live := &appsv1.Deployment{}
		switch err := r.Get(ctx, client.ObjectKeyFromObject(members[n].Deployment), live); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, nil, err
		case workloads.Available(live):
			runs[n] = true
		default:
			away = append(away, n)
		}
	}
	return runs, away, nil
}

// storePassword is the one in the Secret, which is made where there is none.
func (r *Reconciler) storePassword(ctx context.Context, s *scope, services []*corev1.Service) (string, error) {
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.core.Namespace, Name: specs.SessionStoreSecretName(s.core)}, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	password := string(secret.Data[mounted.FilePassword])
	if err != nil || password == "" {
		random := make([]byte, 24)
		_, _ = rand.Read(random) // never fails
		password = base64.RawURLEncoding.EncodeToString(random)
	}
	return password, r.applier.Apply(ctx, specs.SessionStoreSecret(s.core, password, services...))
}

// keepClaim makes the claim, and lets it grow. A claim is never made smaller, nor moved to another class.
func (r *Reconciler) keepClaim(ctx context.Context, want *corev1.PersistentVolumeClaim) (problem string, err error) {
	if want == nil {
		return "", nil
	}
	live := &corev1.PersistentVolumeClaim{}
	err = r.applier.Live.Get(ctx, client.ObjectKeyFromObject(want), live)
	if apierrors.IsNotFound(err) {
		return "", r.Create(ctx, want, client.FieldOwner(specs.FieldOwner))
	}
	if err != nil {
		return "", err
	}
	class := want.Spec.StorageClassName
	if class != nil && (live.Spec.StorageClassName == nil || *live.Spec.StorageClassName != *class) {
		return fmt.Sprintf("PersistentVolumeClaim %s has storageClassName %q, and keeps it: write that into spec.sessionStore.storage, or move the store to a new claim (docs/session-store.md)",
			live.Name, ptrString(live.Spec.StorageClassName)), nil
	}
	has, wanted := live.Spec.Resources.Requests[corev1.ResourceStorage], want.Spec.Resources.Requests[corev1.ResourceStorage]
	if wanted.Cmp(has) <= 0 {
		return "", nil
	}
	grown := live.DeepCopy()
	grown.Spec.Resources.Requests[corev1.ResourceStorage] = wanted
	err = r.Patch(ctx, grown, client.MergeFrom(live), client.FieldOwner(specs.FieldOwner))
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return fmt.Sprintf("PersistentVolumeClaim %s cannot grow to %s: %v: write %s into spec.sessionStore.storage.size", live.Name, wanted.String(), err, has.String()), nil
	}
	return "", err
}

func ptrString(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// checkSessionStore asks the store itself, beside the pass.
func (r *Reconciler) checkSessionStore(ctx context.Context, s *scope) error {
	name := specs.SessionStoreSecretName(s.core)
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.core.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		s.conditions.No(api.ConditionSessionStoreReady, api.ReasonNotFound, fmt.Sprintf(
			"Secret %s, named by spec.sessionStore.secretRef, does not exist: create it with keys %q, %q and %q", name, mounted.FileAddresses, mounted.FileUsername, mounted.FilePassword))
		return nil
	}
	if err != nil {
		return err
	}
	access, err := mounted.Parse(secret.Data)
	if err != nil {
		s.conditions.No(api.ConditionSessionStoreReady, api.ReasonMalformed, fmt.Sprintf("Secret %s: %v", name, err))
		return nil
	}
	access.Prefix = specs.SessionStorePrefix(s.core)
	check := r.CheckStore
	if check == nil {
		check = checkStore
	}
	problem := func(err error) (reason, message string) { return storeProblem(err, name) }
	fine := "the session store keeps what it is given"
	if s.storeLacks != "" {
		fine += "; " + s.storeLacks
	}
	next := r.reaches(ctx, s, outside{
		api.ConditionSessionStoreReady, "session store", specs.Hash(secret.Data), problem, fine,
	}, func(ctx context.Context) error { return check(ctx, access) })
	if s.storeNext == 0 || next < s.storeNext { // else it grows
		s.storeNext = next
	}
	return nil
}

// outside is a server that is not the operator's, and the condition that says whether it serves.
type outside struct {
	condition, name string
	// access is a digest of how it is reached: with another one it is asked anew.
	access string
	// problem says why it does not serve, and what to do; fine, that it does.
	problem func(error) (reason, message string)
	fine    string
}

// reaches has a server asked beside the pass, and its condition say what it answered. It returns after what time it is asked next.
func (r *Reconciler) reaches(ctx context.Context, s *scope, o outside, check func(context.Context) error) time.Duration {
	age := func(_ struct{}, err error) time.Duration {
		if err != nil {
			return storeRetryEvery
		}
		return storeCheckEvery
	}
	answer := asking.Ask(ctx, r.Registrations.asking, s.core, o.name, o.access, age, func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		return struct{}{}, check(ctx)
	})
	switch {
	case !answer.Known:
		if meta.FindStatusCondition(s.core.Status.Conditions, o.condition) == nil {
			s.conditions.Unknown(o.condition, api.ReasonProgressing, "the "+o.name+" has not answered yet")
		}
	case answer.Err != nil:
		reason, message := o.problem(answer.Err)
		s.conditions.No(o.condition, reason, message)
	default:
		s.conditions.Yes(o.condition, api.ReasonReady, o.fine)
	}
	return answer.Next
}

// checkStore opens the store as those do that keep records there.
func checkStore(ctx context.Context, access *mounted.Access) error {
	options := access.Options
	if access.Config != nil {
		options.TLS = func() *tls.Config { return access.Config }
	}
	store, err := redisstore.Open(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(store.Check(ctx), store.Close())
}

// storeProblem says why a store does not serve, and what to do.
func storeProblem(err error, secret string) (reason, message string) {
	switch {
	case errors.Is(err, redisstore.ErrCredentials):
		return api.ReasonCredentialsRefused, fmt.Sprintf("the session store refuses the user or password in Secret %s: write those that its ACL has (docs/session-store.md): %v", secret, err)
	case errors.Is(err, redisstore.ErrSettings):
		return api.ReasonUnsafeSettings, err.Error()
	case errors.Is(err, redisstore.ErrReplicas):
		return api.ReasonTooFewReplicas, fmt.Sprintf("%v: bring a replica back, or write fewer into key %q of Secret %s", err, mounted.FileReplicas, secret)
	}
	return api.ReasonUnreachable, fmt.Sprintf("the session store at the addresses in Secret %s does not serve: %v", secret, err)
}

// removeSessionStore ends the embedded servers of an earlier specification. Their claims and the sealing keys stay, and a budget means nobody then.
func (r *Reconciler) removeSessionStore(ctx context.Context, s *scope) error {
	unwanted := []client.Object{specs.SessionStorePolicy(s.core)}
	for n := range mostStoreMembers {
		named := metav1.ObjectMeta{Namespace: s.core.Namespace, Name: specs.SessionStoreMemberName(s.core.Name, n)}
		config := *named.DeepCopy()
		config.Name += "-config"
		unwanted = append(unwanted, &appsv1.Deployment{ObjectMeta: named}, &corev1.Service{ObjectMeta: named}, &corev1.Secret{ObjectMeta: config})
	}
	if !specs.NeedsSessionStore(s.core) {
		unwanted = append(unwanted, specs.SessionStoreSecret(s.core, ""))
	}
	for _, o := range unwanted {
		if err := r.applier.Remove(ctx, s.core, o); err != nil {
			return err
		}
	}
	return nil
}
