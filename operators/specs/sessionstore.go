package specs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/storemember"
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
	SessionStoreUser = storemember.StoreUser
	// SessionStoreKey is the number of the first sealing key.
	SessionStoreKey = "1"

	sessionStoreData = "/data"
	// probeUser may ask whether the server serves, and nothing else.
	probeUser = "probe"

	// PortSentinel is where the Sentinel beside a server of three listens.
	PortSentinel = storemember.SentinelPort
	// replicaUser is who a server that follows another one is to that.
	replicaUser = "replica"
	// storeConfig is where the files are mounted that the operator has written.
	storeConfig = "/etc/redis"
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

// SessionStorePrefix begins all keys of a core: cores may share a server.
func SessionStorePrefix(core *api.Core5G) string {
	return "core5g:" + core.Namespace + "/" + core.Name + ":"
}

// SessionStoreMembers is how many servers the embedded store has: 1, or 3 with a Sentinel beside each.
func SessionStoreMembers(core *api.Core5G) int {
	if !EmbeddedSessionStore(core) || core.Spec.SessionStore == nil {
		return 1
	}
	return int(ptr.Deref(core.Spec.SessionStore.Replicas, 1))
}

// SessionStoreMemberName names what is of a member, from 0: its Deployment, Service and claim. The first one's are those of a store that is alone.
func SessionStoreMemberName(core string, n int) string {
	name := FunctionObjectName(core, api.FunctionSessionStore)
	if n > 0 {
		name += fmt.Sprintf("-%d", n)
	}
	return name
}

func storeMemberLabels(core *api.Core5G, n int) map[string]string {
	labels := Labels(core.Name, string(api.FunctionSessionStore))
	if SessionStoreMembers(core) > 1 {
		labels = with(labels, api.LabelStoreMember, fmt.Sprint(n))
	}
	return labels
}

// SessionStoreServices are those of the members of a store of three. They come first: members know each other by their ClusterIPs, so that no name has to be
// looked up while a node is lost.
func SessionStoreServices(core *api.Core5G) []*corev1.Service {
	var out []*corev1.Service
	for n := range SessionStoreMembers(core) {
		out = append(out, namedService(core.Namespace, SessionStoreMemberName(core.Name, n), Labels(core.Name, string(api.FunctionSessionStore)), storeMemberLabels(core, n),
			ownedBy(core, "Core5G"), servicePort("redis", PortSessionStore, corev1.ProtocolTCP), servicePort("sentinel", PortSentinel, corev1.ProtocolTCP)))
	}
	return out
}

// SessionStoreSecret says where the embedded store is, with that password. services are those of a store of three, as the API server has them: its Sentinels are told
// by their addresses, since the cluster's DNS may be on the node that is lost.
func SessionStoreSecret(core *api.Core5G, password string, services ...*corev1.Service) *corev1.Secret {
	secret := sessionStoreSecret(core, password)
	if len(services) == 0 {
		return secret
	}
	var sentinels []string
	for _, s := range services {
		sentinels = append(sentinels, net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(PortSentinel)))
	}
	secret.Data[mounted.FileAddresses] = []byte(strings.Join(sentinels, "\n"))
	secret.Data[mounted.FilePrimary] = []byte(storemember.Primary)
	secret.Data[mounted.FileSentinelPassword] = []byte(password)
	secret.Data[mounted.FileReplicas] = []byte("1")
	return secret
}

func sessionStoreSecret(core *api.Core5G, password string) *corev1.Secret {
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

// SessionStoreClaim is that of a member of the embedded store, or nil where it writes to a directory of a node. It has no owner.
func SessionStoreClaim(core *api.Core5G, member int) *corev1.PersistentVolumeClaim {
	storage := sessionStoreStorage(core)
	if storage.Type == api.SessionStoreHostPath {
		return nil
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SessionStoreMemberName(core.Name, member), Namespace: core.Namespace, Labels: Labels(core.Name, string(api.FunctionSessionStore)),
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

// SessionStoreFunction builds the embedded store that is one server.
func SessionStoreFunction(core *api.Core5G, p Platform, password string) FunctionObjects {
	o := storeMember{core: core, password: password}.build(p)
	o.Services = []*corev1.Service{namedService(core.Namespace, SessionStoreMemberName(core.Name, 0), o.Deployment.Labels, o.Deployment.Labels, ownedBy(core, "Core5G"),
		servicePort("redis", PortSessionStore, corev1.ProtocolTCP))}
	return o
}

// SessionStoreMember builds a server of three, with the Sentinel beside it. services are those of SessionStoreServices, as the API server has them.
func SessionStoreMember(core *api.Core5G, p Platform, password string, n int, services []*corev1.Service) FunctionObjects {
	m := storeMember{core: core, password: password, n: n}
	for _, s := range services {
		m.addresses = append(m.addresses, s.Spec.ClusterIP)
	}
	o := m.build(p)
	m.watched(p, &o)
	if n == 0 {
		o.Budget = workload{core: core, object: o.Deployment.Name, labels: Labels(core.Name, string(api.FunctionSessionStore)), owner: ownedBy(core, "Core5G")}.budget()
	}
	return o
}

// storeMember is a server of the embedded store.
type storeMember struct {
	core     *api.Core5G
	password string
	// n is which one, and addresses are those of all of them; none where it is alone.
	n         int
	addresses []string
}

func (m storeMember) build(p Platform) FunctionObjects {
	core := m.core
	w := functionWorkload(core, p, api.FunctionSessionStore)
	w.object = SessionStoreMemberName(core.Name, m.n)
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
	w.configPath, w.configSecret = storeConfig, true
	w.config = map[string]string{"redis.conf": m.config(resources.Limits.Memory())}
	if len(m.addresses) > 0 {
		w.config[storemember.SentinelFile] = m.sentinelConfig()
	}
	o := w.objects()
	pod := &o.Deployment.Spec.Template.Spec
	volume := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: w.object},
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

// watched puts a Sentinel beside the server, and before both what finds out who is the primary.
func (m storeMember) watched(p Platform, o *FunctionObjects) {
	labels := Labels(m.core.Name, string(api.FunctionSessionStore))
	d := o.Deployment
	d.Spec.Template.Labels = storeMemberLabels(m.core, m.n)
	if m.n > 0 { // the first one's was made when it was alone
		d.Spec.Selector.MatchLabels = d.Spec.Template.Labels
	}
	pod := &d.Spec.Template.Spec
	if len(pod.TopologySpreadConstraints) == 0 {
		pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread(labels)}
	}
	server := &pod.Containers[0]
	begin := p.waitContainer(m.core, nil)
	begin.Name, begin.Command = "begin", []string{
		"/core5g-operator", "store-member", "--directory", sessionStoreData, "--configuration", storeConfig, "--member", fmt.Sprint(m.n), "--members", strings.Join(m.addresses, ","),
	}
	begin.VolumeMounts = server.VolumeMounts
	pod.InitContainers = []corev1.Container{begin}
	probe := tcpProbe(PortSentinel)
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: "sentinel", Image: server.Image, ImagePullPolicy: server.ImagePullPolicy,
		Command:      []string{"/usr/bin/redis-server", storemember.SentinelConfig(sessionStoreData), "--sentinel"},
		Ports:        []corev1.ContainerPort{port("sentinel", PortSentinel, corev1.ProtocolTCP)},
		VolumeMounts: server.VolumeMounts, ReadinessProbe: probe, SecurityContext: restricted(),
		Resources: requests("10m", "16Mi", "64Mi"),
	})
}

// spread has no node have two of three while another one has none. A preference would not do: the loss of a node with two is the loss of the store. Nodes that would not have
// the pod, for a taint, do not count.
func spread(labels map[string]string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
	}
}

// config is redis.conf. Three quarters of the memory are for records: the rest is for what changes while the
// file is rewritten, and a server that refuses writes is better than one that the kernel ends.
func (m storeMember) config(limit *resource.Quantity) string {
	hashed := sha256.Sum256([]byte(m.password))
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
	password := " on #" + hex.EncodeToString(hashed[:])
	lines = append(lines,
		// Nobody gets in by it. Its rights are what the server reads its own file with: without them it leaves out, with no more
		// than a line in its log, every transaction that is there, and has forgotten all sessions.
		"user default off ~* &* +@all",
		"user "+probeUser+" on >"+probeUser+" resetkeys resetchannels -@all +ping",
		"user "+SessionStoreUser+password+" "+redisstore.ACLRules(SessionStorePrefix(m.core)),
	)
	if len(m.addresses) > 0 {
		lines = append(lines,
			"user "+replicaUser+password+" resetkeys resetchannels -@all +psync +replconf +ping",
			"user "+storemember.SentinelUser+password+" resetkeys &* -@all +multi +slaveof +ping +exec +subscribe +config|rewrite +role +publish +info +client|setname +client|kill +script|kill",
			"masteruser "+replicaUser, "masterauth "+m.password,
			"replica-announce-ip "+m.addresses[m.n],
			// A primary that nobody follows takes no writes: there may be another one.
			"min-replicas-to-write 1", "min-replicas-max-lag 2",
			"repl-diskless-sync-delay 0",
			// Whom it follows when it begins.
			"include "+storemember.ServerConfig(sessionStoreData),
		)
	}
	return strings.Join(lines, "\n") + "\n"
}

// sentinelConfig is of the Sentinel, without what changes.
func (m storeMember) sentinelConfig() string {
	return strings.Join([]string{
		"bind *",
		fmt.Sprintf("port %d", PortSentinel),
		"requirepass " + m.password,
		"sentinel sentinel-pass " + m.password,
		"sentinel announce-ip " + m.addresses[m.n],
		fmt.Sprintf("sentinel announce-port %d", PortSentinel),
		// The primary is watched by that name.
		fmt.Sprintf("sentinel monitor %s %s %d 2", storemember.Primary, storemember.PrimaryAddress, PortSessionStore),
		fmt.Sprintf("sentinel auth-user %s %s", storemember.Primary, storemember.SentinelUser),
		fmt.Sprintf("sentinel auth-pass %s %s", storemember.Primary, m.password),
		fmt.Sprintf("sentinel down-after-milliseconds %s 2000", storemember.Primary),
		fmt.Sprintf("sentinel failover-timeout %s 5000", storemember.Primary),
	}, "\n") + "\n"
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
