package specs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

type chfConfig struct {
	Info          nfInfo           `json:"info"`
	Configuration chfConfiguration `json:"configuration"`
	Logger        nfLogger         `json:"logger"`
}

type chfConfiguration struct {
	CHFName             string      `json:"chfName"`
	SBI                 nfSBI       `json:"sbi"`
	NRFURI              string      `json:"nrfUri"`
	ServiceNameList     []string    `json:"serviceNameList"`
	MongoDB             nfMongo     `json:"mongodb"`
	VolumeLimit         int32       `json:"volumeLimit"`
	VolumeLimitPDU      int32       `json:"volumeLimitPDU"`
	ReserveQuotaRatio   int32       `json:"reserveQuotaRatio"`
	VolumeThresholdRate float32     `json:"volumeThresholdRate"`
	QuotaValidityTime   int32       `json:"quotaValidityTime"`
	RfDiameter          chfDiameter `json:"rfDiameter"`
	ABMFDiameter        chfDiameter `json:"abmfDiameter"`
	CGF                 chfCGF      `json:"cgf"`
}

type chfDiameter struct {
	Protocol string  `json:"protocol"`
	HostIPv4 string  `json:"hostIPv4"`
	Port     int     `json:"port"`
	TLS      *chfTLS `json:"tls,omitempty"`
}

type chfTLS struct {
	PEM string `json:"pem"`
	Key string `json:"key"`
}

type chfCGF struct {
	Enable      bool    `json:"enable"`
	HostIPv4    string  `json:"hostIPv4"`
	Port        int     `json:"port"`
	ListenPort  int     `json:"listenPort"`
	TLS         *chfTLS `json:"tls,omitempty"`
	CDRFilePath string  `json:"cdrFilePath"`
}

// CHF builds the charging function.
func CHF(core *api.Core5G, p Platform, db Database) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionCHF)
	// The Diameter ends within the CHF speak TLS. This project's program makes a certificate in memory;
	// free5GC's own image carries a file.
	var tls *chfTLS
	if foreignImage(core, api.FunctionCHF) {
		tls = &chfTLS{PEM: "./cert/chf.pem", Key: "./cert/chf.key"}
		if files := sbi(core, w.object).TLS; files != nil {
			*tls = chfTLS(*files) // the mounted certificate hides the image's
		}
	}
	w = w.free5gc("chf", chfConfig{
		Info: nfInfo{Version: "1.0.3", Description: "CHF of " + core.Name},
		Configuration: chfConfiguration{
			CHFName:             "CHF",
			SBI:                 sbi(core, w.object),
			NRFURI:              sbiURL(core, FunctionObjectName(core.Name, api.FunctionNRF)),
			ServiceNameList:     []string{"nchf-convergedcharging"},
			MongoDB:             nfMongo{Name: db.Name(core, api.FunctionCHF), URL: db.URI},
			VolumeLimit:         50000,
			VolumeLimitPDU:      10000,
			ReserveQuotaRatio:   80,
			VolumeThresholdRate: 0.8,
			QuotaValidityTime:   10000,
			RfDiameter:          chfDiameter{Protocol: "tcp", HostIPv4: "127.0.0.1", Port: 3868, TLS: tls},
			ABMFDiameter:        chfDiameter{Protocol: "tcp", HostIPv4: "127.0.0.1", Port: 3869, TLS: tls},
			CGF: chfCGF{
				Enable: false, HostIPv4: "127.0.0.1", Port: 2121, ListenPort: 2122, TLS: tls, CDRFilePath: "/tmp",
			},
		},
		Logger: logger(core),
	})
	w.configSecret = db.External
	w.waits = append(db.waits(core), waitFor(FunctionObjectName(core.Name, api.FunctionNRF), PortSBI))
	w.ports = []corev1.ContainerPort{port("sbi", PortSBI, corev1.ProtocolTCP)}
	w.settled = core.Spec.Charging != nil && core.Spec.Charging.CDRStorage != nil
	o := w.observed().objects(w.service(servicePort("sbi", PortSBI, corev1.ProtocolTCP)))
	keepCDRs(core, &o.Deployment.Spec.Template.Spec)
	return o
}

// keepCDRs where the core says. free5GC's CHF writes to /tmp, whatever its configuration has.
func keepCDRs(core *api.Core5G, pod *corev1.PodSpec) {
	if core.Spec.Charging == nil || core.Spec.Charging.CDRStorage == nil {
		return
	}
	storage := core.Spec.Charging.CDRStorage
	source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: storage.PersistentVolumeClaim}}
	if storage.HostPath != "" {
		// Only one that is there: CDRs in its place would be where nobody collects them.
		source = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: storage.HostPath, Type: ptr.To(corev1.HostPathDirectory)}}
		onNode(pod, storage.Node)
	}
	for n := range pod.Volumes {
		if pod.Volumes[n].Name == cdrVolume {
			pod.Volumes[n].VolumeSource = source
		}
	}
}

// cdrVolume is mounted at /tmp.
const cdrVolume = "tmp"
