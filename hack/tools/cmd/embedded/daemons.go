package main

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"

	kyaml "sigs.k8s.io/yaml"
)

// daemon is a program of the sandbox.
type daemon struct {
	name string
	path string // the executable; the kube binary when empty
	args []string
	env  []string
	// after names daemons whose ready condition must hold before this one starts.
	after []string
	ready func() error
}

func inside(parts ...string) string { return path.Join(append([]string{insideDir}, parts...)...) }

// daemons lists them in the order of their start. A further node has no control plane.
func (s *settings) daemons() []daemon {
	api := []string{"kube-apiserver"}
	if s.number > 1 {
		api = nil
	}
	pki := func(name string) string { return inside("pki", name) }
	auth := func(name string) string { return inside("auth", name) }
	all := []daemon{
		{
			name: "etcd",
			args: []string{
				"--name=core5g", "--data-dir=" + inside("etcd"), "--unsafe-no-fsync", "--log-level=warn",
				"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
				"--listen-peer-urls=http://127.0.0.1:2380",
				"--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=core5g=http://127.0.0.1:2380",
			},
		},
		{
			name: "containerd",
			path: "containerd",
			args: []string{"--config", inside("containerd.toml")},
			ready: func() error {
				return dialUnix(socket)
			},
		},
		{
			name: "kube-apiserver",
			args: []string{
				"--etcd-servers=http://127.0.0.1:2379",
				"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address=" + s.nodeIP.String(),
				"--service-cluster-ip-range=" + serviceSubnet,
				"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
				"--allow-privileged=true", "--profiling=false",
				"--client-ca-file=" + pki("ca.crt"),
				"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
				"--service-account-issuer=https://kubernetes.default.svc." + clusterDomain,
				"--service-account-key-file=" + pki("service-accounts.key"),
				"--service-account-signing-key-file=" + pki("service-accounts.key"),
				"--kubelet-preferred-address-types=InternalIP",
				"--kubelet-certificate-authority=" + pki("ca.crt"),
				"--kubelet-client-certificate=" + pki("apiserver-kubelet-client.crt"),
				"--kubelet-client-key=" + pki("apiserver-kubelet-client.key"),
				"--proxy-client-cert-file=" + pki("front-proxy-client.crt"),
				"--proxy-client-key-file=" + pki("front-proxy-client.key"),
				"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"),
				"--requestheader-allowed-names=front-proxy-client",
				"--requestheader-username-headers=X-Remote-User",
				"--requestheader-group-headers=X-Remote-Group",
				"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			},
			ready: func() error { return s.apiReady() },
		},
		{
			name: "kube-controller-manager",
			args: []string{
				"--kubeconfig=" + auth("kube-controller-manager"),
				"--authentication-kubeconfig=" + auth("kube-controller-manager"),
				"--authorization-kubeconfig=" + auth("kube-controller-manager"),
				"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false",
				"--use-service-account-credentials=true",
				"--root-ca-file=" + pki("ca.crt"),
				"--service-account-private-key-file=" + pki("service-accounts.key"),
				"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
				// The default of 20 requests a second holds up the first start by 5 s.
				"--kube-api-qps=300", "--kube-api-burst=500",
			},
			after: api,
		},
		{
			name: "kube-scheduler",
			args: []string{
				"--kubeconfig=" + auth("kube-scheduler"),
				"--authentication-kubeconfig=" + auth("kube-scheduler"),
				"--authorization-kubeconfig=" + auth("kube-scheduler"),
				"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false",
			},
			after: api,
		},
		{
			name:  "kubelet",
			args:  []string{"--config=/var/lib/kubelet/config.yaml", "--kubeconfig=" + auth("kubelet"), "--hostname-override=" + s.name(), "--node-ip=" + s.nodeIP.String(), "--housekeeping-interval=20s"},
			after: append([]string{"containerd"}, api...),
		},
		{
			name:  "kube-proxy",
			args:  []string{"--config=" + inside("kube-proxy.yaml"), "--hostname-override=" + s.name()},
			after: api,
		},
	}
	if s.number > 1 {
		all = slices.DeleteFunc(all, func(d daemon) bool { return !slices.Contains([]string{"containerd", "kubelet", "kube-proxy"}, d.name) })
	}
	return all
}

// object is a configuration in the making.
type object = map[string]any

// writeConfigurations writes what the daemons read.
func (s *settings) writeConfigurations() error {
	kubelet, err := kyaml.Marshal(s.kubeletConfiguration())
	if err != nil {
		return err
	}
	proxy, err := kyaml.Marshal(proxyConfiguration(podSubnet))
	if err != nil {
		return err
	}
	network, err := json.MarshalIndent(networkConfiguration(podSubnet), "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name    []string
		content []byte
	}{
		// Where kubeadm has it, too: init mounts the directory on /var/lib/kubelet.
		{[]string{"kubelet", "config.yaml"}, kubelet},
		{[]string{"kube-proxy.yaml"}, proxy},
		{[]string{"containerd.toml"}, []byte(containerdConfiguration)},
		{[]string{"net.d", "00-multus.conf"}, network},
		{[]string{"hosts"}, fmt.Appendf(nil, "127.0.0.1 localhost\n%s %s\n", s.nodeIP, nodeName)},
		{[]string{"resolv.conf"}, []byte("# Pods ask the cluster's own DNS.\n")},
	} {
		if err := s.write(file.content, 0o644, file.name...); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) kubeletConfiguration() object {
	const kubeMemory, evictionMemory, allReserved = "512Mi", "100Mi", "612Mi"
	return object{
		"apiVersion":                       "kubelet.config.k8s.io/v1beta1",
		"kind":                             "KubeletConfiguration",
		"containerRuntimeEndpoint":         "unix://" + socket,
		"address":                          s.nodeIP.String(),
		"authentication":                   object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": true}, "x509": object{"clientCAFile": inside("pki", "ca.crt")}},
		"authorization":                    object{"mode": "Webhook"},
		"tlsCertFile":                      inside("pki", "kubelet.crt"),
		"tlsPrivateKeyFile":                inside("pki", "kubelet.key"),
		"clusterDNS":                       []string{dnsServiceIP},
		"clusterDomain":                    clusterDomain,
		"resolvConf":                       inside("resolv.conf"),
		"volumePluginDir":                  "/var/lib/kubelet/volume-plugins",
		"cgroupDriver":                     "cgroupfs",
		"cgroupRoot":                       "/" + s.cgroup(),
		"failSwapOn":                       false,
		"oomScoreAdj":                      0,
		"serializeImagePulls":              false,
		"makeIPTablesUtilChains":           false,
		"nodeStatusUpdateFrequency":        "10s",
		"cpuManagerPolicy":                 "static",
		"topologyManagerPolicy":            "single-numa-node",
		"memoryManagerPolicy":              "Static",
		"shutdownGracePeriod":              "0s",
		"localStorageCapacityIsolation":    true,
		"containerLogMaxSize":              "10Mi",
		"imageGCHighThresholdPercent":      100, // no registry could bring a collected image back
		"imageGCLowThresholdPercent":       99,
		"enforceNodeAllocatable":           []string{"pods"},
		"evictionPressureTransitionPeriod": "10s",
		// Not reservedSystemCPUs: of two CPUs it would leave one, which the UPF takes whole.
		"kubeReserved":   object{"cpu": "200m", "memory": kubeMemory},
		"evictionHard":   object{"memory.available": evictionMemory, "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%", "imagefs.inodesFree": "1%"},
		"reservedMemory": []object{{"numaNode": 0, "limits": object{"memory": allReserved}}},
	}
}

func proxyConfiguration(pods string) object {
	return object{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "nftables",
		"clusterCIDR":        pods,
		"clientConnection":   object{"kubeconfig": inside("auth", "kube-proxy")},
		"metricsBindAddress": "127.0.0.1:10249",
		"healthzBindAddress": "127.0.0.1:10256",
		// The connection tracking limits are the machine's, not this namespace's, to set.
		"conntrack":   object{"maxPerCore": 0, "min": 0},
		"oomScoreAdj": 0,
		"nftables":    object{"minSyncPeriod": "100ms", "syncPeriod": "10m"},
	}
}

// networkConfiguration gives every pod a routed point-to-point link. A bridge would need br_netfilter
// for Services between pods on it, and br_netfilter would pass the user plane's frames, on bridges
// of their own, through the connection tracking.
func networkConfiguration(pods string) object {
	return object{
		"cniVersion": "1.0.0",
		"name":       "core5g",
		"type":       "multus",
		"kubeconfig": inside("auth", "multus"),
		"binDir":     cniBinDir,
		"confDir":    inside("net.d"),
		"cniDir":     "/var/lib/cni/multus",
		"logLevel":   "error",
		"logFile":    inside("log", "multus.log"),
		// Inline: with clusterNetwork naming a file, removal fails and pods stay Terminating.
		"delegates": []object{{
			"cniVersion": "1.0.0",
			"name":       "pods",
			"type":       "ptp",
			"ipam": object{
				"type":    "host-local",
				"ranges":  [][]object{{{"subnet": pods}}},
				"routes":  []object{{"dst": "0.0.0.0/0"}},
				"dataDir": "/var/lib/cni/networks",
			},
		}},
	}
}

// config_path is read at each pull: who brings a registry into the cluster (hack/cluster/prerequisites.sh) writes there where it is, and whom to trust.
//
// restrict_oom_score_adj: a virtual machine may lack CAP_SYS_RESOURCE, and runc then fails with "can't
// get final child's PID from pipe: EOF".
var containerdConfiguration = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = "` + socket + `"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/core5g/pause:dev"
  restrict_oom_score_adj = true
  disable_hugetlb_controller = false
  device_ownership_from_security_context = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + cniBinDir + `"
    conf_dir = "` + inside("net.d") + `"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "` + inside("certs.d") + `"
`
