package controlplane

import (
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	accessmanagement "core5g.dev/core5g/images/access-management"
	"core5g.dev/core5g/images/access-management/configuration"
	terminator "core5g.dev/core5g/images/access-management/terminator/program"
	sessionmanagement "core5g.dev/core5g/images/session-management"
	subscriberdata "core5g.dev/core5g/images/subscriber-data"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// What the operator starts is read here by the programs themselves: each understands its command line, and listens where its pod's ports, and the Services that
// lead to them, are. What the operator says nothing of is what the program takes by itself.

var platform = specs.Platform{Registry: "core5g", Tag: "dev", OperatorImage: "core5g/operator:dev"}

// coreOf that layout, with what the API server fills in.
func coreOf(layout api.Layout) *api.Core5G {
	return &api.Core5G{
		ObjectMeta: metav1.ObjectMeta{Name: "core5g", Namespace: "core5g"},
		Spec: api.Core5GSpec{
			PLMNs: []api.PLMN{{MCC: "208", MNC: "93"}}, TACs: []api.TAC{"000001"}, AMF: api.AMFSpec{Name: "AMF"}, LogLevel: api.LogInfo,
			N2:           api.N2Spec{Transport: api.TransportSCTP, Port: 38412, ServiceType: corev1.ServiceTypeClusterIP},
			ControlPlane: api.ControlPlaneCore5G, Layout: layout,
		},
	}
}

// commandLine of the pod's program, with the environment in which it runs.
func commandLine(t *testing.T, o specs.FunctionObjects) []string {
	t.Helper()
	container := o.Deployment.Spec.Template.Spec.Containers[0]
	fields := map[string]string{"metadata.name": "pod-1", "metadata.namespace": "core5g", "status.podIP": "10.1.2.3"}
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			env[e.Name] = fields[e.ValueFrom.FieldRef.FieldPath]
		}
		t.Setenv(e.Name, env[e.Name])
	}
	var args []string
	for _, a := range container.Args {
		for name, value := range env {
			a = strings.ReplaceAll(a, "$("+name+")", value)
		}
		args = append(args, a)
	}
	return args
}

// portsOf a pod, by name.
func portsOf(o specs.FunctionObjects) map[string]int {
	out := map[string]int{}
	for _, p := range o.Deployment.Spec.Template.Spec.Containers[0].Ports {
		out[p.Name] = int(p.ContainerPort)
	}
	return out
}

func portIn(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func atAddresses(services []*corev1.Service) []*corev1.Service {
	for n, s := range services {
		s.Spec.ClusterIP = fmt.Sprintf("10.96.1.%d", 20+n)
	}
	return services
}

func TestProgramsListenWhereTheirServicesLead(t *testing.T) {
	core, fused := coreOf(api.LayoutDistributed), coreOf(api.LayoutFused)
	shards, fusedShards := atAddresses(specs.SMFSet{Core: core}.Services()), atAddresses(specs.SMFSet{Core: fused}.Services())
	ofShards := func(c sessionmanagement.Config, names ...string) map[string]int {
		out := map[string]int{}
		for n := range c.Shards {
			for _, name := range names {
				out[fmt.Sprintf("%s-%d", name, n+1)] = int(map[string]uint16{"sbi": c.SBIPort, "pfcp": c.N4Port}[name]) + n + 1
			}
		}
		return out
	}
	observed := func(metrics, health string) map[string]int {
		return map[string]int{"metrics": portIn(t, metrics), "health": portIn(t, health)}
	}
	for name, c := range map[string]struct {
		objects specs.FunctionObjects
		listens func(args []string) (map[string]int, error)
	}{
		"AMF workers": {specs.AMFWorkers(core, platform), func(args []string) (map[string]int, error) {
			c, err := accessmanagement.ParseConfig(args, io.Discard)
			if err != nil {
				return nil, err
			}
			return both(observed(c.MetricsListen, c.HealthListen), map[string]int{"sbi": portIn(t, c.SBI)}), nil
		}},
		"N2 terminators": {specs.N2Terminators(core, platform), func(args []string) (map[string]int, error) {
			c, err := terminator.ParseConfig(args, io.Discard)
			if err != nil {
				return nil, err
			}
			return both(observed(c.MetricsListen, c.HealthListen), map[string]int{"n2": c.N2.Port, "workers": portIn(t, c.Workers)}), nil
		}},
		"SMF": {specs.SMFSet{Core: core}.Build(platform, shards), func(args []string) (map[string]int, error) {
			c, err := sessionmanagement.ParseConfig(args, io.Discard)
			if err != nil {
				return nil, err
			}
			return both(observed(c.MetricsListen, c.HealthListen), ofShards(c, "sbi", "pfcp")), nil
		}},
		"subscriber data": {specs.SubscriberData(core, platform), func(args []string) (map[string]int, error) {
			c, err := subscriberdata.ParseConfig(args, io.Discard)
			if err != nil {
				return nil, err
			}
			return both(observed(c.MetricsListen, c.HealthListen), map[string]int{"sbi": portIn(t, c.Listen)}), nil
		}},
		"the control plane in one pod": {specs.ControlPlane(fused, platform, fusedShards), func(args []string) (map[string]int, error) {
			c, err := ParseConfig(args, io.Discard)
			if err != nil {
				return nil, err
			}
			return both(observed(c.MetricsListen, c.HealthListen), both(map[string]int{"n2": c.Terminator.N2.Port}, ofShards(c.SessionManagement, "pfcp"))), nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.listens(commandLine(t, c.objects))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(portsOf(c.objects), got); diff != "" {
				t.Errorf("the pod's ports, and where its program listens (-want +got):\n%s", diff)
			}
		})
	}
	for n, s := range shards {
		leads := map[string]int{}
		for _, p := range s.Spec.Ports {
			leads[fmt.Sprintf("%s-%d", p.Name, n+1)] = p.TargetPort.IntValue()
		}
		for name, port := range portsOf(specs.SMFSet{Core: core}.Build(platform, shards)) {
			if want, is := leads[name]; is && want != port {
				t.Errorf("Service %s leads to port %d for %s, which is %d", s.Name, want, name, port)
			}
		}
	}
}

// both in one.
func both(a, b map[string]int) map[string]int {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// What a program takes that is told nothing is what the operator says where a Core5G says nothing.
func TestProgramsTakeTheOperatorsNumbers(t *testing.T) {
	core := coreOf(api.LayoutDistributed)
	alone, err := accessmanagement.ParseConfig([]string{"-pod", "pod-1", "-address", "10.1.2.3", "-namespace", "core5g", "-core", core.Name}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	n2Alone, err := terminator.ParseConfig([]string{"-pod", "pod-1", "-set", "1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	told, err := accessmanagement.ParseConfig(commandLine(t, specs.AMFWorkers(core, platform)), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if alone.Shards != told.Shards || alone.Service != told.Service || alone.NRF != told.NRF || !slices.Equal(alone.Terminators, told.Terminators) {
		t.Errorf("a worker that is told nothing: %d shards, %s, %s, %s; the operator says %d, %s, %s, %s", alone.Shards, alone.Service, alone.NRF, alone.Terminators,
			told.Shards, told.Service, told.NRF, told.Terminators)
	}
	n2Told, err := terminator.ParseConfig(commandLine(t, specs.N2Terminators(core, platform)), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if n2Alone.Shards != n2Told.Shards || n2Alone.Shards != alone.Shards || n2Alone.Workers != n2Told.Workers {
		t.Errorf("a terminator that is told nothing: %d shards, workers at %s; the operator says %d, %s; a worker has %d", n2Alone.Shards, n2Alone.Workers,
			n2Told.Shards, n2Told.Workers, alone.Shards)
	}
	if specs.AMFID(api.AMFSpec{}) != fmt.Sprintf("%06x", configuration.DefaultRegion<<16|configuration.DefaultSet<<6|configuration.DefaultPointer) {
		t.Errorf("the AMF is %s where nothing is said, and its workers take region %d, set %d, pointer %d", specs.AMFID(api.AMFSpec{}),
			configuration.DefaultRegion, configuration.DefaultSet, configuration.DefaultPointer)
	}
	data, err := subscriberdata.ParseConfig([]string{"-core", core.Name, "-namespace", "core5g"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for nf, uri := range map[string]string{"ausf": data.AUSF, "udm": data.UDM, "udr": data.UDR, "nssf": data.NSSF} {
		if want := fmt.Sprintf("http://%s-%s:%d", core.Name, nf, specs.PortSBI); uri != want {
			t.Errorf("the %s is registered at %s, and its Service is %s", nf, uri, want)
		}
	}
}
