package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

// TS 29.518 5.2.2.5.3: what a subscriber hears of each change, and that it hears it once.
func TestStatusNews(t *testing.T) {
	const amf = 0x010041 // region 1, set 1, pointer 1
	home, guest, other := record.GUAMI{PLMN: "20893", AMF: amf}, record.GUAMI{PLMN: "00101", AMF: amf}, record.GUAMI{PLMN: "20893", AMF: 0x010042}
	served := func(change func(*Settings)) *Settings {
		s := &Settings{Region: 1, Set: 1, Pointer: 1, PLMNs: []PLMN{{PLMN: "20893"}, {PLMN: "00101"}}}
		change(s)
		return s
	}
	as := func(*Settings) {}
	oneLess := func(s *Settings) { s.PLMNs = s.PLMNs[:1] }
	removed := func(s *Settings) { s.Removed = true }
	for name, c := range map[string]struct {
		wanted     []record.GUAMI
		was, is    func(*Settings)
		gone, back []record.GUAMI
	}{
		"nothing has changed":                         {was: as, is: as},
		"the name of the AMF has":                     {was: as, is: func(s *Settings) { s.Name = "another" }},
		"a PLMN is not served any more":               {was: as, is: oneLess, gone: []record.GUAMI{guest}},
		"it is again":                                 {was: oneLess, is: as, back: []record.GUAMI{guest}},
		"the AMF is removed":                          {was: as, is: removed, gone: []record.GUAMI{home, guest}},
		"another pointer: each GUAMI is another":      {was: oneLess, is: func(s *Settings) { oneLess(s); s.Pointer = 2 }, gone: []record.GUAMI{home}, back: []record.GUAMI{other}},
		"one that is not of interest":                 {wanted: []record.GUAMI{home}, was: as, is: oneLess},
		"the AMF is removed, and one was of interest": {wanted: []record.GUAMI{home}, was: as, is: removed, gone: []record.GUAMI{home}},
	} {
		w, serves := NewStatusWatch("3-1", "http://smf/status", c.wanted, served(c.was))
		if !serves {
			t.Errorf("%s: none is served", name)
			continue
		}
		news, telling, told := StatusNews(w, served(c.is))
		want := &AskStatusHeard{URI: "http://smf/status", Gone: c.gone, Back: c.back}
		if len(c.gone)+len(c.back) == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, news); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if told == nil {
			continue
		}
		if news, _, _ := StatusNews(told, served(c.is)); news != nil {
			t.Errorf("%s: told again: %+v", name, news)
		}
		again, _, _ := StatusNews(telling, served(c.is))
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("%s, and nobody knows whether it was told (-want +got):\n%s", name, diff)
		}
		undone, _, _ := StatusNews(telling, served(c.was))
		if diff := cmp.Diff(&AskStatusHeard{URI: w.URI, Gone: c.back, Back: c.gone}, undone); diff != "" {
			t.Errorf("%s, and all is as before when nobody knows whether it was told (-want +got):\n%s", name, diff)
		}
	}
	if _, serves := NewStatusWatch("3-1", "http://smf/status", []record.GUAMI{other}, served(as)); serves {
		t.Error("another AMF's GUAMI is taken for ours")
	}
}
