package main

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// ttl is short, so that a name follows its pods.
const ttl = 5

// zone answers for the cluster's domain and for the reverse names of its addresses.
type zone struct {
	domain    string // canonical: lower case, a dot at the end
	directory directory
	upstream  []string
}

// ServeDNS answers one query.
func (z *zone) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	answer := z.answer(query, w.RemoteAddr().Network())
	if w.RemoteAddr().Network() == "udp" {
		size := dns.MinMsgSize
		if edns := query.IsEdns0(); edns != nil {
			size = max(size, int(edns.UDPSize()))
		}
		answer.Truncate(size)
	}
	if err := w.WriteMsg(answer); err != nil {
		slog.Warn("answer not sent", "to", w.RemoteAddr().String(), "err", err)
	}
}

func (z *zone) answer(query *dns.Msg, network string) *dns.Msg {
	answer := new(dns.Msg)
	if len(query.Question) != 1 {
		return answer.SetRcode(query, dns.RcodeFormatError)
	}
	question := query.Question[0]
	name := dns.CanonicalName(question.Name)

	if dns.IsSubDomain("in-addr.arpa.", name) {
		if service := z.directory.serviceByIP(addressOfReverse(name)); service != nil {
			answer.SetReply(query)
			answer.Authoritative = true
			if question.Qtype == dns.TypePTR {
				answer.Answer = append(answer.Answer, &dns.PTR{
					Hdr: header(question.Name, dns.TypePTR), Ptr: z.serviceName(service),
				})
			}
			return answer
		}
	}
	if !dns.IsSubDomain(z.domain, name) {
		return z.ask(query, network)
	}

	answer.SetReply(query)
	answer.Authoritative = true
	records, exists := z.lookup(strings.TrimSuffix(strings.TrimSuffix(name, z.domain), "."))
	for _, record := range records {
		if record.Header().Rrtype == question.Qtype {
			record.Header().Name = question.Name
			answer.Answer = append(answer.Answer, record)
		}
	}
	if question.Qtype == dns.TypeSRV {
		for _, record := range answer.Answer {
			if srv, ok := record.(*dns.SRV); ok {
				answer.Extra = append(answer.Extra, z.addresses(srv.Target)...)
			}
		}
	}
	if len(answer.Answer) == 0 {
		// An alias stands for all types.
		for _, record := range records {
			if record.Header().Rrtype == dns.TypeCNAME {
				record.Header().Name = question.Name
				answer.Answer = append(answer.Answer, record)
				return answer
			}
		}
		if !exists {
			answer.Rcode = dns.RcodeNameError
		}
		answer.Ns = []dns.RR{z.authority()}
	}
	return answer
}

// lookup finds the records of a name relative to the domain, and whether the name exists at all: a name
// that does not must be answered NXDOMAIN, one that does with an empty answer.
func (z *zone) lookup(name string) ([]dns.RR, bool) {
	if name == "" || name == "svc" || name == "pod" {
		return nil, true
	}
	if name == "dns-version" {
		return []dns.RR{&dns.TXT{Hdr: header("", dns.TypeTXT), Txt: []string{"1.1.0"}}}, true
	}
	labels := strings.Split(name, ".")
	if len(labels) < 2 {
		return nil, false
	}
	kind := labels[len(labels)-1]
	labels = labels[:len(labels)-1]
	namespace := labels[len(labels)-1]
	labels = labels[:len(labels)-1]
	if (kind != "svc" && kind != "pod") || !z.directory.namespace(namespace) {
		return nil, false
	}
	if len(labels) == 0 {
		return nil, true
	}
	if kind == "pod" {
		return podRecords(labels)
	}
	service := z.directory.service(namespace, labels[len(labels)-1])
	if service == nil {
		return nil, false
	}
	labels = labels[:len(labels)-1]
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		if len(labels) > 0 {
			return nil, false
		}
		return []dns.RR{&dns.CNAME{Hdr: header("", dns.TypeCNAME), Target: dns.Fqdn(service.Spec.ExternalName)}}, true
	case len(labels) == 0:
		return z.serviceAddresses(service)
	case len(labels) == 1 && service.Spec.ClusterIP == corev1.ClusterIPNone:
		return z.hostRecords(service, labels[0])
	case len(labels) == 2 && strings.HasPrefix(labels[0], "_") && strings.HasPrefix(labels[1], "_"):
		return z.portRecords(service, labels[0][1:], labels[1][1:])
	}
	return nil, false
}

func (z *zone) serviceAddresses(service *corev1.Service) ([]dns.RR, bool) {
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		var records []dns.RR
		for _, ip := range service.Spec.ClusterIPs {
			records = appendAddress(records, ip)
		}
		return records, true
	}
	var records []dns.RR
	for _, e := range z.endpoints(service) {
		records = appendAddress(records, e.address)
	}
	return records, len(records) > 0
}

// hostRecords are those of one pod of a headless Service: <hostname or address with dashes>.<service>….
func (z *zone) hostRecords(service *corev1.Service, host string) ([]dns.RR, bool) {
	var records []dns.RR
	for _, e := range z.endpoints(service) {
		if e.host() == host {
			records = appendAddress(records, e.address)
		}
	}
	return records, len(records) > 0
}

func (z *zone) portRecords(service *corev1.Service, port, protocol string) ([]dns.RR, bool) {
	var records []dns.RR
	add := func(number int32, target string) {
		records = append(records, &dns.SRV{
			Hdr: header("", dns.TypeSRV), Weight: 100, Port: uint16(number), Target: target,
		})
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		for _, p := range service.Spec.Ports {
			if p.Name == port && strings.EqualFold(string(p.Protocol), protocol) {
				add(p.Port, z.serviceName(service))
			}
		}
		return records, len(records) > 0
	}
	for _, e := range z.endpoints(service) {
		for _, p := range e.ports {
			if p.Name != nil && *p.Name == port && p.Port != nil &&
				p.Protocol != nil && strings.EqualFold(string(*p.Protocol), protocol) {
				add(*p.Port, e.host()+"."+z.serviceName(service))
			}
		}
	}
	return records, len(records) > 0
}

// endpoint is one ready address of a headless Service.
type endpoint struct {
	address  string
	hostname string
	ports    []discoveryv1.EndpointPort
}

func (e endpoint) host() string {
	if e.hostname != "" {
		return e.hostname
	}
	return strings.NewReplacer(".", "-", ":", "-").Replace(e.address)
}

func (z *zone) endpoints(service *corev1.Service) []endpoint {
	var found []endpoint
	for _, slice := range z.directory.slices(service.Namespace, service.Name) {
		if slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		for _, e := range slice.Endpoints {
			// An unknown condition counts as ready: EndpointConditions.
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			hostname := ""
			if e.Hostname != nil {
				hostname = *e.Hostname
			}
			for _, address := range e.Addresses {
				found = append(found, endpoint{address: address, hostname: hostname, ports: slice.Ports})
			}
		}
	}
	// Two slices name one address while the API server moves it from one to the other.
	slices.SortFunc(found, func(a, b endpoint) int { return cmp.Compare(a.address, b.address) })
	return slices.CompactFunc(found, func(a, b endpoint) bool { return a.address == b.address })
}

// podRecords are those of 10-244-0-3.<namespace>.pod….
func podRecords(labels []string) ([]dns.RR, bool) {
	if len(labels) != 1 {
		return nil, false
	}
	address := strings.ReplaceAll(labels[0], "-", ".")
	if _, err := netip.ParseAddr(address); err != nil {
		return nil, false
	}
	return appendAddress(nil, address), true
}

func (z *zone) serviceName(service *corev1.Service) string {
	return service.Name + "." + service.Namespace + ".svc." + z.domain
}

func (z *zone) addresses(name string) []dns.RR {
	records, _ := z.lookup(strings.TrimSuffix(strings.TrimSuffix(name, z.domain), "."))
	var found []dns.RR
	for _, record := range records {
		if t := record.Header().Rrtype; t == dns.TypeA || t == dns.TypeAAAA {
			record.Header().Name = name
			found = append(found, record)
		}
	}
	return found
}

func (z *zone) authority() dns.RR {
	return &dns.SOA{
		Hdr: header(z.domain, dns.TypeSOA), Ns: "ns.dns." + z.domain, Mbox: "hostmaster." + z.domain,
		Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: ttl,
	}
}

// ask passes a query on, and refuses it when there is nobody to ask.
func (z *zone) ask(query *dns.Msg, network string) *dns.Msg {
	if len(z.upstream) == 0 {
		return new(dns.Msg).SetRcode(query, dns.RcodeRefused)
	}
	client := &dns.Client{Net: network}
	for _, server := range z.upstream {
		answer, _, err := client.Exchange(query, server)
		if err == nil {
			return answer
		}
		slog.Warn("no answer", "from", server, "err", err)
	}
	return new(dns.Msg).SetRcode(query, dns.RcodeServerFailure)
}

func appendAddress(records []dns.RR, address string) []dns.RR {
	ip := net.ParseIP(address)
	switch {
	case ip == nil:
		return records
	case ip.To4() != nil:
		return append(records, &dns.A{Hdr: header("", dns.TypeA), A: ip.To4()})
	default:
		return append(records, &dns.AAAA{Hdr: header("", dns.TypeAAAA), AAAA: ip})
	}
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// addressOfReverse turns 10.0.96.10.in-addr.arpa. into 10.96.0.10.
func addressOfReverse(name string) string {
	labels := strings.Split(strings.TrimSuffix(name, ".in-addr.arpa."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
