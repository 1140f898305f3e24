package specs

import (
	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

type nrfConfig struct {
	Info          nfInfo           `json:"info"`
	Configuration nrfConfiguration `json:"configuration"`
	Logger        nfLogger         `json:"logger"`
}

type nrfConfiguration struct {
	SBI             nrfSBI     `json:"sbi"`
	Metrics         *nfMetrics `json:"metrics"`
	MongoDBName     string     `json:"MongoDBName"`
	MongoDBURL      string     `json:"MongoDBUrl"`
	DefaultPLMN     nfPLMN     `json:"DefaultPlmnId"`
	ServiceNameList []string   `json:"serviceNameList"`
}

// nrfSBI is where the NRF differs from all others: in the name of its certificate.
type nrfSBI struct {
	nfSBI `json:",inline"`
	Cert  *nfTLS `json:"cert,omitempty"`
}

func nrfSBIOf(core *api.Core5G, object string) nrfSBI {
	s := nrfSBI{nfSBI: sbi(core, object)}
	s.Cert, s.TLS = s.TLS, nil
	return s
}

// NRF builds the network repository function.
func NRF(core *api.Core5G, p Platform, db Database) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionNRF)
	w = w.free5gc("nrf", nrfConfig{
		Info: nfInfo{Version: "1.0.2", Description: "NRF of " + core.Name},
		Configuration: nrfConfiguration{
			SBI:             nrfSBIOf(core, w.object),
			Metrics:         metrics(),
			MongoDBName:     db.Name(core, api.FunctionNRF),
			MongoDBURL:      db.URI,
			DefaultPLMN:     plmn(core.Spec.PLMNs[0]),
			ServiceNameList: []string{"nnrf-nfm", "nnrf-disc"},
		},
		Logger: logger(core),
	})
	w.configSecret = db.External
	w.waits = db.waits(core)
	w.ports = []corev1.ContainerPort{port("sbi", PortSBI, corev1.ProtocolTCP), port("metrics", PortMetrics, corev1.ProtocolTCP)}
	return w.objects(w.service(
		servicePort("sbi", PortSBI, corev1.ProtocolTCP),
		servicePort("metrics", PortMetrics, corev1.ProtocolTCP),
	))
}
