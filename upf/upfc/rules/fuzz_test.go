package rules

import (
	"testing"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// One fuzz target a decoder; what they found, and what shows each branch, is kept in testdata/fuzz.

func FuzzFTEID(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseFTEID(b)
		if err != nil {
			return
		}
		if choose := v.flags&fteidCH != 0; choose && (v.v4.IsValid() || v.v6.IsValid()) {
			t.Errorf("%+v both chooses and names an address", v)
		}
		if v.v4.IsValid() && !v.v4.Is4() || v.v6.IsValid() && !v.v6.Is6() {
			t.Errorf("%+v mixes the IP versions up", v)
		}
	})
}

func FuzzUEIPAddress(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseUEAddress(b)
		if err == nil && v.prefix.IsValid() && v.prefix != v.prefix.Masked() {
			t.Errorf("prefix %s has host bits", v.prefix)
		}
	})
}

func FuzzOuterHeaderCreation(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := parseOuterHeader(b)
		if err != nil {
			return
		}
		is6 := o.Kind == abi.OhcGtpu6 || o.Kind == abi.OhcUdp6 || o.Kind == abi.OhcIp6
		if o.Kind == abi.OhcNone || !o.Addr.IsValid() || o.Addr.Is6() != is6 {
			t.Errorf("%+v is no header", o)
		}
	})
}

func FuzzRedirectInformation(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		url, err := parseRedirect(b)
		if err != nil {
			return
		}
		if url == "" || len(url) > maxURL+16 {
			t.Errorf("a URL of %d octets", len(url))
		}
		for _, c := range []byte(url) {
			if c <= ' ' || c > '~' {
				t.Errorf("URL %q would end the header that it stands in", url)
			}
		}
	})
}

func FuzzPFDContents(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parsePFDContents(b)
		n := 0
		for _, s := range c.flows {
			n += len(s)
		}
		for _, s := range c.names {
			n += len(s.name) + len(s.protocol)
			if d, err := ParseDomain(s.name, s.protocol); err == nil && (!d.Itself && !d.Below || !d.DNS && !d.TLS || len(d.Name) > maxName) {
				t.Errorf("%q by %q is %+v", s.name, s.protocol, d)
			}
		}
		if err == nil && n > len(b) {
			t.Errorf("%d octets of descriptions out of %d", n, len(b))
		}
	})
}

func FuzzFQCSID(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := ParseFQCSID(b)
		if err == nil && (len(list) == 0 || list[0].Node == "") {
			t.Errorf("%v names no set", list)
		}
	})
}

// FuzzGroups feeds each grouped IE's decoder, as Create and as Update.
func FuzzGroups(f *testing.F) {
	base := established(f)
	base.BARs.Put(1, &BAR{ID: 1})
	base.Endpoints.Put(1, &Endpoint{ID: 1})
	f.Fuzz(func(t *testing.T, sort uint8, create bool, b []byte) {
		kinds := []*kind{pdrKind, farKind, qerKind, urrKind, barKind, endpointKind}
		k := kinds[int(sort)%len(kinds)]
		ieType := k.create
		if !create {
			ieType = k.update
		}
		c, err := Plan(base, pfcp.Elements{{Type: ieType, Value: b}}, policy())
		if err != nil {
			return
		}
		for id, r := range c.Next.FARs.All() {
			if r.ID != id || r.HasBAR && c.Next.BARs.Get(r.BAR) == nil || r.Action&Duplicate != 0 && len(r.Duplicates) == 0 {
				t.Errorf("FAR %+v", r)
			}
		}
		for id, r := range c.Next.BARs.All() {
			if r.ID != id || r.Delay < 0 {
				t.Errorf("BAR %+v", r)
			}
		}
		for id, r := range c.Next.PDRs.All() {
			if r.ID != id || c.Next.FARs.Get(r.FAR) == nil || len(r.QERs) > abi.PdrQers || len(r.URRs) > abi.PdrUrrs {
				t.Errorf("PDR %+v", r)
			}
		}
	})
}
