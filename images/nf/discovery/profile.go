package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// searchResult is SearchResult of TS 29.510 6.2.6.2.2.
type searchResult struct {
	// ValidityPeriod in seconds.
	ValidityPeriod int               `json:"validityPeriod"`
	Instances      []json.RawMessage `json:"nfInstances"`
}

// profile is NFProfile of TS 29.510 6.2.6.2.3, as far as it is used.
type profile struct {
	InstanceID string             `json:"nfInstanceId"`
	Status     string             `json:"nfStatus"`
	Priority   *int               `json:"priority"`
	Capacity   *int               `json:"capacity"`
	Load       int                `json:"load"`
	FQDN       string             `json:"fqdn"`
	IPv4       []string           `json:"ipv4Addresses"`
	IPv6       []string           `json:"ipv6Addresses"`
	Sets       []string           `json:"nfSetIdList"`
	Services   []service          `json:"nfServices"`
	ByID       map[string]service `json:"nfServiceList"`
}

type service struct {
	Name      string       `json:"serviceName"`
	Status    string       `json:"nfServiceStatus"`
	Scheme    string       `json:"scheme"`
	FQDN      string       `json:"fqdn"`
	Prefix    string       `json:"apiPrefix"`
	Endpoints []ipEndPoint `json:"ipEndPoints"`
	Priority  *int         `json:"priority"`
	Capacity  *int         `json:"capacity"`
	Load      int          `json:"load"`
}

type ipEndPoint struct {
	IPv4 string `json:"ipv4Address"`
	IPv6 string `json:"ipv6Address"`
	Port int    `json:"port"`
}

// candidate is an endpoint with what it is chosen by.
type candidate struct {
	sbi.Endpoint
	priority, weight float64
}

const (
	defaultPriority = 100
	defaultCapacity = 100
	// maxValidity bounds what the NRF allows: free5GC's does not tell of changes.
	maxValidity = 60 * time.Second
)

// read takes an answer apart. What of it cannot be used is left out: one wrong profile hides no other.
func read(raw []byte, wanted sbi.Service, random func() float64) ([]sbi.Endpoint, time.Duration, error) {
	var result searchResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, 0, fmt.Errorf("the answer of the NRF is no SearchResult: %w", err)
	}
	var list []candidate
	for _, raw := range result.Instances {
		var p profile
		if json.Unmarshal(raw, &p) != nil || p.Status != "" && p.Status != "REGISTERED" {
			continue
		}
		// An NRF that does not know a parameter answers with more than was asked for.
		if wanted.Set != "" && wanted.Instance == "" && !slices.Contains(p.Sets, wanted.Set) ||
			wanted.Instance != "" && p.InstanceID != wanted.Instance {
			continue
		}
		list = append(list, p.candidates(wanted.Name, random)...)
	}
	// The lowest priority number first; among equals at random, by what they have room for (TS 29.510 6.1.6.2.2).
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.weight, b.weight))
	})
	var out []sbi.Endpoint
	for _, c := range list {
		if !slices.Contains(out, c.Endpoint) {
			out = append(out, c.Endpoint)
		}
	}
	validity := time.Duration(min(max(result.ValidityPeriod, 0), int(maxValidity/time.Second))) * time.Second
	return out, validity, nil
}

func (p *profile) candidates(name string, random func() float64) []candidate {
	services := slices.Clone(p.Services)
	for _, s := range p.ByID {
		services = append(services, s)
	}
	var out []candidate
	for _, s := range services {
		if s.Name != name || s.Status != "" && s.Status != "REGISTERED" {
			continue
		}
		room := float64(first(s.Capacity, p.Capacity, defaultCapacity)) * float64(100-min(max(s.Load, p.Load, 0), 99))
		// Exponential variates of rate room: the first is each with a probability in proportion to its room.
		weight := -math.Log(1-random()) / max(room, 1)
		for _, root := range p.roots(s) {
			e := sbi.Endpoint{Root: root, Instance: p.InstanceID}
			if len(p.Sets) > 0 {
				e.Set = p.Sets[0]
			}
			out = append(out, candidate{e, float64(first(s.Priority, p.Priority, defaultPriority)), weight})
		}
	}
	return out
}

func first(a, b *int, otherwise int) int {
	switch {
	case a != nil:
		return *a
	case b != nil:
		return *b
	}
	return otherwise
}

// roots are the API roots of a service (TS 29.501 4.4.1). free5GC's functions write theirs into apiPrefix, whole.
func (p *profile) roots(s service) []string {
	prefix := strings.TrimRight(s.Prefix, "/")
	if u, err := url.Parse(prefix); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return []string{prefix}
	}
	if s.Scheme != "http" && s.Scheme != "https" {
		return nil
	}
	if prefix != "" && !strings.HasPrefix(prefix, "/") {
		prefix = "/" + prefix
	}
	port := map[string]int{"http": 80, "https": 443}[s.Scheme]
	root := func(host string, port int) string {
		return s.Scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port)) + prefix
	}
	var out []string
	for _, e := range s.Endpoints {
		if e.Port > 0 && e.Port < 1<<16 {
			port = e.Port
		}
		if host := cmp.Or(e.IPv4, e.IPv6); host != "" {
			out = append(out, root(host, port))
		}
	}
	// A certificate names a host (TS 33.501 13.1), so that addresses are of use only without TLS.
	name := cmp.Or(s.FQDN, p.FQDN)
	switch {
	case name != "" && (s.Scheme == "https" || len(out) == 0):
		return []string{root(name, port)}
	case len(out) == 0:
		for _, address := range slices.Concat(p.IPv4, p.IPv6) {
			out = append(out, root(address, port))
		}
	}
	return out
}
