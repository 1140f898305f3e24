package specs

import (
	"fmt"
	"path"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// What all network functions of free5GC have in common: where they live in their image, how they are
// started, and the parts of their configuration that look the same.

const (
	free5gcDir       = "/free5gc"
	free5gcConfigDir = free5gcDir + "/config"
)

// free5gc fills in what is the same for every function of free5GC: ./nf -c ./config/nfcfg.yaml in
// /free5gc. Each writes a log and certificate folder at its start.
func (w workload) free5gc(nf string, config any) workload {
	w.workingDir = free5gcDir
	w.command = []string{"./" + nf, "-c", "./config/" + nf + "cfg.yaml"}
	w.configPath = free5gcConfigDir
	w.config = map[string]string{nf + "cfg.yaml": w.configured(config)}
	w.scratch = map[string]string{"log": path.Join(free5gcDir, "log"), "tmp": "/tmp"}
	w.readiness = tcpProbe(PortSBI)
	// A Go program answers or ends; this catches the third case without hurrying a busy node.
	live := tcpProbe(PortSBI)
	live.PeriodSeconds, live.FailureThreshold, live.InitialDelaySeconds = 20, 6, 30
	w.liveness = live
	return w.overTLS(path.Join(free5gcDir, free5gcCertDir))
}

// configured is the file of a function, with what the core says of it beside.
func (w workload) configured(config any) string {
	written := toYAML(config)
	f := Function(w.core, w.function)
	if f == nil || f.Configuration == nil {
		return written
	}
	// Both are objects, of this package's own types and by the definition; whole numbers stay such.
	base, over := map[string]any{}, map[string]any{}
	raw, err := yaml.YAMLToJSON([]byte(written))
	if err == nil {
		err = utiljson.Unmarshal(raw, &base)
	}
	if err != nil {
		panic(fmt.Sprintf("read %s again: %v", w.function, err))
	}
	if err := utiljson.Unmarshal(f.Configuration.Raw, &over); err != nil {
		return written
	}
	return toYAML(merged(base, over))
}

// merged puts one object over another.
func merged(base, over map[string]any) map[string]any {
	for name, value := range over {
		was, both := base[name].(map[string]any)
		if is, object := value.(map[string]any); both && object {
			value = merged(was, is)
		}
		base[name] = value
	}
	return base
}

func toYAML(v any) string {
	raw, err := yaml.Marshal(v)
	if err != nil {
		// Only this package's own configuration types come here.
		panic(fmt.Sprintf("marshal %T: %v", v, err))
	}
	return string(raw)
}

type nfInfo struct {
	Version     string `json:"version"`
	Description string `json:"description"`
}

type nfLogger struct {
	Enable       bool   `json:"enable"`
	Level        string `json:"level"`
	ReportCaller bool   `json:"reportCaller"`
}

type nfSBI struct {
	Scheme       string `json:"scheme"`
	RegisterIPv4 string `json:"registerIPv4"`
	BindingIPv4  string `json:"bindingIPv4"`
	Port         int    `json:"port"`
	TLS          *nfTLS `json:"tls,omitempty"`
}

type nfMetrics struct {
	Enable      bool   `json:"enable"`
	Scheme      string `json:"scheme"`
	BindingIPv4 string `json:"bindingIPv4"`
	Port        int    `json:"port"`
	Namespace   string `json:"namespace"`
}

type nfMongo struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type nfPLMN struct {
	MCC string `json:"mcc"`
	MNC string `json:"mnc"`
}

type nfSNSSAI struct {
	SST int32  `json:"sst"`
	SD  string `json:"sd,omitempty"`
}

func plmn(p api.PLMN) nfPLMN { return nfPLMN{MCC: p.MCC, MNC: p.MNC} }

func snssai(s api.SNSSAI) nfSNSSAI { return nfSNSSAI{SST: s.SST, SD: strings.ToLower(s.SD)} }

func metrics() *nfMetrics {
	return &nfMetrics{Enable: true, Scheme: "http", BindingIPv4: "0.0.0.0", Port: PortMetrics, Namespace: "free5gc"}
}

func logger(core *api.Core5G) nfLogger {
	level := strings.ToLower(string(core.Spec.LogLevel))
	if level == "" {
		level = "info"
	}
	return nfLogger{Enable: true, Level: level}
}

// timer is a NAS timer with retransmissions (TS 24.501 10.2).
type timer struct {
	Enable        bool   `json:"enable"`
	ExpireTime    string `json:"expireTime"`
	MaxRetryTimes int    `json:"maxRetryTimes"`
}
