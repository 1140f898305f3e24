package sbimemory

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/nf/nrf"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

func TestTheDirectory(t *testing.T) {
	first := ts29571.MakeSNSSAI(1, "010203")
	guami := ts29571.GUAMI{PLMN: ts29571.PLMN{MCC: "208", MNC: "93"}, AMFID: "cafe00"}
	var d Directory
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slice := func(dnns ...string) func() nrf.Offers {
		return func() nrf.Offers { return nrf.Offers{Slices: []nrf.Slice{{SNSSAI: first, DNNs: dnns}}} }
	}
	sessions := map[string][]string{"nsmf-pdusession": {"v1"}}
	for _, f := range []nrf.Function{
		{Type: "SMF", URI: "http://smf-1:8000", ID: "s1", Services: sessions, Offers: slice("internet", "ims")},
		{Type: "SMF", URI: "http://smf-2:8000", ID: "s2", Services: sessions, Offers: slice("internet")},
		{Type: "UDM", URI: "http://udm:8000/", ID: "u", Sets: []string{"set1"}, Services: map[string][]string{"nudm-sdm": {"v2"}}},
		{Type: "AMF", URI: "http://amf:8000", ID: "a", Services: map[string][]string{"namf-comm": {"v1"}}, Offers: func() nrf.Offers {
			return nrf.Offers{AMF: &nrf.AMF{GUAMIs: []ts29571.GUAMI{guami}}}
		}},
	} {
		go func() { _ = d.Keep(ctx, f) }()
	}
	until(t, func() bool { return d.known() == 4 })
	find := func(s sbi.Service) []string {
		found, err := d.Finder(nil).Find(t.Context(), s)
		if err != nil && !errors.Is(err, ErrNobody) {
			t.Fatal(err)
		}
		var out []string
		for _, e := range found {
			out = append(out, e.Root+" "+e.Instance+" "+e.Set)
		}
		if s.Instance == "" {
			slices.Sort(out)
		}
		return out
	}
	const session = "nsmf-pdusession"
	other := ts29571.GUAMI{PLMN: guami.PLMN, AMFID: "cafe01"}
	for name, x := range map[string]struct {
		service sbi.Service
		want    []string
	}{
		"all of a type":             {sbi.Service{Type: "SMF", Name: session, SNSSAI: &first, DNN: "Internet"}, []string{"http://smf-1:8000 s1 ", "http://smf-2:8000 s2 "}},
		"who serves the DNN":        {sbi.Service{Type: "SMF", Name: session, SNSSAI: &first, DNN: "ims"}, []string{"http://smf-1:8000 s1 "}},
		"a slice that nobody has":   {sbi.Service{Type: "SMF", Name: session, SNSSAI: &ts29571.SNSSAI{SST: 1}}, nil},
		"one instance":              {sbi.Service{Type: "SMF", Name: session, Instance: "s2"}, []string{"http://smf-2:8000 s2 "}},
		"an instance that is gone":  {sbi.Service{Type: "SMF", Name: session, Instance: "s3"}, nil},
		"another service":           {sbi.Service{Type: "SMF", Name: "nsmf-event-exposure"}, nil},
		"a set":                     {sbi.Service{Type: "UDM", Name: "nudm-sdm", Set: "set1"}, []string{"http://udm:8000 u set1"}},
		"another set":               {sbi.Service{Type: "UDM", Name: "nudm-sdm", Set: "set2"}, nil},
		"another of the set":        {sbi.Service{Type: "UDM", Name: "nudm-sdm", Instance: "gone", Set: "set1"}, []string{"http://udm:8000 u set1"}},
		"an AMF by its GUAMI":       {sbi.Service{Type: "AMF", Name: "namf-comm", GUAMI: &guami}, []string{"http://amf:8000 a " + guami.Set()}},
		"an AMF by its set":         {sbi.Service{Type: "AMF", Name: "namf-comm", Set: guami.Set()}, []string{"http://amf:8000 a " + guami.Set()}},
		"a GUAMI of another AMF":    {sbi.Service{Type: "AMF", Name: "namf-comm", GUAMI: &other}, nil},
		"a type that there is none": {sbi.Service{Type: "PCF", Name: "npcf-smpolicycontrol"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, find(x.service)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	with := d.Finder(at("http://pcf.test"))
	if found, err := with.Find(t.Context(), sbi.Service{Type: "PCF", Name: "npcf-smpolicycontrol"}); err != nil || found[0].Root != "http://pcf.test" {
		t.Errorf("of another program: %+v, %v", found, err)
	}
	if found, err := with.Find(t.Context(), sbi.Service{Type: "SMF", Name: session, DNN: "none"}); !errors.Is(err, ErrNobody) {
		t.Errorf("a type that is here is not looked for elsewhere: %+v, %v", found, err)
	}
	shares := map[string]int{}
	for range 200 {
		found, err := with.Find(t.Context(), sbi.Service{Type: "SMF", Name: session})
		if err != nil {
			t.Fatal(err)
		}
		shares[found[0].Instance]++
	}
	if shares["s1"] == 0 || shares["s2"] == 0 {
		t.Errorf("of equals each gets its share: %v", shares)
	}
	cancel()
	until(t, func() bool { return d.known() == 0 })
}

func (d *Directory) known() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.functions)
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time")
		}
	}
}
