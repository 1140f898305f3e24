package specs

import (
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Database is what NRF, PCF and CHF connect to.
type Database struct {
	// URI is mongodb://…; it may hold a password when External.
	URI      string
	External bool
}

// EmbeddedDatabase is the database that the core brings along.
func EmbeddedDatabase(core *api.Core5G) Database {
	return Database{URI: "mongodb://" + FunctionObjectName(core.Name, api.FunctionDatabase) + ":27017"}
}

// Name of the database of one function. On a shared MongoDB cores keep apart, and the NRF, whose
// registrations may be thrown away at any time, keeps apart from PCF and CHF, which share documents.
func (d Database) Name(core *api.Core5G, fn api.FunctionName) string {
	if !d.External {
		return "free5gc"
	}
	name := strings.ReplaceAll(core.Namespace+"-"+core.Name, ".", "-")
	if fn == api.FunctionNRF {
		name += "-nrf"
	}
	return name
}

// waits for the database's first host. A mongodb+srv URI names none, and the driver retries.
func (d Database) waits(core *api.Core5G) []string {
	if !d.External {
		return []string{waitFor(FunctionObjectName(core.Name, api.FunctionDatabase), PortDatabase)}
	}
	rest, found := strings.CutPrefix(d.URI, "mongodb://")
	if !found {
		return nil
	}
	authority, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		authority = authority[i+1:]
	}
	first, _, _ := strings.Cut(authority, ",")
	u, err := url.Parse("tcp://" + first)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	if u.Port() == "" {
		return []string{waitFor(u.Hostname(), PortDatabase)}
	}
	return []string{"tcp://" + first}
}

// DatabaseFunction builds the embedded database: in memory, so that registrations never outlive the
// functions that made them.
func DatabaseFunction(core *api.Core5G, p Platform) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionDatabase)
	w.scratch = map[string]string{"tmp": "/tmp"}
	w.ports = []corev1.ContainerPort{port("mongodb", PortDatabase, corev1.ProtocolTCP)}
	w.readiness = tcpProbe(PortDatabase)
	w.resources = requests("20m", "128Mi", "768Mi")
	return w.objects(w.service(servicePort("mongodb", PortDatabase, corev1.ProtocolTCP)))
}
