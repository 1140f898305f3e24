package userplane

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func upf(id, pool string) Node {
	return Node{Type: "UPF", NodeID: id, Addr: id,
		SNSSAIInfos: []SliceInfo{{SNSSAI: SNSSAI{1, "010203"}, DNNs: []DNNInfo{{DNN: "internet", Pools: []Pool{{pool}}}}}},
		Interfaces:  []Interface{{"N3", []string{"172.30.3.16"}, []string{"internet"}}}}
}

// topology of UPFs, each "name nodeID pool".
func topology(upfs ...string) Topology {
	t := Topology{UPNodes: map[string]Node{"gNB": {Type: "AN"}}, Links: []Link{}}
	for _, u := range upfs {
		f := strings.Fields(u)
		t.UPNodes[f[0]] = upf(f[1], f[2])
		t.Links = append(t.Links, Link{"gNB", f[0]})
	}
	return t
}

// fakeSMF has the user-plane API of free5GC's SMF, and dies of what that dies of.
type fakeSMF struct {
	topology Topology
	calls    []string
	dead     string
}

func (f *fakeSMF) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.calls = append(f.calls, r.Method)
	switch {
	case r.Method == http.MethodGet && r.URL.Path == pathTopology:
		// As the original: without addr, with fields of its own.
		out := map[string]any{}
		for name, n := range f.topology.UPNodes {
			out[name] = map[string]any{"type": n.Type, "nodeID": n.NodeID, "anIP": "<nil>", "addr": "", "sNssaiUpfInfos": n.SNSSAIInfos, "interfaces": n.Interfaces}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"upNodes": out, "links": f.topology.Links})
	case r.Method == http.MethodPost && r.URL.Path == pathTopology:
		var add Topology
		if err := json.NewDecoder(r.Body).Decode(&add); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for name, n := range add.UPNodes {
			if _, is := f.topology.UPNodes[name]; !is { // "already exists", it says, and goes on
				f.topology.UPNodes[name] = n
			}
		}
		f.topology.Links = append(f.topology.Links, add.Links...)
		if err := f.topology.Check(); err != nil {
			f.dead = err.Error()
		}
	case r.Method == http.MethodDelete:
		name := strings.TrimPrefix(r.URL.Path, pathTopology+"/")
		if _, is := f.topology.UPNodes[name]; !is {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		delete(f.topology.UPNodes, name)
		var left []Link
		for _, l := range f.topology.Links {
			if l.A != name && l.B != name {
				left = append(left, l)
			}
		}
		f.topology.Links = left
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestFollow(t *testing.T) {
	one := topology("upf-0 10.96.0.1 10.45.0.0/17")
	two := topology("upf-0 10.96.0.1 10.45.0.0/17", "upf-1 10.96.0.2 10.45.128.0/17")
	tests := map[string]struct {
		have, want Topology
		wantCalls  []string
	}{
		"nothing to do":                   {two, two, []string{"GET"}},
		"a unit comes":                    {one, two, []string{"GET", "POST"}},
		"a unit goes":                     {two, one, []string{"GET", "DELETE"}},
		"a unit has another N4 address":   {two, topology("upf-0 10.96.0.1 10.45.0.0/17", "upf-1 10.96.0.9 10.45.128.0/17"), []string{"GET", "DELETE", "POST"}},
		"the pools are cut another way":   {one, topology("upf-0 10.96.0.1 10.45.0.0/18", "upf-1 10.96.0.2 10.45.64.0/18"), []string{"GET", "DELETE", "POST"}},
		"one unit was the whole instance": {topology("upf 10.96.0.1 10.45.0.0/16"), two, []string{"GET", "DELETE", "POST"}},
		"all units go":                    {two, topology(), []string{"GET", "DELETE", "DELETE"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			smf := &fakeSMF{}
			raw, _ := json.Marshal(test.have)
			_ = json.Unmarshal(raw, &smf.topology)
			server := httptest.NewServer(smf)
			defer server.Close()
			client := &SMF{BaseURL: server.URL, HTTP: server.Client()}
			if _, err := client.Follow(t.Context(), test.want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.wantCalls, smf.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, smf.topology, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("topology (-want +got):\n%s", diff)
			}
			if smf.dead != "" {
				t.Errorf("the SMF died: %s", smf.dead)
			}
			if again, err := client.Follow(t.Context(), test.want); err != nil || !again.Empty() {
				t.Errorf("a second time: %+v, %v", again, err)
			}
		})
	}
}

func TestWhatWouldEndTheSMFIsNotSent(t *testing.T) {
	tests := map[string]struct {
		topology Topology
		want     string
	}{
		"overlapping pools": {topology("upf-0 10.96.0.1 10.45.0.0/16", "upf-1 10.96.0.2 10.45.128.0/17"), "pool 10.45.128.0/17 of UPF upf-1 overlaps 10.45.0.0/16 of UPF upf-0"},
		"no pool":           {topology("upf-0 10.96.0.1 10.45.0.0"), "UPF upf-0"},
		"one node ID twice": {topology("upf-0 10.96.0.1 10.45.0.0/17", "upf-1 10.96.0.1 10.45.128.0/17"), "have the same node ID 10.96.0.1"},
		"no node ID":        {topology("upf-0 - 10.45.0.0/17"), "has no node ID"},
		"no link":           {Topology{UPNodes: map[string]Node{"upf-0": upf("10.96.0.1", "10.45.0.0/16")}}, "no link leads to UPF upf-0"},
		"a link to nowhere": {Topology{Links: []Link{{"gNB", "upf-0"}}}, "a link names gNB, which is no node"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			smf := &fakeSMF{topology: topology()}
			server := httptest.NewServer(smf)
			defer server.Close()
			_, err := (&SMF{BaseURL: server.URL, HTTP: server.Client()}).Follow(t.Context(), test.topology)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
			if len(smf.calls) > 0 {
				t.Errorf("called %v", smf.calls)
			}
		})
	}
}
