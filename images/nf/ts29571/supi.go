package ts29571

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostIdentifier bounds what is behind the kind of a SUPI, or of another name of a UE: a network access identifier has 253 octets (RFC 7542 2.3).
const mostIdentifier = 253

// supiKinds other than imsi-: a network specific identifier, of a cable access, of a wireline access (TS 23.003 28.7.2, 28.15.2, 28.16.2).
var supiKinds = []string{"nai-", "gci-", "gli-"}

// SUPIForm says how a SUPI is written.
const SUPIForm = "imsi- and 5 to 15 digits; or nai-, gci- or gli- and an identifier of at most 253 octets without spaces"

// IsSUPI says whether that is a SUPI in the form of 5.3.2. Whoever writes it into a path escapes it: a network access identifier may have /, % and ?.
func IsSUPI(text string) bool {
	if digits, is := strings.CutPrefix(text, "imsi-"); is {
		return isDigits(digits, 5, 15)
	}
	_, is := CutKind(text, supiKinds...)
	return is
}

// CutKind is what is behind one of the kinds in a name of a UE: false, where there is nothing, or what no UE is called.
func CutKind(name string, kinds ...string) (identifier string, is bool) {
	for _, kind := range kinds {
		if identifier, is = strings.CutPrefix(name, kind); is {
			return identifier, isIdentifier(identifier)
		}
	}
	return "", false
}

func isIdentifier(text string) bool {
	return text != "" && len(text) <= mostIdentifier && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
