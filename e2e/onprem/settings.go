package onprem

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// settings say where the suite runs. Each comes from an environment variable; the defaults are those of
// `make e2e-onprem`.
type settings struct {
	// nodes is the label, as key=value, of the nodes that UPF units run on, and taint the key of the taint
	// that keeps other pods from them.
	nodes, taint string
	// n3Resource and n6Resource are the device plugin's, with {cell} for the socket.
	n3Resource, n6Resource string
	// n3Subnet has the gNB at gnb and the units at endpoints; n6Address is the first unit's, further the block
	// of the others, and gateway the data network's.
	n3Subnet, n3Endpoints, gnb string
	// n3VLAN is the tag of N3 on the servers' cables, "" for none, and n3MTU what fits through them.
	n3VLAN, n3MTU                   string
	n6Address, n6Further, n6Gateway string
	pool                            string
	hugepages, memory               string
	registry, tag                   string
	ranNodes, n3Master, n6Master    string
	pluginNamespace, pluginSelector string
	reboot                          string
	workers                         string
	runtimeConfig                   string
}

// variables of the environment, their defaults, and what they say.
func (s *settings) variables() []struct {
	name, value, about string
	to                 *string
} {
	return []struct {
		name, value, about string
		to                 *string
	}{
		{"CORE5G_ONPREM_NODES", "core5g.dev/dataplane=sriov", "label of the nodes for UPF units", &s.nodes},
		{"CORE5G_ONPREM_TAINT", "core5g.dev/dataplane", "key of the taint of these nodes that units tolerate", &s.taint},
		{"CORE5G_ONPREM_N3_RESOURCE", "core5g.dev/n3_socket{cell}", "device plugin resource of the N3 PF's VFs; {cell} is the socket", &s.n3Resource},
		{"CORE5G_ONPREM_N6_RESOURCE", "core5g.dev/n6_socket{cell}", "the same of the N6 PF", &s.n6Resource},
		{"CORE5G_ONPREM_N3_SUBNET", "172.30.3.0/24", "subnet that the N3 PFs are cabled to", &s.n3Subnet},
		{"CORE5G_ONPREM_N3_ENDPOINTS", "172.30.3.64/26", "free part of it for the units", &s.n3Endpoints},
		{"CORE5G_ONPREM_GNB", "172.30.3.100", "free address of it for the simulated gNB", &s.gnb},
		{"CORE5G_ONPREM_N3_VLAN", "", "VLAN of N3 where its frames have a tag on the N3 PFs' cables", &s.n3VLAN},
		{"CORE5G_ONPREM_N3_MTU", "1500", "MTU of N3, also at the simulated gNB; 1544 or more carry a UE's packet of 1500 octets whole", &s.n3MTU},
		{"CORE5G_ONPREM_N6_ADDRESS", "172.30.6.3/24", "address of the first unit on N6", &s.n6Address},
		{"CORE5G_ONPREM_N6_UNIT_ADDRESSES", "172.30.6.32/28", "free block of the N6 subnet for the other units", &s.n6Further},
		{"CORE5G_ONPREM_N6_GATEWAY", "172.30.6.1", "free address of it for the simulated data network", &s.n6Gateway},
		{"CORE5G_ONPREM_UE_POOL", "10.47.0.0/16", "addresses for the simulated UEs", &s.pool},
		{"CORE5G_ONPREM_UNIT_HUGEPAGES", "128Mi", "hugepages of a unit", &s.hugepages},
		{"CORE5G_ONPREM_UNIT_MEMORY", "256Mi", "memory of a unit beside them", &s.memory},
		{"CORE5G_ONPREM_UNIT_WORKERS", "1", "workers of a unit; more than one take a CPU more", &s.workers},
		{"CORE5G_REGISTRY", "core5g", "where images come from", &s.registry},
		{"CORE5G_TAG", "dev", "their tag", &s.tag},
		{"CORE5G_ONPREM_RAN_NODES", "", "label of the node for the simulated gNB and data network; without, any node that takes them", &s.ranNodes},
		{"CORE5G_ONPREM_N3_MASTER", "", "NIC of that node on the N3 subnet, untagged, with that MTU; without, the bridge c5g-n3", &s.n3Master},
		{"CORE5G_ONPREM_N6_MASTER", "", "NIC of that node on the N6 subnet; without, the bridge c5g-n6", &s.n6Master},
		{"CORE5G_ONPREM_PLUGIN_NAMESPACE", "kube-system", "namespace of the SR-IOV device plugin's pods", &s.pluginNamespace},
		{"CORE5G_ONPREM_PLUGIN_SELECTOR", "app=sriovdp", "their labels", &s.pluginSelector},
		{"CORE5G_ONPREM_RUNTIME_CONFIG", "", "file of the container runtime's configuration on every node, where it lets users own their devices and locked memory has no limit; without, units are expected to be root with IPC_LOCK", &s.runtimeConfig},
		{"CORE5G_ONPREM_REBOOT", "", "command that reboots the node $NODE; without, no node is rebooted", &s.reboot},
	}
}

// readSettings takes them from the environment and checks those that no API server will check.
func readSettings(getenv func(string) string) (settings, error) {
	var s settings
	for _, v := range s.variables() {
		*v.to = v.value
		if set := getenv(v.name); set != "" {
			*v.to = set
		}
	}
	for _, v := range s.variables() {
		value := *v.to
		switch v.to {
		case &s.nodes:
			if key, _, found := strings.Cut(value, "="); !found || key == "" {
				return s, fmt.Errorf("%s is %q: write key=value", v.name, value)
			}
		case &s.ranNodes:
			if key, _, found := strings.Cut(value, "="); value != "" && (!found || key == "") {
				return s, fmt.Errorf("%s is %q: write key=value", v.name, value)
			}
		case &s.n3Resource, &s.n6Resource:
			if !strings.Contains(value, "{cell}") {
				return s, fmt.Errorf("%s is %q: write {cell} where the number of the socket stands", v.name, value)
			}
		case &s.n3Subnet, &s.n3Endpoints, &s.n6Address, &s.n6Further, &s.pool:
			if _, err := netip.ParsePrefix(value); err != nil {
				return s, fmt.Errorf("%s is %q: write an address and a prefix length, such as %s", v.name, value, v.value)
			}
		case &s.n3VLAN:
			if id, err := strconv.Atoi(value); value != "" && (err != nil || id < 1 || id > 4094) {
				return s, fmt.Errorf("%s is %q: write a number from 1 to 4094, or nothing", v.name, value)
			}
		case &s.n3MTU:
			if mtu, err := strconv.Atoi(value); err != nil || mtu < 1280 || mtu > 9600 {
				return s, fmt.Errorf("%s is %q: write a number from 1280 to 9600", v.name, value)
			}
		case &s.gnb, &s.n6Gateway:
			if _, err := netip.ParseAddr(value); err != nil {
				return s, fmt.Errorf("%s is %q: write an address, such as %s", v.name, value, v.value)
			}
		}
	}
	return s, nil
}

// usage is the table of the variables.
func usage() string {
	var s settings
	var b strings.Builder
	for _, v := range s.variables() {
		fmt.Fprintf(&b, "  %-32s %s", v.name, v.about)
		if v.value != "" {
			fmt.Fprintf(&b, " (%s)", v.value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func environment() (settings, error) { return readSettings(os.Getenv) }

func prefixBits(cidr string) int { return netip.MustParsePrefix(cidr).Bits() }
