package specs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

type amfConfig struct {
	Info          nfInfo           `json:"info"`
	Configuration amfConfiguration `json:"configuration"`
	Logger        nfLogger         `json:"logger"`
}

type amfConfiguration struct {
	AMFName                string           `json:"amfName"`
	NGAPIPList             []string         `json:"ngapIpList"`
	NGAPPort               int32            `json:"ngapPort"`
	SBI                    nfSBI            `json:"sbi"`
	Metrics                *nfMetrics       `json:"metrics"`
	ServiceNameList        []string         `json:"serviceNameList"`
	ServedGUAMIList        []amfGUAMI       `json:"servedGuamiList"`
	SupportTAIList         []amfTAI         `json:"supportTaiList"`
	PLMNSupportList        []amfPLMNSupport `json:"plmnSupportList"`
	SupportDNNList         []string         `json:"supportDnnList"`
	NRFURI                 string           `json:"nrfUri"`
	Security               amfSecurity      `json:"security"`
	NetworkName            amfNetworkName   `json:"networkName"`
	NGAPIE                 amfNGAPIE        `json:"ngapIE"`
	NASIE                  amfNASIE         `json:"nasIE"`
	T3502Value             int              `json:"t3502Value"`
	T3512Value             int              `json:"t3512Value"`
	Non3GPPDeregTimerValue int              `json:"non3gppDeregTimerValue"`
	T3513                  timer            `json:"t3513"`
	T3522                  timer            `json:"t3522"`
	T3550                  timer            `json:"t3550"`
	T3555                  timer            `json:"t3555"`
	T3560                  timer            `json:"t3560"`
	T3565                  timer            `json:"t3565"`
	T3570                  timer            `json:"t3570"`
	SCTP                   amfSCTP          `json:"sctp"`
	DefaultUECtxReq        bool             `json:"defaultUECtxReq"`
}

type amfGUAMI struct {
	PLMN  nfPLMN `json:"plmnId"`
	AMFID string `json:"amfId"`
}

type amfTAI struct {
	PLMN nfPLMN `json:"plmnId"`
	TAC  string `json:"tac"`
}

type amfPLMNSupport struct {
	PLMN       nfPLMN     `json:"plmnId"`
	SNSSAIList []nfSNSSAI `json:"snssaiList"`
}

type amfSecurity struct {
	IntegrityOrder []string `json:"integrityOrder"`
	CipheringOrder []string `json:"cipheringOrder"`
}

type amfNetworkName struct {
	Full  string `json:"full"`
	Short string `json:"short"`
}

type enabled struct {
	Enable bool `json:"enable"`
}

type amfNGAPIE struct {
	MobilityRestrictionList  enabled `json:"mobilityRestrictionList"`
	MaskedIMEISV             enabled `json:"maskedIMEISV"`
	RedirectionVoiceFallback enabled `json:"redirectionVoiceFallback"`
}

type amfNASIE struct {
	NetworkFeatureSupport5GS amfNetworkFeatures `json:"networkFeatureSupport5GS"`
}

type amfNetworkFeatures struct {
	Enable  bool `json:"enable"`
	Length  int  `json:"length"`
	IMSVoPS int  `json:"imsVoPS"`
	EMC     int  `json:"emc"`
	EMF     int  `json:"emf"`
	IwkN26  int  `json:"iwkN26"`
	MPSI    int  `json:"mpsi"`
	EMCN3   int  `json:"emcN3"`
	MCSI    int  `json:"mcsi"`
}

type amfSCTP struct {
	NumOstreams    int `json:"numOstreams"`
	MaxInstreams   int `json:"maxInstreams"`
	MaxAttempts    int `json:"maxAttempts"`
	MaxInitTimeout int `json:"maxInitTimeout"`
}

// defaultSet is what the definition fills in.
const defaultSet = 1016

// AMFID is the AMF identifier of the GUAMI: region (8 bits), set (10), pointer (6), in hexadecimal.
func AMFID(a api.AMFSpec) string {
	region, set, pointer := ptr.Deref(a.Region, 202), ptr.Deref(a.Set, defaultSet), ptr.Deref(a.Pointer, 0)
	return fmt.Sprintf("%06x", region<<16|set<<6|pointer)
}

func amfConfigOf(core *api.Core5G, object string) amfConfig {
	c := amfConfiguration{
		AMFName:         core.Spec.AMF.Name,
		NGAPIPList:      []string{"0.0.0.0"},
		NGAPPort:        core.Spec.N2.Port,
		SBI:             sbi(core, object),
		Metrics:         metrics(),
		ServiceNameList: []string{"namf-comm", "namf-evts", "namf-mt", "namf-loc", "namf-oam"},
		// The AMF reads the first only, for UEs that ask for no DNN. Data networks themselves come from
		// the subscription and the SMF: a new one does not touch the AMF.
		SupportDNNList: []string{string(core.Spec.AMF.DefaultDNN)},
		NRFURI:         sbiURL(core, FunctionObjectName(core.Name, api.FunctionNRF)),
		Security: amfSecurity{
			IntegrityOrder: []string{"NIA2"},
			CipheringOrder: []string{"NEA2", "NEA0"},
		},
		NetworkName: amfNetworkName{Full: core.Name, Short: core.Name},
		NGAPIE: amfNGAPIE{
			MobilityRestrictionList:  enabled{true},
			MaskedIMEISV:             enabled{true},
			RedirectionVoiceFallback: enabled{false},
		},
		NASIE:                  amfNASIE{NetworkFeatureSupport5GS: amfNetworkFeatures{Enable: true, Length: 1}},
		T3502Value:             720,
		T3512Value:             3600,
		Non3GPPDeregTimerValue: 3240,
		T3513:                  timer{true, "6s", 4},
		T3522:                  timer{true, "6s", 4},
		T3550:                  timer{true, "6s", 4},
		T3555:                  timer{true, "6s", 4},
		T3560:                  timer{true, "6s", 4},
		T3565:                  timer{true, "6s", 4},
		T3570:                  timer{true, "6s", 4},
		SCTP:                   amfSCTP{NumOstreams: 3, MaxInstreams: 5, MaxAttempts: 2, MaxInitTimeout: 2},
	}
	for _, p := range core.Spec.PLMNs {
		c.ServedGUAMIList = append(c.ServedGUAMIList, amfGUAMI{PLMN: plmn(p), AMFID: AMFID(core.Spec.AMF)})
		for _, tac := range core.Spec.TACsOf(p) {
			c.SupportTAIList = append(c.SupportTAIList, amfTAI{PLMN: plmn(p), TAC: string(tac)})
		}
		support := amfPLMNSupport{PLMN: plmn(p)}
		for _, s := range core.Spec.CatalogueOf(p) {
			support.SNSSAIList = append(support.SNSSAIList, snssai(s))
		}
		c.PLMNSupportList = append(c.PLMNSupportList, support)
	}
	return amfConfig{
		Info:          nfInfo{Version: "1.0.9", Description: "AMF of " + core.Name},
		Configuration: c,
		Logger:        logger(core),
	}
}

// AMF builds free5GC's access and mobility management function. Its configuration depends on the Core5G
// alone: no Slice, added or deleted, restarts it.
func AMF(core *api.Core5G, p Platform) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionAMF)
	w = w.free5gc("amf", amfConfigOf(core, w.object))
	w.env = append(w.env, sctpTransport(core))
	w.waits = []string{
		waitFor(FunctionObjectName(core.Name, api.FunctionNRF), PortSBI),
	}
	w.ports = []corev1.ContainerPort{
		port("sbi", PortSBI, corev1.ProtocolTCP),
		port("metrics", PortMetrics, corev1.ProtocolTCP),
		port("n2", core.Spec.N2.Port, n2Protocol(core)),
	}
	sbiService := w.service(
		servicePort("sbi", PortSBI, corev1.ProtocolTCP),
		servicePort("metrics", PortMetrics, corev1.ProtocolTCP),
	)
	return w.attachedToN2().observed().objects(sbiService, n2Service(w))
}

// n2Protocol is what N2 is on the pod network.
func n2Protocol(core *api.Core5G) corev1.Protocol {
	if core.Spec.N2.Transport == api.TransportSCTPOverUDP {
		return corev1.ProtocolUDP
	}
	return corev1.ProtocolSCTP
}

// sctpTransport tells a program whose SCTP to use.
func sctpTransport(core *api.Core5G) corev1.EnvVar {
	transport := "kernel"
	if core.Spec.N2.Transport == api.TransportSCTPOverUDP {
		transport = "udp"
	}
	return corev1.EnvVar{Name: "SCTP_TRANSPORT", Value: transport}
}

// n2Service leads gNBs to the workload, once it is ready.
func n2Service(w workload) *corev1.Service {
	n2 := w.core.Spec.N2
	service := namedService(w.core.Namespace, N2ServiceName(w.core.Name), w.labels, w.labels, w.owner, servicePort("n2", n2.Port, n2Protocol(w.core)))
	service.Annotations = n2.Annotations
	service.Spec.PublishNotReadyAddresses = false
	if n2.ServiceType != "" {
		service.Spec.Type = n2.ServiceType
	}
	if n2.NodePort != nil {
		service.Spec.Ports[0].NodePort = *n2.NodePort
	}
	service.Spec.ExternalTrafficPolicy, service.Spec.LoadBalancerClass = n2.ExternalTrafficPolicy, n2.LoadBalancerClass
	return service
}

// N2ServiceName names the Service that gNBs connect to. It is apart from the SBI's, whose type and
// annotations are nobody's business outside the core.
func N2ServiceName(core string) string { return FunctionObjectName(core, api.FunctionAMF) + "-n2" }
