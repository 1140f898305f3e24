package topology

import (
	"fmt"
	"slices"
	"strings"
)

// Topology is upf-u's account. A cell is the number of a NUMA node of the machine; nil: the device belongs
// to none, or the kernel does not tell.
type Topology struct {
	// Cells that the machine has.
	Cells   int      `json:"cells"`
	Threads []Thread `json:"threads"`
	Ports   []Port   `json:"ports"`
	Memory  []Memory `json:"memory"`
	// MemoryUnknown are octets whose cell the kernel does not tell.
	MemoryUnknown uint64 `json:"memoryUnknownOctets,omitempty"`
}

// Thread is a CPU that upf-u runs on.
type Thread struct {
	Role string `json:"role"` // control, or worker with its number: worker 0
	CPU  uint32 `json:"cpu"`
	Cell *int32 `json:"cell,omitempty"`
}

// Port is an interface.
type Port struct {
	Interface string `json:"interface"` // n3, n6, n9
	// NetworkInstance of N6; empty: of all that have no interface of their own.
	NetworkInstance string `json:"networkInstance,omitempty"`
	Device          string `json:"device"` // PCI address or kernel interface
	Driver          string `json:"driver"` // DPDK's name: net_e1000_igb_vf, net_af_packet
	MAC             string `json:"mac"`
	MTU             int32  `json:"mtu"`
	VLAN            int32  `json:"vlan,omitempty"`
	Cell            *int32 `json:"cell,omitempty"`
	// Spread is what of its packets the NIC hashes to choose a worker.
	Spread Spread `json:"spread,omitempty"`
	// Link is what upf-u has seen of it within the last second.
	Link Link `json:"link,omitempty"`
	// LinkDowns is how often it went down.
	LinkDowns uint64 `json:"linkDowns,omitempty"`
	// Gateways, where there are two of an IP version: upf-u asks them all the time.
	Gateways []Gateway `json:"gateways,omitempty"`
}

// Spread is what of a packet a NIC hashes, to choose the worker that receives it; empty where there is one worker.
type Spread string

// A session has one worker: what comes in at another one is handed over.
const (
	SpreadSoftware Spread = "software" // nothing: all packets come in at one worker, or as the kernel chooses
	SpreadOuter    Spread = "outer"    // outer addresses and ports
	SpreadUE4      Spread = "ue_ipv4"  // the UE's IPv4 address, which leads to its session's worker; of IPv6 outer addresses
	SpreadUE       Spread = "ue"       // the UE's address
)

// Gateway is one of two of an IP version.
type Gateway struct {
	Address string `json:"address"`
	// State is what upf-u has seen of it within the last three seconds.
	State GatewayState `json:"state,omitempty"`
	// Losses is how often it ceased to answer.
	Losses uint64 `json:"losses,omitempty"`
}

// GatewayState says whether a gateway answers ARP or Neighbour Discovery.
type GatewayState string

// States of a gateway.
const (
	GatewayUnknown GatewayState = ""
	GatewayAnswers GatewayState = "answers"
	GatewaySilent  GatewayState = "silent"
)

// Link is the state of a port's link.
type Link string

// States of a link.
const (
	LinkUnknown Link = ""
	LinkUp      Link = "up"
	// LinkDown: no carrier, or the device is gone.
	LinkDown Link = "down"
)

// PCI reports whether the port is a PCI device that upf-u drives itself.
func (p Port) PCI() bool { return strings.Count(p.Device, ":") == 2 }

// Memory is packet buffers, rules and counters.
type Memory struct {
	Cell   int32  `json:"cell"`
	Octets uint64 `json:"octets"`
	// Buffers are the octets of packet buffers among them.
	Buffers uint64 `json:"packetBufferOctets"`
}

// Verdict says whether everything is in one cell.
type Verdict string

// Verdicts.
const (
	Aligned    Verdict = "Aligned"
	Misaligned Verdict = "Misaligned"
	// Unknown: some of it the kernel does not tell, and the rest is in one cell.
	Unknown Verdict = "Unknown"
)

// Judge compares everything with the cell of the workers, and with the cell that was planned; -1: none was.
// The sentence names what is elsewhere, or what is not known.
func (t *Topology) Judge(planned int32) (Verdict, string) {
	home := planned
	if home < 0 {
		home = t.Home()
	}
	var elsewhere, unknown []string
	at := func(what string, cell *int32) {
		switch {
		case cell == nil && t.Cells > 1:
			unknown = append(unknown, what)
		case cell != nil && *cell != home:
			elsewhere = append(elsewhere, fmt.Sprintf("%s on numa%d", what, *cell))
		}
	}
	for _, thread := range t.Threads {
		at(fmt.Sprintf("CPU %d (%s)", thread.CPU, thread.Role), thread.Cell)
	}
	for _, p := range t.Ports {
		if p.Cell == nil && !p.PCI() {
			continue // a bridge's or veth's end is in no cell
		}
		at(fmt.Sprintf("%s (%s)", p.Interface, p.Device), p.Cell)
	}
	for _, m := range t.Memory {
		if m.Cell != home && m.Octets > 0 {
			elsewhere = append(elsewhere, fmt.Sprintf("%d MiB of memory on numa%d", (m.Octets+1<<20-1)>>20, m.Cell))
		}
	}
	if t.MemoryUnknown > 0 {
		unknown = append(unknown, fmt.Sprintf("%d MiB of memory", t.MemoryUnknown>>20))
	}
	switch {
	case len(elsewhere) > 0:
		return Misaligned, fmt.Sprintf("not on numa%d: %s", home, strings.Join(elsewhere, ", "))
	case len(unknown) > 0:
		return Unknown, "the kernel does not tell the NUMA cell of " + strings.Join(unknown, ", ")
	}
	return Aligned, fmt.Sprintf("CPUs %s, %s and memory on numa%d", t.cpus(), t.interfaces(), home)
}

// Home is the cell of the first worker.
func (t *Topology) Home() int32 {
	for _, thread := range t.Threads {
		if thread.Role != "control" && thread.Cell != nil {
			return *thread.Cell
		}
	}
	return 0
}

func (t *Topology) cpus() string {
	var list []string
	for _, thread := range t.Threads {
		if cpu := fmt.Sprint(thread.CPU); !slices.Contains(list, cpu) {
			list = append(list, cpu)
		}
	}
	return strings.Join(list, ",")
}

func (t *Topology) interfaces() string {
	var list []string
	for _, p := range t.Ports {
		list = append(list, fmt.Sprintf("%s (%s)", p.Interface, p.Device))
	}
	return strings.Join(list, ", ")
}
