package controllers

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

// fakeNRFs are NRFs in memory, one for each base URL.
type fakeNRFs struct {
	mu   sync.Mutex
	nrfs map[string]*fakeNRF
}

func newFakeNRFs() *fakeNRFs { return &fakeNRFs{nrfs: map[string]*fakeNRF{}} }

func (f *fakeNRFs) at(baseURL string, _ *sbitls.Identity) *fakeNRF {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, err := url.Parse(baseURL)
	if err != nil {
		panic(err)
	}
	// core5g-nrf.namespace.svc
	namespace := strings.Split(u.Hostname(), ".")[1]
	if f.nrfs[namespace] == nil {
		f.nrfs[namespace] = &fakeNRF{profiles: map[string]nrf.Profile{}}
	}
	return f.nrfs[namespace]
}

type fakeNRF struct {
	mu       sync.Mutex
	profiles map[string]nrf.Profile
	down     bool
	asked    int
}

func (f *fakeNRF) put(instance, nfType, host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.profiles[instance] = nrf.Profile{NfInstanceID: instance, NfType: nfType, IPv4Addresses: []string{host}}
}

func (f *fakeNRF) has(instance string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.profiles[instance]
	return ok
}

func (f *fakeNRF) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.profiles = map[string]nrf.Profile{}
}

func (f *fakeNRF) Discover(_ context.Context, nfType string) ([]nrf.Profile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.down {
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

func (f *fakeNRF) Profile(_ context.Context, instance string) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.profiles[instance]
	if !ok {
		return nil, fmt.Errorf("no instance %s", instance)
	}
	return json.Marshal(p)
}

func (f *fakeNRF) Register(_ context.Context, instance string, profile json.RawMessage) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p nrf.Profile
	if err := json.Unmarshal(profile, &p); err != nil {
		return err
	}
	f.profiles[instance] = p
	return nil
}

func (f *fakeNRF) Deregister(_ context.Context, instance string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.profiles, instance)
	return nil
}
