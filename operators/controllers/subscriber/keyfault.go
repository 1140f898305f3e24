package subscriber

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

const (
	keyOctets = 16
	keyDigits = 2 * keyOctets
	// keyHow says how a key gets into a Secret: what stands under data is decoded first.
	keyHow = "write 32 hexadecimal digits under stringData, or their base64 under data"
)

// keyFault says what is wrong with one key of a Secret: what there is instead, how long it is, and which mistake makes
// that length; never what it holds.
func keyFault(secret *corev1.Secret, key string) string {
	value, ok := secret.Data[key]
	if !ok {
		return fmt.Sprintf("Secret %s has no key %q, %s: %s", secret.Name, key, keysThere(secret), keyHow)
	}
	text := strings.TrimSpace(string(value))
	decoded, err := hex.DecodeString(text)
	if err == nil && len(decoded) == keyOctets {
		return ""
	}
	fault := fmt.Sprintf("key %q of Secret %s", key, secret.Name)
	printable := !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) })
	fromBase64, base64Err := base64.StdEncoding.DecodeString(text)
	switch {
	case text == "":
		return fault + " is empty: " + keyHow
	case !printable && len(value) == base64.StdEncoding.DecodedLen(keyDigits):
		return fmt.Sprintf("%s is not text, and its %d octets are what 32 digits under data decode to: %s", fault, len(value), keyHow)
	case !printable:
		return fmt.Sprintf("%s has %d octets that are not text: %s", fault, len(value), keyHow)
	case base64Err == nil && len(text) == base64.StdEncoding.EncodedLen(keyDigits) && isHex(string(fromBase64)):
		return fmt.Sprintf("%s has %d characters, which are the base64 of 32 digits: write the digits themselves under stringData, or these characters under data", fault, len(text))
	case len(text) == keyDigits:
		return fmt.Sprintf("%s has %d characters that are not all hexadecimal digits: %s", fault, len(text), keyHow)
	default:
		return fmt.Sprintf("%s has %d characters: %s", fault, len(text), keyHow)
	}
}

func isHex(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil
}

// keysThere names the keys of a Secret, with no more than fits a sentence.
func keysThere(secret *corev1.Secret) string {
	const most = 5
	names := slices.Sorted(maps.Keys(secret.Data))
	if len(names) == 0 {
		return "and no other"
	}
	var quoted []string
	for _, n := range names[:min(len(names), most)] {
		if isHex(n) && len(n) >= keyDigits {
			n = "…" // somebody has written a key where its name belongs
		}
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	list := strings.Join(quoted, ", ")
	if left := len(names) - most; left > 0 {
		list += fmt.Sprintf(" and %d more", left)
	}
	return "only " + list
}
