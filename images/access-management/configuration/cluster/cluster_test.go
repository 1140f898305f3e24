package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/configuration"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/operators/api/v1alpha1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/yaml"
)

func core(t *testing.T, amf string) *v1alpha1.Core5G {
	t.Helper()
	o := &v1alpha1.Core5G{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {namespace: ns, name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}, {mcc: "001", mnc: "001"}]
  tacs: ["000001", "00000a"]
  sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 2}]
  amf: {`+amf+`}
`), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func want() *procedure.Settings {
	catalogue := []record.Slice{{SST: 1, SD: &[3]byte{1, 2, 3}}, {SST: 2}}
	return &procedure.Settings{
		Name: "North", Region: 1, Set: 2, Pointer: 3, Capacity: configuration.DefaultCapacity,
		PLMNs:     []procedure.PLMN{{PLMN: "20893", TACs: []uint32{1, 10}, Slices: catalogue}, {PLMN: "001001", TACs: []uint32{1, 10}, Slices: catalogue}},
		Integrity: []uint8{2, 1, 3}, Ciphering: []uint8{2, 1, 3}, Periodic: time.Hour, Backoff: 30 * time.Second,
	}
}

func TestBuild(t *testing.T) {
	got, refusals := Build(core(t, "name: North, region: 1, set: 2, pointer: 3"), &Good{})
	if diff := cmp.Diff(want(), got); diff != "" || len(refusals) != 0 {
		t.Errorf("refusals %v (-want +got):\n%s", refusals, diff)
	}
	all := want()
	all.Capacity, all.Integrity, all.Ciphering, all.Periodic, all.Backoff, all.Voice = 4, []uint8{3, 1}, []uint8{1, 0}, 10*time.Minute, time.Minute, true
	all.Emergency = &procedure.Emergency{Slice: record.Slice{SST: 2}, DNN: "sos", Unauthenticated: true}
	all.FullName, all.ShortName, all.Zone = "Network of the North", "North", -3*time.Hour-30*time.Minute
	got, refusals = Build(core(t, `name: North, region: 1, set: 2, pointer: 3, capacity: 4, integrity: [NIA3, NIA1], ciphering: [NEA1, NEA0], periodicRegistration: 10m,
    backoff: 1m, imsVoice: true, emergency: {snssai: {sst: 2}, dnn: sos, unauthenticated: true}, networkName: {full: Network of the North, short: North, timeZone: "-03:30"}`), &Good{})
	if diff := cmp.Diff(all, got); diff != "" || len(refusals) != 0 {
		t.Errorf("of one that says all: refusals %v (-want +got):\n%s", refusals, diff)
	}
	got, refusals = Build(core(t, ""), &Good{})
	if len(refusals) != 0 || got.Name != "AMF" || got.Region != 202 || got.Set != 1016 || got.Pointer != 0 {
		t.Errorf("of a Core5G that says nothing: %+v, %v", got, refusals)
	}
}

// A PLMN that has tracking areas or slices of its own has these instead of those of all.
func TestBuildOfPLMNsThatDiffer(t *testing.T) {
	o := core(t, "name: North, region: 1, set: 2, pointer: 3")
	o.Spec.PLMNs[1].TACs = []v1alpha1.TAC{"00000b"}
	got, refusals := Build(o, &Good{})
	one := want()
	one.PLMNs[1].TACs = []uint32{11}
	if diff := cmp.Diff(one, got); diff != "" || len(refusals) != 0 {
		t.Errorf("of its own tracking areas: refusals %v (-want +got):\n%s", refusals, diff)
	}
	o.Spec.PLMNs[1].SliceCatalogue = []v1alpha1.SNSSAI{{SST: 3}}
	both := want()
	both.PLMNs[1].TACs, both.PLMNs[1].Slices = []uint32{11}, []record.Slice{{SST: 3}}
	if got, refusals = Build(o, &Good{}); len(refusals) != 0 || cmp.Diff(both, got) != "" {
		t.Errorf("of its own slices too: refusals %v (-want +got):\n%s", refusals, cmp.Diff(both, got))
	}
}

// gNBs are told of the pods that they can reach one by one, at the port that goes without saying.
func TestBuildOfTerminators(t *testing.T) {
	pod := func(name string, addresses ...string) v1alpha1.N2Pod {
		return v1alpha1.N2Pod{Name: name, Addresses: addresses}
	}
	terminator := func(pod string, addresses ...string) procedure.Terminator {
		x := procedure.Terminator{Pod: pod}
		for _, a := range addresses {
			x.Addresses = append(x.Addresses, netip.MustParseAddr(a))
		}
		return x
	}
	for name, c := range map[string]struct {
		status *v1alpha1.N2Status
		want   []procedure.Terminator
	}{
		"no status":                          {},
		"behind a Service alone":             {status: &v1alpha1.N2Status{Address: "10.96.0.9:38412"}},
		"of IPv4, and of both":               {&v1alpha1.N2Status{Pods: []v1alpha1.N2Pod{pod("a", "192.0.2.1:38412"), pod("b", "192.0.2.2:38412", "[2001:db8::2]:38412")}}, []procedure.Terminator{terminator("a", "192.0.2.1"), terminator("b", "192.0.2.2", "2001:db8::2")}},
		"one at another port":                {&v1alpha1.N2Status{Pods: []v1alpha1.N2Pod{pod("a", "192.0.2.1:38413"), pod("b", "192.0.2.2:38412")}}, []procedure.Terminator{terminator("b", "192.0.2.2")}},
		"an address that is none, of a pod":  {&v1alpha1.N2Status{Pods: []v1alpha1.N2Pod{pod("a", "n2:38412", "192.0.2.1:38412"), pod("b")}}, []procedure.Terminator{terminator("a", "192.0.2.1")}},
		"an IPv4 address written as IPv6 is": {&v1alpha1.N2Status{Pods: []v1alpha1.N2Pod{pod("a", "[::ffff:192.0.2.1]:38412")}}, []procedure.Terminator{terminator("a", "192.0.2.1")}},
	} {
		o := core(t, "")
		o.Status.N2 = c.status
		got, refusals := Build(o, &Good{})
		if diff := cmp.Diff(c.want, got.Terminators, cmpopts.EquateComparable(netip.Addr{})); diff != "" || len(refusals) != 0 {
			t.Errorf("%s: refusals %v (-want +got):\n%s", name, refusals, diff)
		}
	}
}

// A Core5G that is being deleted takes its AMF with it.
func TestBuildOfOneThatGoes(t *testing.T) {
	going := core(t, "name: North, region: 1, set: 2, pointer: 3")
	going.DeletionTimestamp = new(metav1.Now())
	var good Good
	got, refusals := Build(going, &good)
	all := want()
	all.Removed = true
	if diff := cmp.Diff(all, got); diff != "" || len(refusals) != 0 {
		t.Errorf("refusals %v (-want +got):\n%s", refusals, diff)
	}
	if got, _ := Build(core(t, "name: North, region: 1, set: 2, pointer: 3"), &good); got.Removed {
		t.Error("it is there again, and goes still")
	}
}

// What cannot be used is named with what to write instead, and what was last good of it stays.
func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.Core5G) *v1alpha1.Core5G
		want   string
	}{
		"no Core5G":                    {func(*v1alpha1.Core5G) *v1alpha1.Core5G { return nil }, "Core5G core5g: it does not exist: create it"},
		"a PLMN that is none":          {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.PLMNs[1].MNC = "1"; return c }, `Core5G core5g: spec.plmns[1]: PLMN of mcc "001" and mnc "1"`},
		"a TAC that is none":           {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.TACs[0] = "x"; return c }, `spec.tacs[0]: tac "x": write six hexadecimal digits`},
		"a TAC of a PLMN that is none": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.PLMNs[0].TACs = []v1alpha1.TAC{"x"}; return c }, `spec.plmns[0].tacs[0]: tac "x": write six hexadecimal digits`},
		"a slice of a PLMN that is none": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.PLMNs[1].SliceCatalogue = []v1alpha1.SNSSAI{{SST: 256}}
			return c
		}, `spec.plmns[1].sliceCatalogue[0]: sst 256: write 1 to 255`},
		"a slice of a PLMN twice": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.PLMNs[1].SliceCatalogue = []v1alpha1.SNSSAI{{SST: 2}, {SST: 2}}
			return c
		}, `PLMN 001001: S-NSSAI 2 is in the catalogue twice`},
		"emergency services that a PLMN has not": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.AMF.Emergency = &v1alpha1.EmergencyServices{SNSSAI: v1alpha1.SNSSAI{SST: 2}, DNN: "sos"}
			c.Spec.PLMNs[1].SliceCatalogue = []v1alpha1.SNSSAI{{SST: 3}}
			return c
		}, `S-NSSAI 2 of the emergency services is not in the catalogue`},
		"a slice that is none": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.SliceCatalogue[1].SST = 256; return c }, `spec.sliceCatalogue[1]: sst 256: write 1 to 255`},
		"an SD that is none":   {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.SliceCatalogue[0].SD = "1"; return c }, `spec.sliceCatalogue[0]: sd "1"`},
		"a slice twice": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.SliceCatalogue[0] = c.Spec.SliceCatalogue[1]
			return c
		}, `S-NSSAI 2 is in the catalogue twice`},
		"a name that gNBs lack": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.AMF.Name = "Nörd"; return c }, `AMF name "Nörd"`},
		"a region of many bits": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.AMF.Region = new(int32(1 << 16)); return c }, `region 65536: write 0 to 255`},
		"an algorithm that is none": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.AMF.Integrity = []v1alpha1.IntegrityAlgorithm{"NIA0"}
			return c
		}, `spec.amf.integrity[0]: algorithm "NIA0": write NIA1 to NIA3`},
		"ciphering that is none": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.AMF.Ciphering = []v1alpha1.CipheringAlgorithm{"NEA2", "AES"}
			return c
		}, `spec.amf.ciphering[1]: algorithm "AES"`},
		"a timer without a code": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.AMF.Backoff = &metav1.Duration{Duration: 24 * time.Hour}
			return c
		}, `back-off (T3346) 24h0m0s: write 2s to`},
		"a zone that is none": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G {
			c.Spec.AMF.NetworkName = &v1alpha1.NetworkName{TimeZone: "CET"}
			return c
		}, `spec.amf.networkName: time zone "CET"`},
		"a pointer below nought": {func(c *v1alpha1.Core5G) *v1alpha1.Core5G { c.Spec.AMF.Pointer = new(int32(-1 << 31)); return c }, `write 0 to 63`},
	} {
		var good Good
		before, _ := Build(core(t, "name: North"), &good)
		for range 2 {
			got, refusals := Build(c.change(core(t, "")), &good)
			if name == "no Core5G" { // the AMF goes with it
				want := *before
				want.Removed = true
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				got = before
			}
			if len(refusals) != 1 || !strings.Contains(refusals[0].Error(), c.want) || !refusals[0].Earlier || got != before {
				t.Errorf("%s: %v, want %q, and what was before", name, refusals, c.want)
			}
		}
		if o := c.change(core(t, "")); o != nil {
			if err := Problem(o); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.want, "Core5G core5g: ")) {
				t.Errorf("%s: the operator is told %v, want %q", name, err, c.want)
			}
		}
		got, refusals := Build(c.change(core(t, "")), &Good{})
		if got != nil || len(refusals) != 1 || refusals[0].Earlier {
			t.Errorf("%s, and nothing before: %+v, %v", name, got, refusals)
		}
	}
}

// server is an API server that may be away, and the informer of its cache.
type server struct {
	client.WithWatch
	away atomic.Bool
	core *controllertest.FakeInformer
}

func (s *server) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if _, ok := o.(*v1alpha1.Core5G); !ok {
		return nil, errors.New("it may read nothing but Core5Gs")
	}
	return s.core, nil
}

// A changed Core5G is in force soon, a wrong one never; an API server that is away leaves what was.
func TestWatcher(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &server{core: &controllertest.FakeInformer{}}
	s.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(core(t, "name: North, region: 1, set: 2, pointer: 3")).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if s.away.Load() {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	w := NewWatcher(s, "ns", "core5g", slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err := w.Watch(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	told := make(chan *procedure.Settings, 10)
	w.Follow(func(_, now *procedure.Settings) { told <- now })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	next := func() *procedure.Settings {
		t.Helper()
		select {
		case now := <-told:
			return now
		case <-time.After(time.Minute):
			t.Fatal("nobody is told")
			return nil
		}
	}
	if diff := cmp.Diff(want(), next()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	change := func(f func(*v1alpha1.Core5G)) {
		t.Helper()
		var o v1alpha1.Core5G
		if err := s.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "core5g"}, &o); err != nil {
			t.Fatal(err)
		}
		f(&o)
		if err := s.Update(ctx, &o); err != nil {
			t.Fatal(err)
		}
		s.core.Update(&o, &o)
	}
	change(func(o *v1alpha1.Core5G) { o.Spec.AMF.Name = "South" })
	if got := next(); got.Name != "South" {
		t.Errorf("in force is %+v", got)
	}
	s.away.Store(true)
	if err := w.Refresh(ctx); err == nil || w.Current().Name != "South" {
		t.Errorf("%v, in force is %+v", err, w.Current())
	}
	s.away.Store(false)
	change(func(o *v1alpha1.Core5G) { o.Spec.AMF.Name = "Süd" })
	if err := w.Refresh(ctx); err != nil || w.Current().Name != "South" {
		t.Errorf("%v, in force is %+v", err, w.Current())
	}
	if got := testutil.ToFloat64(w.Metrics.Refused.WithLabelValues("Core5G", "core5g", "earlier")); got != 1 {
		t.Errorf("metric %v", got)
	}
	change(func(o *v1alpha1.Core5G) { o.Spec.TACs = []v1alpha1.TAC{"000002"}; o.Spec.AMF.Name = "East" })
	if got := next(); got.Name != "East" || got.PLMNs[0].TACs[0] != 2 || len(told) != 0 {
		t.Errorf("in force is %+v, and %d more", got, len(told))
	}
}
