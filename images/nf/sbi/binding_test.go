package sbi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const smfSet = "set1.smfset.5gc.mnc093.mcc208"

func TestBindings(t *testing.T) {
	for in, want := range map[string]struct {
		binding Binding
		text    string
		fails   string
	}{
		"bl=nf-set; nfset=" + smfSet: {Binding{Level: BoundToSet, Set: smfSet}, "bl=nf-set; nfset=" + smfSet, ""},
		`BL=NF-Instance;nfinst="54804518-4191-46b3-955c-ac631f953ed8";x=y`: {
			Binding{Level: BoundToInstance, Instance: "54804518-4191-46b3-955c-ac631f953ed8"}, "bl=nf-instance; nfinst=54804518-4191-46b3-955c-ac631f953ed8", "",
		},
		"bl=nfservice-set; nfserviceset=a; servname=nsmf-pdusession; scope=callback": {
			Binding{Level: BoundToServiceSet, ServiceSet: "a", ServiceName: "nsmf-pdusession", Scope: "callback"},
			"bl=nfservice-set; nfserviceset=a; servname=nsmf-pdusession; scope=callback", "",
		},
		"":                                {fails: "no parameter"},
		"nfset=a":                         {fails: "has a level"},
		"bl=everybody":                    {fails: "has a level"},
		"bl=nf-set; nfset=a b":            {fails: "cannot be the value"},
		"bl=" + strings.Repeat("x", 1100): {fails: "more than"},
	} {
		got, err := ParseBinding(in)
		if want.fails != "" {
			if err == nil || !strings.Contains(err.Error(), want.fails) {
				t.Errorf("%.40s: %+v, %v", in, got, err)
			}
			continue
		}
		if diff := cmp.Diff(want.binding, got); diff != "" || err != nil || got.String() != want.text {
			t.Errorf("%s: %v %q (-want +got):\n%s", in, err, got, diff)
		}
	}
	h := http.Header{BindingHeader: {"bl=nf-set; nfset=a; scope=callback, what?", "bl=nf-set; nfset=b"}}
	if a, b, none := BindingOf(h, "callback").Set, BindingOf(h, "").Set, BindingOf(h, "other-service"); a != "a" || b != "b" || none != (Binding{}) {
		t.Errorf("%q %q %v", a, b, none)
	}
}

// A resource of an instance that has died is asked for at another of the set, which keeps it from then on.
func TestAResourceMovesWithItsSet(t *testing.T) {
	var asked http.Header
	second := cleartext(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Clone()
		w.Header().Set(BindingHeader, "bl=nf-set; nfset=other")
		w.WriteHeader(http.StatusNoContent)
		if r.URL.Path != "/nsmf-pdusession/v1/sm-contexts/7/modify" {
			t.Errorf("path %s", r.URL.Path)
		}
	})
	first := nowhere(t)
	c, p, _ := client(t, first, second)
	made := &Reply{
		URI: first + "/nsmf-pdusession/v1/sm-contexts", Endpoint: Endpoint{Root: first, Instance: "1"},
		Header: http.Header{"Location": {"/nsmf-pdusession/v1/sm-contexts/7"}, BindingHeader: {"bl=nf-set; nfset=" + smfSet}},
	}
	resource := made.Bound()
	smf := Service{Type: "SMF", Name: "nsmf-pdusession"}
	call := resource.Call("UpdateSMContext", http.MethodPost, smf)
	call.URI += "/modify"
	reply, err := c.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if got := asked.Get(RoutingBindingHeader); got != "bl=nf-set; nfset="+smfSet {
		t.Errorf("routing binding %q", got)
	}
	if diff := cmp.Diff(Service{Type: "SMF", Name: "nsmf-pdusession", Instance: "1", Set: smfSet}, p.asked[0]); diff != "" {
		t.Errorf("looked for (-want +got):\n%s", diff)
	}
	if len(p.failed) == 0 || p.failed[0] != first {
		t.Errorf("failed: %v", p.failed)
	}
	want := Bound{URI: second + "/nsmf-pdusession/v1/sm-contexts/7", Instance: "instance of " + second, Binding: Binding{Level: BoundToSet, Set: "other"}}
	if diff := cmp.Diff(want, resource.Moved(reply, "/modify")); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	// What is bound to an instance alone goes nowhere else.
	resource.Binding = Binding{Level: BoundToInstance, Instance: "1"}
	resource.Set = smfSet
	if call := resource.Call("x", http.MethodPost, smf); call.Service.Set != "" || call.Service.Instance != "1" {
		t.Errorf("%+v", call.Service)
	}
}

func FuzzParseBinding(f *testing.F) {
	f.Add("bl=nf-set; nfset=" + smfSet + "; scope=callback")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBinding(text)
		if err != nil {
			return
		}
		again, err := ParseBinding(b.String())
		if err != nil || again != b {
			t.Errorf("%q: %+v, written %q, read %+v, %v", text, b, b, again, err)
		}
	})
}
