package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func service(name, clusterIP string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: clusterIP, ClusterIPs: []string{clusterIP}, Ports: ports},
	}
}

func pointer[T any](v T) *T { return &v }

// testZone has a Service with an address, a headless one with three pods of which one is not ready, and
// an alias.
func testZone(t *testing.T) *zone {
	t.Helper()
	pfcp := corev1.ServicePort{Name: "pfcp", Protocol: corev1.ProtocolUDP, Port: 8805}
	alias := service("db", "")
	alias.Spec.Type, alias.Spec.ExternalName = corev1.ServiceTypeExternalName, "db.example.org"
	alias.Spec.ClusterIPs = nil
	client := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "core5g"}},
		service("nrf", "10.96.1.2", corev1.ServicePort{Name: "sbi", Protocol: corev1.ProtocolTCP, Port: 8000}),
		service("upf", corev1.ClusterIPNone, pfcp),
		alias,
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "core5g", Name: "upf-1", Labels: map[string]string{discoveryv1.LabelServiceName: "upf"},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: pointer("pfcp"), Port: pointer(int32(8805)), Protocol: pointer(corev1.ProtocolUDP)}},
			Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.244.0.3"}, Hostname: pointer("upf-0"), Conditions: discoveryv1.EndpointConditions{Ready: pointer(true)}},
				{Addresses: []string{"10.244.0.4"}},
				{Addresses: []string{"10.244.0.5"}, Conditions: discoveryv1.EndpointConditions{Ready: pointer(false)}},
			},
		},
	)
	directory, err := watchDirectory(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return &zone{domain: "cluster.local.", directory: directory}
}

func TestAnswer(t *testing.T) {
	z := testZone(t)
	for name, c := range map[string]struct {
		question string
		kind     uint16
		rcode    int
		want     []string // the data of the answers, sorted
	}{
		"a Service has its cluster address":            {"nrf.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.96.1.2"}},
		"case does not matter":                         {"NRF.core5g.SVC.cluster.LOCAL.", dns.TypeA, dns.RcodeSuccess, []string{"10.96.1.2"}},
		"an IPv4 Service exists, but has no AAAA":      {"nrf.core5g.svc.cluster.local.", dns.TypeAAAA, dns.RcodeSuccess, nil},
		"a headless Service has its ready pods":        {"upf.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.244.0.3", "10.244.0.4"}},
		"a pod of it by its host name":                 {"upf-0.upf.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.244.0.3"}},
		"a pod of it by its address":                   {"10-244-0-4.upf.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.244.0.4"}},
		"a pod of it that is not ready":                {"10-244-0-5.upf.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		"a port of a Service":                          {"_sbi._tcp.nrf.core5g.svc.cluster.local.", dns.TypeSRV, dns.RcodeSuccess, []string{"0 100 8000 nrf.core5g.svc.cluster.local."}},
		"a port of a headless Service":                 {"_pfcp._udp.upf.core5g.svc.cluster.local.", dns.TypeSRV, dns.RcodeSuccess, []string{"0 100 8805 10-244-0-4.upf.core5g.svc.cluster.local.", "0 100 8805 upf-0.upf.core5g.svc.cluster.local."}},
		"a port of another protocol":                   {"_sbi._udp.nrf.core5g.svc.cluster.local.", dns.TypeSRV, dns.RcodeNameError, nil},
		"an alias":                                     {"db.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"db.example.org."}},
		"a pod by its address":                         {"10-244-0-9.core5g.pod.cluster.local.", dns.TypeA, dns.RcodeSuccess, []string{"10.244.0.9"}},
		"a pod by what is no address":                  {"10-244-0-999.core5g.pod.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		"a Service that is not there":                  {"nrf2.core5g.svc.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		"a namespace that is not there":                {"nrf.core6g.svc.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		"a namespace exists":                           {"core5g.svc.cluster.local.", dns.TypeA, dns.RcodeSuccess, nil},
		"a name of the domain in no tree":              {"nrf.cluster.local.", dns.TypeA, dns.RcodeNameError, nil},
		"the domain itself exists":                     {"cluster.local.", dns.TypeA, dns.RcodeSuccess, nil},
		"the version of the specification":             {"dns-version.cluster.local.", dns.TypeTXT, dns.RcodeSuccess, []string{`"1.1.0"`}},
		"a cluster address backwards":                  {"2.1.96.10.in-addr.arpa.", dns.TypePTR, dns.RcodeSuccess, []string{"nrf.core5g.svc.cluster.local."}},
		"another address backwards":                    {"9.9.9.9.in-addr.arpa.", dns.TypePTR, dns.RcodeRefused, nil},
		"a name outside, with nobody to ask":           {"example.org.", dns.TypeA, dns.RcodeRefused, nil},
		"a name that only ends like one of the domain": {"xcluster.local.", dns.TypeA, dns.RcodeRefused, nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer := z.answer(new(dns.Msg).SetQuestion(c.question, c.kind), "udp")
			if answer.Rcode != c.rcode {
				t.Errorf("rcode %s, want %s", dns.RcodeToString[answer.Rcode], dns.RcodeToString[c.rcode])
			}
			var got []string
			for _, record := range answer.Answer {
				if record.Header().Name != c.question {
					t.Errorf("answer for %s, want %s", record.Header().Name, c.question)
				}
				got = append(got, strings.TrimPrefix(record.String(), record.Header().String()))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("answers %q, want %q", got, c.want)
			}
			if c.rcode == dns.RcodeNameError && (len(answer.Ns) != 1 || answer.Ns[0].Header().Rrtype != dns.TypeSOA) {
				t.Error("no SOA beside NXDOMAIN: RFC 2308 3")
			}
			if _, err := answer.Pack(); err != nil {
				t.Error("answer cannot be sent: ", err)
			}
		})
	}
}

func FuzzLookup(f *testing.F) {
	for _, name := range []string{"", ".", "svc", "a.svc", "_a._b.c.d.svc", "1-2-3-4.n.pod", "a..b.svc"} {
		f.Add(name)
	}
	z := &zone{domain: "cluster.local.", directory: everything{}}
	f.Fuzz(func(t *testing.T, name string) {
		if records, exists := z.lookup(name); len(records) > 0 && !exists {
			t.Errorf("%q has records and does not exist", name)
		}
	})
}

// everything is a directory in which every name is there.
type everything struct{}

func (everything) namespace(string) bool { return true }
func (everything) service(_, name string) *corev1.Service {
	if len(name)%2 == 0 {
		return service(name, corev1.ClusterIPNone)
	}
	return service(name, "10.96.1.2")
}
func (everything) serviceByIP(string) *corev1.Service                 { return nil }
func (everything) slices(string, string) []*discoveryv1.EndpointSlice { return nil }
