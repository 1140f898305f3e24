package specs

import (
	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

type pcfConfig struct {
	Info          nfInfo           `json:"info"`
	Configuration pcfConfiguration `json:"configuration"`
	Logger        nfLogger         `json:"logger"`
}

type pcfConfiguration struct {
	PCFName         string       `json:"pcfName"`
	SBI             nfSBI        `json:"sbi"`
	Metrics         *nfMetrics   `json:"metrics"`
	TimeFormat      string       `json:"timeFormat"`
	DefaultBdtRefID string       `json:"defaultBdtRefId"`
	NRFURI          string       `json:"nrfUri"`
	ServiceList     []pcfService `json:"serviceList"`
	MongoDB         nfMongo      `json:"mongodb"`
	Locality        string       `json:"locality"`
}

type pcfService struct {
	ServiceName string `json:"serviceName"`
	SuppFeat    string `json:"suppFeat,omitempty"`
}

// PCF builds the policy control function.
func PCF(core *api.Core5G, p Platform, db Database) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionPCF)
	w = w.free5gc("pcf", pcfConfig{
		Info: nfInfo{Version: "1.0.2", Description: "PCF of " + core.Name},
		Configuration: pcfConfiguration{
			PCFName:         "PCF",
			SBI:             sbi(core, w.object),
			Metrics:         metrics(),
			TimeFormat:      "2006-01-02 15:04:05",
			DefaultBdtRefID: "BdtPolicyId-",
			NRFURI:          sbiURL(core, FunctionObjectName(core.Name, api.FunctionNRF)),
			ServiceList: []pcfService{
				{ServiceName: "npcf-am-policy-control"},
				{ServiceName: "npcf-smpolicycontrol", SuppFeat: "3fff"},
				{ServiceName: "npcf-bdtpolicycontrol"},
				{ServiceName: "npcf-policyauthorization", SuppFeat: "3"},
				{ServiceName: "npcf-eventexposure"},
				{ServiceName: "npcf-ue-policy-control"},
			},
			MongoDB:  nfMongo{Name: db.Name(core, api.FunctionPCF), URL: db.URI},
			Locality: "area1",
		},
		Logger: logger(core),
	})
	w.configSecret = db.External
	w.waits = append(db.waits(core), waitFor(FunctionObjectName(core.Name, api.FunctionNRF), PortSBI))
	w.ports = []corev1.ContainerPort{port("sbi", PortSBI, corev1.ProtocolTCP), port("metrics", PortMetrics, corev1.ProtocolTCP)}
	return w.observed().objects(w.service(
		servicePort("sbi", PortSBI, corev1.ProtocolTCP),
		servicePort("metrics", PortMetrics, corev1.ProtocolTCP),
	))
}
