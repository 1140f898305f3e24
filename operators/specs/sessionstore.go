package specs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The session store. Two Secrets lead to it: one says where it is and how to get in (of the site, where it is
// External), one holds the keys that seal records. The latter, and the embedded store's claim, have no owner: what
// they hold together cannot be made again, and deleting a Core5G by mistake must not end it.
//
// The embedded server speaks in clear text. redis-server 7.0 reads its certificate when it starts, and would need a
// restart for each renewal; what travels is sealed, the password guards the rest, and NetworkPolicies admit only those
// that need it.

const (
	// SessionStoreUser of the embedded server.
	SessionStoreUser = "core5g"
	// SessionStoreKey is the number of the first sealing key.
	SessionStoreKey = "1"

	sessionStoreData = "/data"
	// probeUser may ask whether the server serves, and nothing else.
	probeUser = "probe"
)

// NeedsSessionStore says whether something of the core keeps records there.
func NeedsSessionStore(core *api.Core5G) bool {
	return core.Spec.SessionStore != nil || core.OwnControlPlane()
}

// EmbeddedSessionStore says whether the operator runs it.
func EmbeddedSessionStore(core *api.Core5G) bool {
	return NeedsSessionStore(core) && (core.Spec.SessionStore == nil || core.Spec.SessionStore.Type != api.SessionStoreExternal)
}

// SessionStoreSecretName names the Secret that says where the store is.
func SessionStoreSecretName(core *api.Core5G) string {
	if EmbeddedSessionStore(core) || core.Spec.SessionStore == nil {
		return FunctionObjectName(core.Name, api.FunctionSessionStore)
	}
	return core.Spec.SessionStore.SecretRef.Name
}

// SessionStoreKeysName names the Secret with the sealing keys.
func SessionStoreKeysName(core string) string {
	return FunctionObjectName(core, api.FunctionSessionStore) + "-keys"
}

// SessionStoreClaimName names the PersistentVolumeClaim of the embedded store.
func SessionStoreClaimName(core string) string {
	return FunctionObjectName(core, api.FunctionSessionStore)
}

// SessionStorePrefix begins all keys of a core: cores may share a server.
func SessionStorePrefix(core *api.Core5G) string {
	return "core5g:" + core.Namespace + "/" + core.Name + ":"
}

// SessionStoreSecret says where the embedded store is, with that password.
func SessionStoreSecret(core *api.Core5G, password string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SessionStoreSecretName(core), Namespace: core.Namespace, Labels: Labels(core.Name, string(api.FunctionSessionStore)),
			OwnerReferences: []metav1.OwnerReference{ownedBy(core, "Core5G")},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			mounted.FileAddresses: fmt.Appendf(nil, "%s.%s.svc:%d", FunctionObjectName(core.Name, api.FunctionSessionStore), core.Namespace, PortSessionStore),
			mounted.FileUsername:  []byte(SessionStoreUser),
			mounted.FilePassword:  []byte(password),
		},
	}
}

// SessionStoreKeys holds the first sealing key. It has no owner.
func SessionStoreKeys(core *api.Core5G, key []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SessionStoreKeysName(core.Name), Namespace: core.Namespace, Labels: Labels(core.Name, string(api.FunctionSessionStore)),
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{SessionStoreKey: key},
	}
}

// sessionStoreStorage is what the core says of it, with defaults.
func sessionStoreStorage(core *api.Core5G) api.SessionStoreStorage {
	var s api.SessionStoreStorage
	if core.Spec.SessionStore != nil && core.Spec.SessionStore.Storage != nil {
		s = *core.Spec.SessionStore.Storage
	}
	s.Type = cmp.Or(s.Type, api.SessionStorePersistentVolumeClaim)
	if s.Size == nil {
		s.Size = ptr.To(resource.MustParse("4Gi"))
	}
	return s
}

// SessionStorePlace is another string where the store is another one, and "" for none. Which server an external store's
// Secret names, the Secret alone knows.
func SessionStorePlace(core *api.Core5G) string {
	switch {
	case !NeedsSessionStore(core):
		return ""
	case !EmbeddedSessionStore(core):
		return "Secret " + SessionStoreSecretName(core)
	}
	s := sessionStoreStorage(core)
	return string(s.Type) + " " + s.Node + s.HostPath
}

// SessionStoreDirectoryHint says what a store waits for that has a directory of a node: the kubelet tells that in an Event of
// the pod alone. "" for one with a claim.
func SessionStoreDirectoryHint(core *api.Core5G) string {
	s := sessionStoreStorage(core)
	if s.Type != api.SessionStoreHostPath {
		return ""
	}
	return fmt.Sprintf(": directory %s has to be on node %s and belong to user %d; to make it, on that node: install -d -o %[3]d -g %[3]d -m 0700 %[1]s", s.HostPath, s.Node, userID)
}

// SessionStoreClaim is the embedded store's, or nil where it writes to a directory of a node. It has no owner.
func SessionStoreClaim(core *api.Core5G) *corev1.PersistentVolumeClaim {
	storage := sessionStoreStorage(core)
	if storage.Type == api.SessionStoreHostPath {
		return nil
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SessionStoreClaimName(core.Name), Namespace: core.Namespace, Labels: Labels(core.Name, string(api.FunctionSessionStore)),
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: storage.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: *storage.Size},
			},
		},
	}
}

// SessionStoreFunction builds the embedded store.
func SessionStoreFunction(core *api.Core5G, p Platform, password string) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionSessionStore)
	w.scratch = map[string]string{"tmp": "/tmp"}
	w.ports = []corev1.ContainerPort{port("redis", PortSessionStore, corev1.ProtocolTCP)}
	// While it reads its file it answers, and is not ready.
	w.readiness = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{
			"/usr/bin/redis-cli", "-e", "--no-auth-warning", "--user", probeUser, "--pass", probeUser, "ping",
		}}},
		PeriodSeconds: 2, TimeoutSeconds: 5, FailureThreshold: 3,
	}
	w.liveness = tcpProbe(PortSessionStore)
	w.liveness.PeriodSeconds, w.liveness.FailureThreshold = 20, 6
	w.resources = requests("50m", "128Mi", "2Gi")
	// It syncs its file before it ends.
	w.grace = 30
	w.settled = true
	resources := w.resources
	if f := Function(core, api.FunctionSessionStore); f != nil && f.Resources != nil {
		resources = *f.Resources
	}
	w.configPath, w.configSecret = "/etc/redis", true
	w.config = map[string]string{"redis.conf": sessionStoreConfig(core, password, resources.Limits.Memory())}
	o := w.objects(w.service(servicePort("redis", PortSessionStore, corev1.ProtocolTCP)))
	pod := &o.Deployment.Spec.Template.Spec
	volume := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: SessionStoreClaimName(core.Name)},
	}}
	if storage := sessionStoreStorage(core); storage.Type == api.SessionStoreHostPath {
		// Only one that is there: an empty one in its place would be a store that has forgotten everything.
		volume.VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: storage.HostPath, Type: ptr.To(corev1.HostPathDirectory),
		}}
		onNode(pod, storage.Node)
	}
	pod.Volumes = append(pod.Volumes, volume)
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: sessionStoreData})
	return o
}

// sessionStoreConfig is redis.conf. Three quarters of the memory are for records: the rest is for what changes while the
// file is rewritten, and a server that refuses writes is better than one that the kernel ends.
func sessionStoreConfig(core *api.Core5G, password string, limit *resource.Quantity) string {
	hashed := sha256.Sum256([]byte(password))
	lines := []string{
		"bind *",
		fmt.Sprintf("port %d", PortSessionStore),
		"dir " + sessionStoreData,
		"appendonly yes",
		// Not everysec: while one fsync runs, Redis then answers writes that are in its memory alone, and its death loses them.
		"appendfsync always",
		`save ""`,
		"maxmemory-policy noeviction",
	}
	if n := limit.Value(); n > 0 {
		lines = append(lines, fmt.Sprintf("maxmemory %d", n/4*3))
	}
	return strings.Join(append(lines,
		// Nobody gets in by it. Its rights are what the server reads its own file with: without them it leaves out, with no more
		// than a line in its log, every transaction that is there, and has forgotten all sessions.
		"user default off ~* &* +@all",
		"user "+probeUser+" on >"+probeUser+" resetkeys resetchannels -@all +ping",
		"user "+SessionStoreUser+" on #"+hex.EncodeToString(hashed[:])+" "+redisstore.ACLRules(SessionStorePrefix(core)),
	), "\n") + "\n"
}

// SessionStoreMount is what a pod needs that keeps records in the store: environment, volumes and mounts for mounted.Open.
func SessionStoreMount(core *api.Core5G) ([]corev1.EnvVar, []corev1.Volume, []corev1.VolumeMount) {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	var env []corev1.EnvVar
	for _, m := range []struct{ env, name, secret, path string }{
		{mounted.DirectoryEnv, "session-store", SessionStoreSecretName(core), "/etc/session-store"},
		{mounted.KeysEnv, "session-store-keys", SessionStoreKeysName(core.Name), "/etc/session-store-keys"},
	} {
		volumes = append(volumes, corev1.Volume{Name: m.name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: m.secret}}})
		mounts = append(mounts, corev1.VolumeMount{Name: m.name, MountPath: m.path, ReadOnly: true})
		env = append(env, corev1.EnvVar{Name: m.env, Value: m.path})
	}
	return append(env, corev1.EnvVar{Name: mounted.PrefixEnv, Value: SessionStorePrefix(core)}), volumes, mounts
}
