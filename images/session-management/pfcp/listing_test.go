package pfcp

import (
	"errors"
	"testing"

	"core5g.dev/core5g/upf/upfc/extension"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
)

func TestList(t *testing.T) {
	page := extension.Page{Next: 5, Sessions: []extension.Session{{CP: 7, UP: 9}, {CP: 8, UP: 10}}}
	for name, c := range map[string]struct {
		answer *ie.IE
		want   extension.Page
		err    func(error) bool
	}{
		"a page":                   {page.IE(), page, func(err error) bool { return err == nil }},
		"a unit without lists":     {nil, extension.Page{}, func(err error) bool { return errors.Is(err, ErrNoList) }},
		"a page that is cut short": {ie.NewVendorSpecificIE(extension.SessionList, extension.Enterprise, []byte{1}), extension.Page{}, isNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			n := 0
			r.List("upf-0", 3, func(got extension.Page, err error) {
				n++
				if diff := cmp.Diff(c.want, got); diff != "" || !c.err(err) {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
			m := r.wants(update)
			asked := extension.Find(m.Elements, extension.ListSessions)
			if asked == nil {
				t.Fatalf("asked %+v", m.Elements)
			}
			if cursor, err := extension.ReadListSessions(asked); err != nil || cursor != 3 {
				t.Errorf("cursor %d, %v", cursor, err)
			}
			ies := []*ie.IE{upf, accepted}
			if c.answer != nil {
				ies = append(ies, c.answer)
			}
			r.answer(m, ies...)
			if n != 1 {
				t.Errorf("%d outcomes", n)
			}
		})
	}
	r := ready(t)
	n := 0
	r.List("upf-9", 0, func(_ extension.Page, err error) {
		if n++; !isNotSent(err) {
			t.Errorf("of a unit that nobody knows: %v", err)
		}
	})
	if r.pass(0); n != 1 {
		t.Errorf("%d outcomes", n)
	}
}
