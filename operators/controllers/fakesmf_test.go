package controllers

import (
	"context"
	"maps"
	"slices"
	"sync"

	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/operators/controllers/slice"
	"core5g.dev/core5g/operators/userplane"
)

// fakeSMFs are SMFs of which only the user plane is there, by base URL.
type fakeSMFs struct {
	mu   sync.Mutex
	smfs map[string]*fakeSMF
}

func newFakeSMFs() *fakeSMFs { return &fakeSMFs{smfs: map[string]*fakeSMF{}} }

func (f *fakeSMFs) at(baseURL string, _ *sbitls.Identity) slice.UserPlane {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.smfs[baseURL] == nil {
		f.smfs[baseURL] = &fakeSMF{}
	}
	return f.smfs[baseURL]
}

type fakeSMF struct {
	mu       sync.Mutex
	topology userplane.Topology
	// fails is answered to everything while it is set.
	fails error
}

func (f *fakeSMF) Follow(_ context.Context, want userplane.Topology) (userplane.Changes, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return userplane.Changes{}, f.fails
	}
	if err := want.Check(); err != nil {
		return userplane.Changes{}, err
	}
	changes := userplane.Compare(f.topology, want)
	f.topology = want
	return changes, nil
}

// upfs are the names of the UPFs, with their pools of the first data network.
func (f *fakeSMF) upfs() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.topology.UPNodes)) {
		if n := f.topology.UPNodes[name]; n.Type == "UPF" {
			out = append(out, name+" "+n.SNSSAIInfos[0].DNNs[0].Pools[0].CIDR)
		}
	}
	return out
}
