package dataplane

import (
	"bytes"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/topology"
)

// Topology is where upf-u, with these network instances, says that it is; nil: it does not say.
func (s *Shm) Topology(of networks.List) *topology.Topology {
	defer runtime.KeepAlive(s)
	if s.head.TopologyOffset == 0 {
		return nil
	}
	var raw abi.Topology
	load(unsafe.Pointer(&raw), unsafe.Pointer(&s.mem[s.head.TopologyOffset]), unsafe.Sizeof(raw))
	var links [abi.Ports]abi.LinkState
	load(unsafe.Pointer(&links), s.links, unsafe.Sizeof(links))
	var gateways [abi.Ports][abi.Gateways]abi.GatewayState
	if s.head.GatewaysOffset != 0 {
		load(unsafe.Pointer(&gateways), unsafe.Pointer(&s.mem[s.head.GatewaysOffset]), unsafe.Sizeof(gateways))
	}
	t := &topology.Topology{Cells: int(raw.Nodes), MemoryUnknown: raw.MemoryUnknown}
	t.Threads = append(t.Threads, thread("control", raw.Control))
	for i := range s.head.Workers {
		t.Threads = append(t.Threads, thread("worker "+strconv.Itoa(int(i)), raw.Worker[i]))
	}
	for i := range raw.Port {
		p := &raw.Port[i]
		port, ok := of.Port(i)
		if device := text(p.Device[:]); ok && device != "" {
			t.Ports = append(t.Ports, topology.Port{
				Interface: port.Interface, NetworkInstance: port.NetworkInstance, Device: device, Driver: text(p.Driver[:]), MAC: net.HardwareAddr(p.Mac[:]).String(),
				MTU: int32(p.Mtu), VLAN: int32(p.Vlan), Cell: cell(p.Node), Spread: spread(p.Spread),
				Link: link(links[i].State), LinkDowns: links[i].Downs, Gateways: gatewaysOf(&gateways[i]),
			})
		}
	}
	for node := range raw.Memory {
		if raw.Memory[node] > 0 {
			t.Memory = append(t.Memory, topology.Memory{Cell: int32(node), Octets: raw.Memory[node], Buffers: raw.Pool[node]})
		}
	}
	return t
}

func spread(is uint8) topology.Spread {
	switch is {
	case abi.SpreadSoftware:
		return topology.SpreadSoftware
	case abi.SpreadOuter:
		return topology.SpreadOuter
	case abi.SpreadUe4:
		return topology.SpreadUE4
	case abi.SpreadUe:
		return topology.SpreadUE
	}
	return ""
}

func link(state uint64) topology.Link {
	switch state {
	case abi.LinkUp:
		return topology.LinkUp
	case abi.LinkDown:
		return topology.LinkDown
	}
	return topology.LinkUnknown
}

// gatewaysOf an interface: none where there is one of an IP version, or no such.
func gatewaysOf(all *[abi.Gateways]abi.GatewayState) (out []topology.Gateway) {
	for i := range all {
		g := &all[i]
		address := netip.AddrFrom16(g.Address)
		if address.IsUnspecified() {
			continue
		}
		if i < abi.Gateways/2 {
			address = netip.AddrFrom4([4]byte(g.Address[:4]))
		}
		state := topology.GatewayUnknown
		switch g.State {
		case abi.GatewayAnswers:
			state = topology.GatewayAnswers
		case abi.GatewaySilent:
			state = topology.GatewaySilent
		}
		out = append(out, topology.Gateway{Address: address.String(), State: state, Losses: g.Losses})
	}
	return out
}

func thread(role string, p abi.ThreadPlace) topology.Thread {
	return topology.Thread{Role: role, CPU: p.Cpu, Cell: cell(p.Node)}
}

func cell(node uint32) *int32 {
	if node >= abi.NodesMax {
		return nil
	}
	n := int32(node)
	return &n
}

// text ends at the first 0.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
