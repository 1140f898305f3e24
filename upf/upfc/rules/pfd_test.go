package rules

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

func text(s string) []byte { return append([]byte{byte(len(s) >> 8), byte(len(s))}, s...) }

func TestPFDContents(t *testing.T) {
	const a, b = "permit out 17 from 10.9.0.0/16 443 to assigned", "permit out 6 from 2001:db8::1 to any"
	additional := append(text(b), text(a)...)
	for name, tt := range map[string]struct {
		value []byte
		want  []string
		ok    bool
	}{
		"a flow description":       {append([]byte{pfdFD, 0}, text(a)...), []string{a}, true},
		"additional ones":          {append(append([]byte{pfdFD | pfdAFD, 0}, text(a)...), text(string(additional))...), []string{a, b, a}, true},
		"a URL":                    {append([]byte{pfdURL, 0}, text("http://a/")...), nil, false},
		"a URL besides":            {append(append([]byte{pfdFD | pfdURL, 0}, text(a)...), text("http://a/")...), nil, false},
		"a domain name":            {append([]byte{pfdDN, 0}, text("a.example")...), nil, false},
		"custom content":           {append([]byte{pfdCP, 0}, text("x")...), nil, false},
		"nothing":                  {[]byte{0, 0}, nil, false},
		"cut short":                {append([]byte{pfdFD, 0}, text(a)[:9]...), nil, false},
		"no flags":                 {nil, nil, false},
		"additional ones that end": {append([]byte{pfdAFD, 0}, text("\x00\x09a")...), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parsePFDContents(tt.value)
			if (err == nil) != tt.ok || tt.ok && !cmp.Equal(got, tt.want) {
				t.Errorf("%q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestApplicationPFDs(t *testing.T) {
	group := func(ies ...*ie.IE) *pfcp.Element {
		var value []byte
		for _, i := range ies {
			b, err := i.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			value = append(value, b...)
		}
		return &pfcp.Element{Type: ie.ApplicationIDsPFDs, Value: value}
	}
	contents := func(flags byte, s string) *ie.IE { return ie.New(ie.PFDContents, append([]byte{flags, 0}, text(s)...)) }
	id, flow := ie.NewApplicationID("video"), contents(pfdFD, "permit out ip from 10.9.0.1 to assigned")
	a, err := ParseApplicationPFDs(group(id, ie.NewPFDContext(flow, flow), ie.NewPFDContext(flow)))
	if err != nil || a.ID != "video" || len(a.Flows) != 3 || len(a.Descriptions) != 3 {
		t.Errorf("%+v (%v), want three flows", a, err)
	}
	if a, err = ParseApplicationPFDs(group(id)); err != nil || len(a.Flows) != 0 {
		t.Errorf("%+v (%v), want no flows", a, err)
	}
	for name, tt := range map[string]struct {
		e         *pfcp.Element
		cause     uint8
		offending uint16
	}{
		"without Application ID":      {group(), ie.CauseMandatoryIEMissing, ie.ApplicationID},
		"with an empty one":           {group(ie.NewApplicationID("")), ie.CauseMandatoryIEIncorrect, ie.ApplicationID},
		"a context without contents":  {group(id, ie.NewPFDContext()), ie.CauseMandatoryIEMissing, ie.PFDContents},
		"a URL":                       {group(id, ie.NewPFDContext(contents(pfdURL, "http://a/"))), ie.CauseServiceNotSupported, ie.PFDContents},
		"a flow that cannot be read":  {group(id, ie.NewPFDContext(contents(pfdFD, "deny all"))), ie.CauseMandatoryIEIncorrect, ie.PFDContents},
		"contents that are cut short": {group(id, ie.NewPFDContext(ie.New(ie.PFDContents, []byte{1, 0, 0, 9}))), ie.CauseInvalidLength, ie.PFDContents},
	} {
		_, err := ParseApplicationPFDs(tt.e)
		var r *pfcp.Reject
		if !errors.As(err, &r) || r.Cause != tt.cause || r.Offending != tt.offending {
			t.Errorf("%s: %v, want cause %d because of IE %d", name, err, tt.cause, tt.offending)
		}
	}
}

func TestFQCSIDs(t *testing.T) {
	for name, tt := range map[string]struct {
		value []byte
		want  []CSID
	}{
		"IPv4 node, two identifiers": {[]byte{0x02, 10, 0, 0, 1, 0, 1, 0, 2}, []CSID{{"10.0.0.1", 1}, {"10.0.0.1", 2}}},
		"IPv6 node":                  {append(append([]byte{0x11}, make([]byte, 15)...), 1, 0, 7), []CSID{{"::1", 7}}},
		"with a node type behind":    {[]byte{0x01, 10, 0, 0, 1, 0, 1, 4}, []CSID{{"10.0.0.1", 1}}},
		"another node":               {[]byte{0x21, 1, 2, 3, 4, 0, 7}, []CSID{{"01020304", 7}}},
		"no identifier":              {[]byte{0x00, 10, 0, 0, 1}, nil},
		"cut short":                  {[]byte{0x02, 10, 0, 0, 1, 0, 1, 0}, nil},
		"an unknown node":            {[]byte{0x31, 1, 2, 3, 4, 0, 7}, nil},
		"empty":                      {nil, nil},
	} {
		got, err := ParseFQCSID(tt.value)
		if (err == nil) != (tt.want != nil) || !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, tt.want)
		}
	}
}
