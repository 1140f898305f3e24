package dataplane

import (
	"bytes"
	"net"
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
				Interface: port.Interface, NetworkInstance: port.NetworkInstance, Device: device, Driver: text(p.Driver[:]), MAC: net.HardwareAddr(p.Mac[:6]).String(),
				MTU: int32(p.Mtu), VLAN: int32(p.Vlan), Cell: cell(p.Node),
				Link: link(links[i].State), LinkDowns: links[i].Downs,
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

func link(state uint64) topology.Link {
	switch state {
	case abi.LinkUp:
		return topology.LinkUp
	case abi.LinkDown:
		return topology.LinkDown
	}
	return topology.LinkUnknown
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
