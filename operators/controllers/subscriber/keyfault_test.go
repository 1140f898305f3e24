package subscriber

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKeyFaultSaysWhatIsThereAndWhatToWrite(t *testing.T) {
	const (
		good = "8baf473f2f8fd09487cccbd7097c6862"
		how  = "write 32 hexadecimal digits under stringData, or their base64 under data"
	)
	octets, _ := hex.DecodeString(good)
	underData, err := base64.StdEncoding.DecodeString(good) // what the API server makes of digits under data
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data map[string]string
		want string
	}{
		"a key":                 {map[string]string{"k": good}, ""},
		"a key with a line end": {map[string]string{"k": good + "\n"}, ""},
		"nothing at all":        {nil, `Secret s has no key "k", and no other: ` + how},
		"another name":          {map[string]string{"K": good, "opc": good}, `Secret s has no key "k", only "K", "opc": ` + how},
		"many other names":      {map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": ""}, `only "a", "b", "c", "d", "e" and 2 more: ` + how},
		"an empty one":          {map[string]string{"k": "\n"}, `key "k" of Secret s is empty: ` + how},
		"one digit less":        {map[string]string{"k": good[1:]}, `key "k" of Secret s has 31 characters: ` + how},
		"one digit more":        {map[string]string{"k": good + "0"}, `has 33 characters: ` + how},
		"no digit":              {map[string]string{"k": good[1:] + "g"}, `has 32 characters that are not all hexadecimal digits: ` + how},
		"digits under data":     {map[string]string{"k": string(underData)}, `key "k" of Secret s is not text, and its 24 octets are what 32 digits under data decode to: ` + how},
		"octets":                {map[string]string{"k": string(octets)}, `has 16 octets that are not text: ` + how},
		"base64 under stringData": {map[string]string{"k": base64.StdEncoding.EncodeToString([]byte(good))},
			`has 44 characters, which are the base64 of 32 digits: write the digits themselves under stringData, or these characters under data`},
		"a key for a name": {map[string]string{good: ""}, `has no key "k", only "…": ` + how},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{}}
			for k, v := range c.data {
				secret.Data[k] = []byte(v)
			}
			got := keyFault(secret, "k")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want …%s…", got, c.want)
			}
			for k, v := range c.data {
				if len(k) > 8 {
					v = k
				}
				if len(v) > 8 && strings.Contains(got, v[4:12]) {
					t.Errorf("%q shows the key", got)
				}
			}
		})
	}
}
