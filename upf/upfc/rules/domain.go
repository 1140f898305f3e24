package rules

import (
	"errors"
	"fmt"
	"strings"
)

// Domain is the domain name of a PFD (TS 29.244 8.2.39), which is a name, "the significant parts" of one, or a regular
// expression (TS 29.251 6.4.3.9, TS 29.122 5.14.2.1.2). Of regular expressions those are taken that say no more than a name and
// what is below it; they are matched with whole names.
//
//	example.com, ^(.*\.)?example\.com$, (^|\.)example\.com$    the name and all below it
//	*.example.com, .example.com, ^.*\.example\.com$            what is below it alone
//	^example\.com$                                             the name alone
type Domain struct {
	Text, Protocol string // as received
	Name           string // in lower case
	Itself, Below  bool   // what of it is meant
	DNS, TLS       bool   // by what it is told: questions for its addresses; servers' names in ClientHellos, of TLS and of QUIC
}

// Domain Name Protocols (TS 29.251 6.4.3.12, TS 29.122 5.14.2.2.4), as a name and as the number of the enumeration.
var domainNameProtocols = []string{"DNS_QNAME", "TLS_SNI", "TLS_SAN", "TLS_SCN"}

func domainNameProtocol(s string) string {
	b := []byte(s)
	if n := len(b); (n == 1 || n == 4 && b[0]|b[1]|b[2] == 0) && int(b[n-1]) < len(domainNameProtocols) {
		return domainNameProtocols[b[n-1]]
	}
	return s
}

// ParseDomain reads a domain name and the protocol that tells it; an empty one is any that is known.
func ParseDomain(text, protocol string) (*Domain, error) {
	d := &Domain{Text: text, Protocol: protocol}
	switch p := domainNameProtocol(protocol); p {
	case "":
		d.DNS, d.TLS = true, true
	case "DNS_QNAME":
		d.DNS = true
	case "TLS_SNI":
		d.TLS = true
	case "TLS_SAN", "TLS_SCN":
		return nil, fmt.Errorf("domain name protocol %s: servers' certificates are not read, for TLS 1.3 encrypts them; give TLS_SNI or DNS_QNAME", p)
	default:
		return nil, fmt.Errorf("domain name protocol %q is none of %s", p, strings.Join(domainNameProtocols, ", "))
	}
	name := strings.ToLower(text)
	name, begins := strings.CutPrefix(name, "^")
	name = strings.TrimSuffix(name, "$")
	d.Itself, d.Below = true, true
	for _, front := range []struct {
		text   string
		itself bool
	}{{`(.*\.)?`, true}, {`(^|\.)`, true}, {`.*\.`, false}, {"*.", false}, {".", false}} {
		if rest, ok := strings.CutPrefix(name, front.text); ok {
			name, begins, d.Itself = rest, false, front.itself
			break
		}
	}
	d.Below = !begins
	d.Name = strings.TrimSuffix(strings.ReplaceAll(name, `\.`, "."), ".")
	return d, d.check()
}

const maxName, maxLabel = 253, 63 // RFC 1035 2.3.4

func (d *Domain) check() error {
	if d.Name == "" || len(d.Name) > maxName {
		return fmt.Errorf("it has %d characters, and wants 1 to %d", len(d.Name), maxName)
	}
	for label := range strings.SplitSeq(d.Name, ".") {
		if label == "" || len(label) > maxLabel {
			return fmt.Errorf("a label of it has %d characters, and wants 1 to %d", len(label), maxLabel)
		}
		for _, c := range []byte(label) {
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			case c >= 0x80:
				return errors.New(`write it in ASCII ("xn--…")`)
			default:
				return fmt.Errorf(`%q is not taken: of regular expressions those alone that mean a name and what is below it, as ^.*\.example\.com$`, c)
			}
		}
	}
	return nil
}
