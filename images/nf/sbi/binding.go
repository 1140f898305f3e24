package sbi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Headers of bindings (TS 29.500 5.2.3.2.6 and 5.2.3.2.5).
const (
	BindingHeader        = "3gpp-Sbi-Binding"
	RoutingBindingHeader = "3gpp-Sbi-Routing-Binding"
)

// Binding says who else may be asked about a resource, or told at a callback, when the one that made it is gone
// (TS 29.500 6.12). Its zero value says nothing.
type Binding struct {
	// Level is how far the resource is known: nf-instance, nf-set, nfservice-instance, nfservice-set.
	Level string
	// Instance and Set are the NF instance, and the NF set with its whole name, set1.smfset.5gc.mnc093.mcc208.
	Instance, Set string
	// ServiceInstance and ServiceSet are of the service, ServiceName is its name.
	ServiceInstance, ServiceSet, ServiceName string
	// Scope is what the binding is for: callback, other-service, subscription-events; "" for the resource itself.
	Scope string
}

// The levels of a binding.
const (
	BoundToInstance        = "nf-instance"
	BoundToSet             = "nf-set"
	BoundToServiceInstance = "nfservice-instance"
	BoundToServiceSet      = "nfservice-set"
)

// maxBinding is more than any binding has, in octets.
const maxBinding = 1024

// parameters of a binding by name, in the order in which they are written.
func (b *Binding) parameters() []struct {
	name string
	v    *string
} {
	return []struct {
		name string
		v    *string
	}{
		{"bl", &b.Level}, {"nfinst", &b.Instance}, {"nfset", &b.Set}, {"nfservinst", &b.ServiceInstance},
		{"nfserviceset", &b.ServiceSet}, {"servname", &b.ServiceName}, {"scope", &b.Scope},
	}
}

// ParseBinding reads one indication. Parameters that are not known are passed over.
func ParseBinding(text string) (Binding, error) {
	if len(text) > maxBinding {
		return Binding{}, fmt.Errorf("a binding of more than %d octets", maxBinding)
	}
	var b Binding
	known := b.parameters()
	for part := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return Binding{}, fmt.Errorf("%.64q is no parameter of a binding: write name=value, joined by ;", part)
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if strings.ContainsAny(value, " \t\r\n,\"") {
			return Binding{}, fmt.Errorf("%.64q cannot be the value of %.32s", value, name)
		}
		for _, p := range known {
			if strings.EqualFold(p.name, strings.TrimSpace(name)) && *p.v == "" {
				*p.v = value
			}
		}
	}
	levels := []string{BoundToInstance, BoundToSet, BoundToServiceInstance, BoundToServiceSet}
	if b.Level = strings.ToLower(b.Level); !slices.Contains(levels, b.Level) {
		return Binding{}, errors.New("a binding has a level: write bl=nf-instance, nf-set, nfservice-instance or nfservice-set")
	}
	return b, nil
}

// String is the value of the header, "" for the zero Binding.
func (b Binding) String() string {
	var out []string
	for _, p := range b.parameters() {
		if *p.v != "" {
			out = append(out, p.name+"="+*p.v)
		}
	}
	return strings.Join(out, "; ")
}

// BindingOf is what a header says of a scope, "" for the resource itself. A header may have several indications; those
// that cannot be read say nothing.
func BindingOf(h http.Header, scope string) Binding {
	for _, value := range h.Values(BindingHeader) {
		for text := range strings.SplitSeq(value, ",") {
			if b, err := ParseBinding(text); err == nil && strings.EqualFold(b.Scope, scope) {
				return b
			}
		}
	}
	return Binding{}
}

// bind has a service looked for where the binding says.
func (b Binding) bind(s *Service) {
	if s.Instance == "" {
		s.Instance = b.Instance
	}
	if s.Set == "" && b.Level != BoundToInstance && b.Level != BoundToServiceInstance {
		s.Set = b.Set
	}
}

// Bound is a resource that another function made, with what is known of who else can be asked about it.
type Bound struct {
	URI string
	// Instance and Set are those of whoever answered, "" where they are not known.
	Instance, Set string
	// Binding is what it said itself.
	Binding Binding
}

// Bound is the resource of the Location that an answer names: where it is, and who else can be asked about it.
func (r *Reply) Bound() Bound {
	return Bound{URI: r.Location(), Instance: r.Endpoint.Instance, Set: r.Endpoint.Set, Binding: BindingOf(r.Header, "")}
}

// Moved is the resource after an answer to a call about it, of which the path ends with suffix: another instance may
// have answered, and have said another binding.
func (b Bound) Moved(r *Reply, suffix string) Bound {
	if u, err := url.Parse(r.URI); err == nil && strings.HasSuffix(u.Path, suffix) {
		u.RawQuery = ""
		b.URI = strings.TrimSuffix(u.String(), suffix)
	}
	if r.Endpoint.Instance != "" {
		b.Instance, b.Set = r.Endpoint.Instance, r.Endpoint.Set
	}
	if said := BindingOf(r.Header, ""); said != (Binding{}) {
		b.Binding = said
	}
	return b
}

// Call is a call about the resource: at its URI, and where that does not answer, at another of its set.
func (b Bound) Call(operation, method string, s Service) Call {
	b.Binding.bind(&s)
	if s.Instance == "" {
		s.Instance = b.Instance
	}
	if s.Set == "" && b.Binding == (Binding{}) {
		s.Set = b.Set
	}
	call := Call{Operation: operation, Method: method, Service: s, URI: b.URI}
	if b.Binding != (Binding{}) {
		call.Header = http.Header{RoutingBindingHeader: {b.Binding.String()}}
	}
	return call
}
