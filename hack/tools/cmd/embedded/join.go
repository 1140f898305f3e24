package main

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	kyaml "sigs.k8s.io/yaml"
)

// A node outside the sandbox, which has a kernel, a containerd and daemons of its own, needs of the
// cluster: certificates, a client's identity for each daemon, and configuration. Its machine finds them
// below insideDir, as the sandbox's own daemons do, so that both read the same files.

// joiner is a node to be.
type joiner struct {
	name    string
	address netip.Addr
	pods    netip.Prefix // of its pods; the sandbox must have a route
	cells   int          // NUMA cells of the machine
	// cgroup is that of a further node of this machine; "" for a machine of its own.
	cgroup string
}

// A joined node has this label, and a taint alike: only who tolerates it runs there.
const dataplaneLabel, dataplaneKind = "core5g.dev/dataplane", "sriov"

// join writes what the node needs into a directory.
func (s *settings) join(j joiner, dir string) error {
	ca, err := s.authority()
	if err != nil {
		return fmt.Errorf("no cluster to join: %w; `hack/cluster.sh up` makes one", err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
	if err != nil {
		return err
	}
	serving, err := ca.server(j.name, []string{j.name, "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), j.address.AsSlice()})
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"pki/ca.crt":      ca.pem,
		"pki/kubelet.crt": serving.certificate,
		"pki/kubelet.key": serving.key,
		"containerd.toml": []byte(containerdConfiguration),
		"hosts":           fmt.Appendf(nil, "127.0.0.1 localhost\n%s %s\n", j.address, j.name),
		"resolv.conf":     []byte("# Pods ask the cluster's own DNS.\n"),
		"kubelet.args":    []byte(strings.Join(j.kubeletArguments(), "\n") + "\n"),
	}
	for file, user := range map[string]string{"kubelet": "system:node:" + j.name, "kube-proxy": "system:kube-proxy", "multus": "core5g:multus"} {
		var groups []string
		if file == "kubelet" {
			groups = []string{"system:nodes"}
		}
		p, err := ca.client(user, groups...)
		if err != nil {
			return err
		}
		files["auth/"+file] = kubeconfig(admin.Host, ca.pem, user, p)
	}
	if files["kubelet.yaml"], err = kyaml.Marshal(s.joinedKubelet(j)); err != nil {
		return err
	}
	if files["kube-proxy.yaml"], err = kyaml.Marshal(proxyConfiguration(j.pods.String())); err != nil {
		return err
	}
	if files["net.d/00-multus.conf"], err = json.MarshalIndent(networkConfiguration(j.pods.String()), "", "  "); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (j joiner) validate() error {
	switch {
	case j.name == "" || j.name == nodeName:
		return fmt.Errorf("-node %q: want a name that is not %s", j.name, nodeName)
	case !j.address.Is4():
		return errors.New("-node-address: want the node's IPv4 address")
	case !j.pods.IsValid() || j.pods.Overlaps(netip.MustParsePrefix(podSubnet)) || j.pods.Overlaps(netip.MustParsePrefix(serviceSubnet)):
		return fmt.Errorf("-pods %s: want a prefix beside %s and %s", j.pods, podSubnet, serviceSubnet)
	case j.cells < 1:
		return fmt.Errorf("-cells %d: want the machine's number of NUMA cells", j.cells)
	}
	return nil
}

func (j joiner) kubeletArguments() []string {
	arguments := []string{
		"--config=/var/lib/kubelet/config.yaml", "--kubeconfig=" + inside("auth", "kubelet"),
		"--hostname-override=" + j.name, "--node-ip=" + j.address.String(), "--housekeeping-interval=30s",
	}
	if j.cgroup == "" {
		arguments = append(arguments, "--node-labels="+dataplaneLabel+"="+dataplaneKind)
	}
	return arguments
}

// joinedKubelet is the sandbox's configuration; on a machine of its own, but for a machine that has CPUs enough to keep one for the
// system and more than one cell.
func (s *settings) joinedKubelet(j joiner) object {
	c := s.kubeletConfiguration()
	c["address"] = j.address.String()
	if j.cgroup != "" {
		c["cgroupRoot"] = "/" + j.cgroup
		return c
	}
	delete(c, "cgroupRoot")
	c["reservedSystemCPUs"] = "0"
	c["kubeReserved"] = object{"memory": "300Mi"}
	c["registerWithTaints"] = []object{{"key": dataplaneLabel, "value": dataplaneKind, "effect": "NoSchedule"}}
	// Per cell, and in all what kubeReserved and evictionHard say.
	reserved := []object{{"numaNode": 0, "limits": object{"memory": "300Mi"}}}
	if j.cells == 1 {
		reserved[0]["limits"] = object{"memory": "400Mi"}
	} else {
		reserved = append(reserved, object{"numaNode": 1, "limits": object{"memory": "100Mi"}})
	}
	c["reservedMemory"] = reserved
	return c
}

// authority reads the cluster's own back.
func (s *settings) authority() (*authority, error) {
	both, err := tls.LoadX509KeyPair(s.path("pki", "ca.crt"), s.path("pki", "ca.key"))
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(both.Certificate[0])
	if err != nil {
		return nil, err
	}
	key, ok := both.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("ca.key: not a key that signs")
	}
	return &authority{
		certificate: certificate, key: key,
		pem: pemBlock("CERTIFICATE", both.Certificate[0]),
	}, nil
}
