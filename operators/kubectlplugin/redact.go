package kubectlplugin

import (
	"fmt"
	"regexp"
)

// What leaves in a report is free of secrets by two rules: no Secret is ever read, and whatever looks like
// one in a log, a ConfigMap or an annotation is replaced. K, OP, OPc and home network keys are 16 or 32
// octets, in whichever of the ways programs print octets; the rest is known by its surroundings. Rather a
// hash too many is replaced than a key too few: only image digests stay.

// redaction replaces what matches a pattern.
type redaction struct {
	pattern *regexp.Regexp
	with    string
}

// Redactor replaces secrets.
type Redactor struct {
	hexadecimal *regexp.Regexp
	others      []redaction
}

// NewRedactor compiles the patterns.
func NewRedactor() *Redactor {
	r := &Redactor{hexadecimal: regexp.MustCompile(`(?i)(sha256:)?[0-9a-f]{32,}`)}
	for _, p := range []struct{ pattern, with string }{
		{`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`, "[private key removed]"},
		{`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`, "[token removed]"},
		{`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`, "$1 [removed]"},
		{`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"']*:[^\s"']*@`, "${1}[removed]@"},
		{`(?i)\b(passw(?:or)?d|passphrase|(?:access_|refresh_)?token|(?:client_?)?secret|api_?key|private_?key|credentials?)(["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;}{"']+)`, "${1}${2}[removed]"},
		{`(?i)\b(?:0x[0-9a-f]{1,2}|[0-9a-f]{2})(?:[\s:,-]+(?:0x[0-9a-f]{1,2}|[0-9a-f]{2})){15,}\b`, "[octets removed]"},
		{`\b\d{1,3}(?:[\s,]+\d{1,3}){15,}\b`, "[octets removed]"},
		{`[A-Za-z0-9+/_-]{22,}={1,2}`, "[base64 removed]"},
	} {
		r.others = append(r.others, redaction{regexp.MustCompile(p.pattern), p.with})
	}
	return r
}

// Clean returns the text without what looks like a secret.
func (r *Redactor) Clean(text string) string {
	for _, other := range r.others {
		text = other.pattern.ReplaceAllString(text, other.with)
	}
	return r.hexadecimal.ReplaceAllStringFunc(text, func(found string) string {
		if len(found) == len("sha256:")+64 && (found[0] == 's' || found[0] == 'S') {
			return found
		}
		return fmt.Sprintf("[%d hexadecimal digits removed]", len(found))
	})
}
