package controllertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/operators/nrf"
)

// FakeNRFs are NRFs in memory, one for each base URL.
type FakeNRFs struct {
	mu   sync.Mutex
	nrfs map[string]*FakeNRF
}

// NewFakeNRFs has none yet.
func NewFakeNRFs() *FakeNRFs { return &FakeNRFs{nrfs: map[string]*FakeNRF{}} }

// At is the NRF of a base URL, which is made when it is asked for first.
func (f *FakeNRFs) At(baseURL string, _ *sbitls.Identity) *FakeNRF {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, err := url.Parse(baseURL)
	if err != nil {
		panic(err)
	}
	// core5g-nrf.namespace.svc
	namespace := strings.Split(u.Hostname(), ".")[1]
	if f.nrfs[namespace] == nil {
		f.nrfs[namespace] = &FakeNRF{profiles: map[string]nrf.Profile{}}
	}
	return f.nrfs[namespace]
}

// FakeNRF has the profiles of one core.
type FakeNRF struct {
	mu       sync.Mutex
	profiles map[string]nrf.Profile
	// Down lets it answer nothing.
	Down bool
	// Asked is how often it was asked who is registered.
	Asked int
}

// Put plays a function that registers.
func (f *FakeNRF) Put(instance, nfType, host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.profiles[instance] = nrf.Profile{NfInstanceID: instance, NfType: nfType, IPv4Addresses: []string{host}}
}

// Has reports whether the instance is registered.
func (f *FakeNRF) Has(instance string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.profiles[instance]
	return ok
}

// Lose all profiles, as an NRF with another database.
func (f *FakeNRF) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.profiles = map[string]nrf.Profile{}
}

// Discover implements the operator's client.
func (f *FakeNRF) Discover(_ context.Context, nfType string) ([]nrf.Profile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Asked++
	if f.Down {
		return nil, errors.New("connection refused")
	}
	var out []nrf.Profile
	for _, p := range f.profiles {
		if p.NfType == nfType {
			out = append(out, p)
		}
	}
	return out, nil
}

// Profile implements the operator's client.
func (f *FakeNRF) Profile(_ context.Context, instance string) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.profiles[instance]
	if !ok {
		return nil, fmt.Errorf("no instance %s", instance)
	}
	return json.Marshal(p)
}

// Register implements the operator's client.
func (f *FakeNRF) Register(_ context.Context, instance string, profile json.RawMessage) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p nrf.Profile
	if err := json.Unmarshal(profile, &p); err != nil {
		return err
	}
	f.profiles[instance] = p
	return nil
}

// Deregister implements the operator's client.
func (f *FakeNRF) Deregister(_ context.Context, instance string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.profiles, instance)
	return nil
}
