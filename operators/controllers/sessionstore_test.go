package controllers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/loopback"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

func createWithStore(e *environment, t *testing.T, ns string, store *api.SessionStoreSpec) error {
	core := controllertest.Core(t, ns)
	core.Name = "with-store"
	core.Spec.SessionStore = store
	return e.client.Create(t.Context(), core)
}

// changeCore patches a Core5G as it is now.
func (e *environment) changeCore(t *testing.T, core *api.Core5G, do func()) {
	t.Helper()
	e.get(t, core, core.Namespace, core.Name)
	base := core.DeepCopy()
	do()
	if err := e.client.Patch(t.Context(), core, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

// A store grows to three with what it has, is changed one member after the other, and does without one of them.
func (e *environment) testStoreOfThree(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.SessionStore = &api.SessionStoreSpec{}
	e.create(t, core)
	deployment := func(n int) *appsv1.Deployment {
		t.Helper()
		d := &appsv1.Deployment{}
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: specs.SessionStoreMemberName("core5g", n)}, d); err != nil {
			return nil
		}
		return d
	}
	e.wantServed(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnreachable, "")
	alone := deployment(0)
	if alone == nil || deployment(1) != nil {
		t.Fatal("there is not one member")
	}
	password := func() string {
		access := &corev1.Secret{}
		e.get(t, access, ns, "core5g-session-store")
		return string(access.Data["password"])
	}
	before := password()
	e.changeCore(t, core, func() { core.Spec.SessionStore.Replicas = ptr.To(int32(3)) })
	// Nobody who has nothing is there before those with data run as members, and have everything.
	runs := func(n int, synced bool) {
		t.Helper()
		d, service := deployment(n), &corev1.Service{}
		e.editStatus(t, d, func() {
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		})
		e.get(t, service, ns, d.Name)
		if synced {
			e.synced.Store(service.Spec.ClusterIP, true)
		}
	}
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "core5g-session-store-1 is made when core5g-session-store runs")
	runs(0, false)
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "core5g-session-store-1 is made when core5g-session-store has everything")
	if deployment(1) != nil || deployment(2) != nil {
		t.Fatal("a member without data is there beside one that may not be the primary yet")
	}
	runs(0, true)
	eventually(t, "the second member", func() error {
		if deployment(1) == nil {
			return errors.New("it is not there")
		}
		return nil
	})
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "core5g-session-store-2 is made when core5g-session-store-1 runs")
	if deployment(2) != nil {
		t.Fatal("two members without data could choose one of themselves")
	}
	runs(1, true)
	eventually(t, "there are three members", func() error {
		for n := range 3 {
			d, claim := deployment(n), &corev1.PersistentVolumeClaim{}
			if d == nil || len(d.Spec.Template.Spec.Containers) != 2 {
				return fmt.Errorf("member %d is %v", n, d)
			}
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: d.Name}, claim); err != nil {
				return err
			}
		}
		return nil
	})
	if now := deployment(0); now.UID != alone.UID || password() != before {
		t.Error("the first of three is another one than the one that was there, or has another password")
	}
	access := &corev1.Secret{}
	eventually(t, "the Secret names the Sentinels", func() error {
		e.get(t, access, ns, "core5g-session-store")
		if strings.Count(string(access.Data["addresses"]), ":26379") != 3 || string(access.Data["replicas"]) != "1" || string(access.Data["primary"]) != "core5g" {
			return fmt.Errorf("it says %q", access.Data)
		}
		return nil
	})
	// The members know each other by what the API server has given their Services.
	service := &corev1.Service{}
	e.get(t, service, ns, "core5g-session-store-2")
	if args := strings.Join(deployment(1).Spec.Template.Spec.InitContainers[0].Command, " "); !strings.Contains(args, service.Spec.ClusterIP) {
		t.Errorf("members are told %s, and not of %s", args, service.Spec.ClusterIP)
	}

	// Two of three serve, and the third one is named. What is to change waits for it.
	serve := func(which ...int) {
		t.Helper()
		for n := range 3 {
			d := deployment(n)
			e.editStatus(t, d, func() {
				ready := int32(0)
				if slices.Contains(which, n) {
					ready = 1
				}
				d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: ready, AvailableReplicas: ready}
			})
		}
	}
	serve(0)
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "core5g-session-store-1 is starting; core5g-session-store-2 is starting")
	serve(0, 2)
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnreachable, "")
	memory := func(n int) string {
		return deployment(n).Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String()
	}
	larger := func(limit string) {
		e.changeCore(t, core, func() {
			core.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionSessionStore, Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}}}}
		})
		e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, "", "")
	}
	larger("3Gi")
	eventually(t, "who does not serve is changed", func() error {
		if memory(1) != "3Gi" {
			return errors.New(memory(1))
		}
		return nil
	})
	if memory(0) != "2Gi" || memory(2) != "2Gi" {
		t.Error("a second member is replaced while one does not serve")
	}
	for round := range 2 {
		serve(0, 1, 2)
		eventually(t, "the next one is changed", func() error {
			changed := 0
			for n := range 3 {
				if memory(n) == "3Gi" {
					changed++
				}
			}
			if changed != round+2 {
				return fmt.Errorf("%d have the memory", changed)
			}
			return nil
		})
	}

	// It does not shrink, nor is it given up for one.
	for name, change := range map[string]func(*api.Core5GSpec){
		"one": func(s *api.Core5GSpec) { s.SessionStore.Replicas = ptr.To(int32(1)) }, "none said": func(s *api.Core5GSpec) { s.SessionStore.Replicas = nil },
		"no store said": func(s *api.Core5GSpec) { s.SessionStore = nil },
	} {
		e.get(t, core, ns, "core5g")
		base := core.DeepCopy()
		change(&core.Spec)
		if err := e.client.Patch(t.Context(), core, client.MergeFrom(base)); err == nil || !strings.Contains(err.Error(), "is not lowered") {
			t.Errorf("%s: %v", name, err)
		}
	}
	e.changeCore(t, core, func() {
		core.Spec.SessionStore = &api.SessionStoreSpec{Type: api.SessionStoreExternal, SecretRef: &api.SecretReference{Name: "site"}}
	})
	eventually(t, "an external one takes its place", func() error {
		for n := range 3 {
			if d := deployment(n); d != nil && d.DeletionTimestamp.IsZero() {
				return fmt.Errorf("%s is there", d.Name)
			}
		}
		return nil
	})
	for n := range 3 {
		e.get(t, &corev1.PersistentVolumeClaim{}, ns, specs.SessionStoreMemberName("core5g", n))
	}
}

func (e *environment) testSessionStore(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, "", "")
	for _, c := range core.Status.Conditions {
		if c.Type == api.ConditionSessionStoreReady {
			t.Errorf("a core without a session store says %q of it", c.Message)
		}
	}
	e.changeCore(t, core, func() {
		core.Spec.SessionStore = &api.SessionStoreSpec{Storage: &api.SessionStoreStorage{Size: ptr.To(resource.MustParse("1Gi"))}}
	})
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "core5g-session-store is starting")
	keys, access, claim := &corev1.Secret{}, &corev1.Secret{}, &corev1.PersistentVolumeClaim{}
	e.get(t, keys, ns, "core5g-session-store-keys")
	e.get(t, access, ns, "core5g-session-store")
	e.get(t, claim, ns, "core5g-session-store")
	e.get(t, &networkingv1.NetworkPolicy{}, ns, "core5g-session-store")
	if len(keys.Data["1"]) != 32 || len(keys.OwnerReferences) != 0 || len(claim.OwnerReferences) != 0 || len(access.Data["password"]) < 32 {
		t.Errorf("the keys are %v, the claim belongs to %v", keys.OwnerReferences, claim.OwnerReferences)
	}
	// Nothing serves there: the operator has asked, and says so.
	e.wantServed(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnreachable, "Secret core5g-session-store does not serve")
	e.wantServed(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonUnreachable, "")

	// The password and the key stay, whatever else changes; the claim grows, and does not shrink.
	e.changeCore(t, core, func() { core.Spec.SessionStore.Storage.Size = ptr.To(resource.MustParse("512Mi")) })
	e.changeCore(t, core, func() { core.Spec.LogLevel = api.LogDebug })
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, "", "")
	again := &corev1.Secret{}
	e.get(t, again, ns, "core5g-session-store")
	if !bytes.Equal(again.Data["password"], access.Data["password"]) {
		t.Error("the password has changed")
	}
	e.get(t, claim, ns, "core5g-session-store")
	if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "1Gi" {
		t.Errorf("the claim has %s", size.String())
	}
	e.changeCore(t, core, func() { core.Spec.SessionStore.Storage.StorageClassName = ptr.To("fast") })
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "has storageClassName \"\", and keeps it")
	e.changeCore(t, core, func() {
		core.Spec.SessionStore.Storage.StorageClassName = nil
		core.Spec.SessionStore.Storage.Size = ptr.To(resource.MustParse("2Gi"))
	})
	// No claim grows before it is bound.
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonProgressing, "write 1Gi into spec.sessionStore.storage.size")
	e.changeCore(t, core, func() { core.Spec.SessionStore.Storage.Size = nil; core.Spec.SessionStore.Storage = nil })
	e.changeCore(t, core, func() {
		core.Spec.SessionStore.Storage = &api.SessionStoreStorage{Size: ptr.To(resource.MustParse("1Gi"))}
	})

	// A key that is gone is not made anew without a word.
	if err := e.client.Delete(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonKeyMissing, "restore it from a backup; or, to begin anew")
	restored := specs.SessionStoreKeys(core, keys.Data["1"])
	restored.Data["key"] = []byte("x")
	e.create(t, restored)
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonMalformed, "name keys by numbers, as 1")
	base := restored.DeepCopy()
	delete(restored.Data, "key")
	if err := e.client.Patch(t.Context(), restored, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnreachable, "")

	// Without a store nothing runs, and what may hold sessions is kept.
	e.changeCore(t, core, func() { core.Spec.SessionStore = nil })
	eventually(t, "the store is gone", func() error {
		for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &corev1.Secret{}, &networkingv1.NetworkPolicy{}} {
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-session-store"}, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T is there: %v", o, err)
			}
		}
		return nil
	})
	e.get(t, &corev1.Secret{}, ns, "core5g-session-store-keys")
	e.get(t, &corev1.PersistentVolumeClaim{}, ns, "core5g-session-store")
	e.wantServed(t, core, api.ConditionReady, metav1.ConditionTrue, "", "")
}

// siteStore is a redis-server of a site's own.
func siteStore(t *testing.T) (address string, cli func(args ...string)) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	port := strconv.Itoa(loopback.Port(t))
	dir := t.TempDir()
	config := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(config, []byte("user default on >secret ~* +@all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, config, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "yes")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	cli = func(args ...string) {
		t.Helper()
		eventually(t, "redis-cli "+args[0], func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, "redis-cli", append([]string{"-e", "-p", port, "--no-auth-warning", "--pass", "secret"}, args...)...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	cli("ping")
	return "127.0.0.1:" + port, cli
}

func (e *environment) testExternalSessionStore(t *testing.T) {
	address, cli := siteStore(t)
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.SessionStore = &api.SessionStoreSpec{Type: api.SessionStoreExternal, SecretRef: &api.SecretReference{Name: "site"}}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonNotFound, `create it with keys "addresses"`)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "site"}, Data: map[string][]byte{"addresses": []byte(address)}}
	e.create(t, secret)
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonMalformed, `no "password": write the password of the ACL user`)
	write := func(name, value string) {
		t.Helper()
		base := secret.DeepCopy()
		secret.Data[name] = []byte(value)
		if err := e.client.Patch(t.Context(), secret, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
	}
	write("password", "wrong")
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonCredentialsRefused, "write those that its ACL has")
	write("password", "secret")
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionTrue, api.ReasonReady, "")
	e.wantServed(t, core, api.ConditionReady, metav1.ConditionTrue, "", "")
	write("replicas", "1")
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonTooFewReplicas, "0 of 1")
	e.wantCondition(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonTooFewReplicas, "")
	cli("config", "set", "maxmemory-policy", "allkeys-lru")
	write("replicas", "0")
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnsafeSettings, "set maxmemory-policy noeviction")
	cli("config", "set", "maxmemory-policy", "noeviction")
	write("addresses", "127.0.0.1:1")
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnreachable, "127.0.0.1:1")
	for _, name := range []string{"core5g-session-store"} {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
			t.Errorf("an embedded store runs beside the site's: %v", err)
		}
	}
	for _, c := range core.Status.Conditions {
		if strings.Contains(c.Message, "secret ") || strings.Contains(c.Message, "wrong") {
			t.Errorf("condition %s shows a password: %s", c.Type, c.Message)
		}
	}
}
