package rules

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

func text(s string) []byte { return append([]byte{byte(len(s) >> 8), byte(len(s))}, s...) }

func TestPFDContents(t *testing.T) {
	const a, b = "permit out 17 from 10.9.0.0/16 443 to assigned", "permit out 6 from 2001:db8::1 to any"
	additional := append(text(b), text(a)...)
	names := string(slices.Concat(text("b.example"), text("DNS_QNAME"), text("c.example"), text("")))
	for name, tt := range map[string]struct {
		value []byte
		want  []string // flow descriptions, then domain names with their protocols
		ok    bool
	}{
		"a flow description":       {append([]byte{pfdFD, 0}, text(a)...), []string{a}, true},
		"additional ones":          {append(append([]byte{pfdFD | pfdAFD, 0}, text(a)...), text(string(additional))...), []string{a, b, a}, true},
		"a domain name":            {append([]byte{pfdDN, 0}, text("a.example")...), []string{"a.example"}, true},
		"one with a protocol":      {append(append([]byte{pfdDN | pfdDNP, 0}, text("a.example")...), text("TLS_SNI")...), []string{"a.example", "TLS_SNI"}, true},
		"additional names":         {append(append([]byte{pfdDN | pfdADNP, 0}, text("a.example")...), text(names)...), []string{"a.example", "b.example", "DNS_QNAME", "c.example"}, true},
		"additional names alone":   {append([]byte{pfdADNP, 0}, text(names)...), []string{"b.example", "DNS_QNAME", "c.example"}, true},
		"names that end":           {append([]byte{pfdADNP, 0}, text(names[:len(names)-1])...), nil, false},
		"a protocol alone":         {append([]byte{pfdDNP, 0}, text("TLS_SNI")...), nil, false},
		"a name and a flow":        {append(append([]byte{pfdFD | pfdDN, 0}, text(a)...), text("a.example")...), nil, false},
		"a name and a URL":         {append(append([]byte{pfdURL | pfdDN, 0}, text("http://a/")...), text("a.example")...), nil, false},
		"a URL":                    {append([]byte{pfdURL, 0}, text("http://a/")...), nil, false},
		"a URL besides":            {append(append([]byte{pfdFD | pfdURL, 0}, text(a)...), text("http://a/")...), nil, false},
		"custom content":           {append([]byte{pfdCP, 0}, text("x")...), nil, false},
		"nothing":                  {[]byte{0, 0}, nil, false},
		"cut short":                {append([]byte{pfdFD, 0}, text(a)[:9]...), nil, false},
		"no flags":                 {nil, nil, false},
		"additional ones that end": {append([]byte{pfdAFD, 0}, text("\x00\x09a")...), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parsePFDContents(tt.value)
			got := c.flows
			for _, n := range c.names {
				if got = append(got, n.name); n.protocol != "" {
					got = append(got, n.protocol)
				}
			}
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
	a, err = ParseApplicationPFDs(group(id, ie.NewPFDContext(flow, contents(pfdDN, "*.Video.example"))))
	if err != nil || len(a.Flows) != 1 || len(a.Domains) != 1 || a.Domains[0].Name != "video.example" || a.Domains[0].Itself || a.Empty() {
		t.Errorf("%+v (%v), want a flow and what is below video.example", a, err)
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
		"a regular expression":        {group(id, ie.NewPFDContext(contents(pfdDN, "v[0-9]+.example"))), ie.CauseServiceNotSupported, ie.PFDContents},
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

func TestDomains(t *testing.T) {
	all := Domain{Itself: true, Below: true, DNS: true, TLS: true}
	for text, want := range map[string]struct {
		name          string
		itself, below bool
	}{
		"Video.example":           {"video.example", true, true},
		"video.example.":          {"video.example", true, true},
		`^(.*\.)?video\.example$`: {"video.example", true, true},
		`(^|\.)video\.example$`:   {"video.example", true, true},
		`video\.example$`:         {"video.example", true, true},
		"*.video.example":         {"video.example", false, true},
		".video.example":          {"video.example", false, true},
		`.*\.video\.example`:      {"video.example", false, true},
		`^.*\.video\.example$`:    {"video.example", false, true},
		`^www\.video\.example$`:   {"www.video.example", true, false},
		"xn--vdeo-1ra.example":    {"xn--vdeo-1ra.example", true, true},
		"_video-1.example":        {"_video-1.example", true, true},
	} {
		d, err := ParseDomain(text, "")
		w := all
		w.Text, w.Name, w.Itself, w.Below = text, want.name, want.itself, want.below
		if err != nil || *d != w {
			t.Errorf("%s is %+v (%v), want %+v", text, d, err, w)
		}
	}
	for protocol, want := range map[string][2]bool{
		"DNS_QNAME": {true, false}, "TLS_SNI": {false, true}, "\x00": {true, false}, "\x00\x00\x00\x01": {false, true},
	} {
		if d, err := ParseDomain("a.example", protocol); err != nil || d.DNS != want[0] || d.TLS != want[1] {
			t.Errorf("%q is told by %+v (%v), want %v", protocol, d, err, want)
		}
	}
	for _, wrong := range [][3]string{
		{"", "", "1 to 253"},
		{".", "", "1 to 253"},
		{"a..example", "", "1 to 63"},
		{strings.Repeat("a", 64) + ".example", "", "1 to 63"},
		{strings.Repeat("a.", 127) + "example", "", "1 to 253"},
		{"vídeo.example", "", "xn--"},
		{"v[0-9]+.example", "", "regular expressions"},
		{`.*video\.example`, "", "regular expressions"},
		{"*video.example", "", "regular expressions"},
		{"video.*", "", "regular expressions"},
		{"video.(com|org)", "", "regular expressions"},
		{"http://video.example", "", "regular expressions"},
		{"a.example", "TLS_SAN", "certificates"},
		{"a.example", "\x03", "certificates"},
		{"a.example", "HTTP", "none of"},
		{"a.example", "\x04", "none of"},
	} {
		if d, err := ParseDomain(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), wrong[2]) {
			t.Errorf("%q by %q is %+v (%v), want an error with %q", wrong[0], wrong[1], d, err, wrong[2])
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
