package specs

import (
	"fmt"
	"net/netip"
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/userplane"
)

type smfConfig struct {
	Info          nfInfo           `json:"info"`
	Configuration smfConfiguration `json:"configuration"`
	Logger        nfLogger         `json:"logger"`
}

type smfConfiguration struct {
	SMFName              string             `json:"smfName"`
	SBI                  nfSBI              `json:"sbi"`
	PFCP                 smfPFCP            `json:"pfcp"`
	NRFURI               string             `json:"nrfUri"`
	UserPlaneInformation userplane.Topology `json:"userplaneInformation"`
	ServiceNameList      []string           `json:"serviceNameList"`
	SNSSAIInfos          []smfSNSSAI        `json:"snssaiInfos"`
	PLMNList             []nfPLMN           `json:"plmnList"`
	Locality             string             `json:"locality"`
	// URRPeriod is in seconds, URRThreshold in octets.
	URRPeriod          int   `json:"urrPeriod"`
	URRThreshold       int   `json:"urrThreshold"`
	T3591              timer `json:"t3591"`
	T3592              timer `json:"t3592"`
	NwInstFQDNEncoding bool  `json:"nwInstFqdnEncoding"`
	RequestedUnit      int   `json:"requestedUnit"`
}

type smfPFCP struct {
	ListenAddr             string `json:"listenAddr"`
	ExternalAddr           string `json:"externalAddr"`
	NodeID                 string `json:"nodeID"`
	AssocFailAlertInterval string `json:"assocFailAlertInterval"`
	AssocFailRetryInterval string `json:"assocFailRetryInterval"`
	HeartbeatInterval      string `json:"heartbeatInterval"`
}

type smfSNSSAI struct {
	SNSSAI nfSNSSAI `json:"sNssai"`
	DNNs   []smfDNN `json:"dnnInfos"`
}

type smfDNN struct {
	DNN string `json:"dnn"`
	DNS smfDNS `json:"dns"`
}

type smfDNS struct {
	IPv4 string `json:"ipv4"`
}

type smfRouting struct {
	Info          nfInfo         `json:"info"`
	UERoutingInfo map[string]any `json:"ueRoutingInfo"`
}

// SliceUserPlane is what a Slice's SMF must know of its UPF.
type SliceUserPlane struct {
	// UPF is the name of the UPFInstance.
	UPF string
	// N4Address is the ClusterIP in front of the unit's PFCP: it stays when pods are replaced.
	N4Address string
	// N3Endpoint belongs to this Slice alone.
	N3Endpoint string
	// Units are the UPFs where the UPFInstance has several; then the fields above but UPF are not used.
	Units []SliceUnit
	// Parts into which the UE pools are cut.
	Parts int
	// SMFAddress is the ClusterIP of the SMF's own Service: its node identifier and F-SEID address.
	SMFAddress string
}

// SliceUnit is one unit of several in a Slice's user plane.
type SliceUnit struct {
	Name       string
	N4Address  string
	N3Endpoint string
	// Pools are its parts of the UE pools, by DNN.
	Pools map[string][]string
}

// ownLinkMTU is what SMF 1.2.4 tells every UE that asks.
const ownLinkMTU = 1400

// noDNS is told to UEs of a data network without DNS servers: free5GC's SMF insists on one.
const noDNS = "0.0.0.0"

// UserPlane is what the SMF is told of its UPFs.
func UserPlane(slice *api.Slice, up SliceUserPlane) userplane.Topology {
	out := userplane.Topology{UPNodes: map[string]userplane.Node{nodeAN: {Type: "AN"}}, Links: []userplane.Link{}}
	units := up.Units
	if up.Parts <= 1 {
		only := SliceUnit{Name: up.UPF, N4Address: up.N4Address, N3Endpoint: up.N3Endpoint, Pools: map[string][]string{}}
		for _, dn := range slice.Spec.DataNetworks {
			for _, pool := range dn.UEPools {
				only.Pools[string(dn.DNN)] = append(only.Pools[string(dn.DNN)], string(pool))
			}
		}
		units = []SliceUnit{only}
	}
	for _, u := range units {
		upf := userplane.Node{
			Type: "UPF", NodeID: u.N4Address, Addr: u.N4Address,
			SNSSAIInfos: []userplane.SliceInfo{{SNSSAI: userplane.SNSSAI(snssai(slice.Spec.SNSSAI))}},
			Interfaces:  []userplane.Interface{{InterfaceType: "N3", Endpoints: []string{u.N3Endpoint}}},
		}
		for _, dn := range slice.Spec.DataNetworks {
			dnn := userplane.DNNInfo{DNN: string(dn.DNN)}
			for _, pool := range u.Pools[string(dn.DNN)] {
				dnn.Pools = append(dnn.Pools, userplane.Pool{CIDR: pool})
			}
			upf.SNSSAIInfos[0].DNNs = append(upf.SNSSAIInfos[0].DNNs, dnn)
			// The SMF looks the N3 interface up by DNN.
			upf.Interfaces[0].NetworkInstances = append(upf.Interfaces[0].NetworkInstances, string(dn.DNN))
		}
		out.UPNodes[u.Name] = upf
		out.Links = append(out.Links, userplane.Link{A: nodeAN, B: u.Name})
	}
	return out
}

// nodeAN is the SMF's name for whatever gNBs there are.
const nodeAN = "gNB"

func smfConfigOf(core *api.Core5G, slice *api.Slice, up SliceUserPlane, object string) smfConfig {
	info := smfSNSSAI{SNSSAI: snssai(slice.Spec.SNSSAI)}
	for _, dn := range slice.Spec.DataNetworks {
		dnn := smfDNN{DNN: string(dn.DNN), DNS: smfDNS{IPv4: noDNS}}
		if len(dn.DNS) > 0 {
			dnn.DNS.IPv4 = string(dn.DNS[0])
		}
		info.DNNs = append(info.DNNs, dnn)
	}
	c := smfConfiguration{
		SMFName: "SMF",
		SBI:     sbi(core, object),
		PFCP: smfPFCP{
			ListenAddr: "0.0.0.0", ExternalAddr: up.SMFAddress, NodeID: up.SMFAddress,
			AssocFailAlertInterval: "60s", AssocFailRetryInterval: "1s", HeartbeatInterval: "5s",
		},
		NRFURI:               sbiURL(core, FunctionObjectName(core.Name, api.FunctionNRF)),
		UserPlaneInformation: UserPlane(slice, up),
		ServiceNameList:      []string{"nsmf-pdusession", "nsmf-event-exposure", "nsmf-oam"},
		SNSSAIInfos:          []smfSNSSAI{info},
		Locality:             "area1",
		URRPeriod:            30,
		URRThreshold:         1 << 30,
		T3591:                timer{true, "16s", 3},
		// Off: SMF 1.2.4 does not stop T3592 (TS 24.501 table 10.3.2) when the context goes another way, and its
		// repeated Release Command then ends the UE's next session of the same PDU session ID.
		T3592:         timer{false, "16s", 3},
		RequestedUnit: 1000,
	}
	for _, p := range core.Spec.PLMNs {
		c.PLMNList = append(c.PLMNList, plmn(p))
	}
	return smfConfig{
		Info:          nfInfo{Version: "1.0.7", Description: "SMF of slice " + slice.Name + " of " + core.Name},
		Configuration: c,
		Logger:        logger(core),
	}
}

// DNSProblem says which DNS server free5GC's SMF cannot tell UEs of: SMF 1.2.4 ends at one that is not IPv4.
func DNSProblem(slice *api.Slice, core *api.Core5G) *Problem {
	if core.OwnControlPlane() {
		return nil
	}
	for _, dn := range slice.Spec.DataNetworks {
		for _, server := range dn.DNS {
			if a, err := netip.ParseAddr(string(server)); err != nil || !a.Is4() {
				return &Problem{api.ReasonNotSupported, fmt.Sprintf(
					"DNS server %s of DNN %s is not IPv4, and UEs have IPv4 addresses only: write an IPv4 DNS server", server, dn.DNN)}
			}
		}
	}
	return nil
}

// NotToldProblem says what of a data network free5GC's SMF 1.2.4 tells no UE, and tells instead.
func NotToldProblem(slice *api.Slice, core *api.Core5G) *Problem {
	if core.OwnControlPlane() {
		return nil
	}
	for _, dn := range slice.Spec.DataNetworks {
		if dn.MTU != 0 && dn.MTU != ownLinkMTU {
			return &Problem{api.ReasonNotSupported, fmt.Sprintf("free5GC's SMF tells UEs an MTU of %d, not the %d of DNN %s: packets that do not fit are lost where DF is set", ownLinkMTU, dn.MTU, dn.DNN)}
		}
		if len(dn.DNS) > 1 {
			return &Problem{api.ReasonNotSupported, fmt.Sprintf("free5GC's SMF tells UEs one DNS server: of DNN %s they hear of %s alone", dn.DNN, dn.DNS[0])}
		}
	}
	return nil
}

func smfWorkload(core *api.Core5G, slice *api.Slice, p Platform) workload {
	w := functionWorkload(core, p, api.FunctionSMF)
	w.object = SMFObjectName(core.Name, slice.Name)
	w.owner = ownedBy(slice, "Slice")
	w.labels = with(w.labels, api.LabelSlice, slice.Name)
	// Time to release the PDU sessions and leave the NRF.
	w.grace = 15
	return w
}

// SMFService builds the Service of a Slice's SMF: SBI for its peers, PFCP for the UPF's reports. It
// comes first, because its ClusterIP is part of the SMF's configuration.
func SMFService(core *api.Core5G, slice *api.Slice, p Platform) *corev1.Service {
	return smfWorkload(core, slice, p).service(
		servicePort("sbi", PortSBI, corev1.ProtocolTCP),
		servicePort("pfcp", PortPFCP, corev1.ProtocolUDP),
	)
}

// SMF builds the session management function of one Slice.
func SMF(core *api.Core5G, slice *api.Slice, p Platform, up SliceUserPlane) FunctionObjects {
	w := smfWorkload(core, slice, p)
	config := smfConfigOf(core, slice, up, w.object)
	w = w.free5gc("smf", config)
	if up.Parts > 1 {
		// A running SMF follows the units; only another division of its pools takes a new one.
		config.Configuration.UserPlaneInformation = userplane.Topology{}
		w.hashed = map[string]string{"smfcfg.yaml": w.configured(config), "pools": Hash(slice.Spec.DataNetworks), "parts": strconv.Itoa(up.Parts)}
	}
	w.command = append(w.command, "-u", "./"+path.Join("config", "uerouting.yaml"))
	w.config["uerouting.yaml"] = toYAML(smfRouting{
		Info:          nfInfo{Version: "1.0.7", Description: "no UE routing: every session has one UPF"},
		UERoutingInfo: map[string]any{},
	})
	w.waits = []string{
		waitFor(FunctionObjectName(core.Name, api.FunctionNRF), PortSBI),
	}
	w.ports = []corev1.ContainerPort{port("sbi", PortSBI, corev1.ProtocolTCP), port("pfcp", PortPFCP, corev1.ProtocolUDP)}
	return w.observed().objects(SMFService(core, slice, p))
}
