package subscriber

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSecretProblemNamesKeysAndNeverTheirValues(t *testing.T) {
	const good = "8baf473f2f8fd09487cccbd7097c6862"
	for name, c := range map[string]struct {
		data map[string]string
		want string
	}{
		"k and opc":                {map[string]string{"k": good, "opc": good}, ""},
		"k and op":                 {map[string]string{"k": good, "op": good}, ""},
		"a line end is no problem": {map[string]string{"k": good + "\n", "opc": good}, ""},
		"upper case is no problem": {map[string]string{"k": strings.ToUpper(good), "opc": good}, ""},
		"nothing":                  {nil, `no key "k"`},
		"opc and op":               {map[string]string{"k": good, "opc": good, "op": good}, `both keys "opc" and "op"`},
		"an empty op is none":      {map[string]string{"k": good, "opc": good, "op": ""}, ""},
		"no opc":                   {map[string]string{"k": good}, `no key "opc"`},
		"k too short":              {map[string]string{"k": good[2:], "opc": good}, `key "k"`},
		"op no hexadecimal":        {map[string]string{"k": good, "op": "z" + good[1:]}, `key "op"`},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{}}
			for k, v := range c.data {
				secret.Data[k] = []byte(v)
			}
			got := secretProblem(secret)
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) || strings.Contains(got, good[4:12]) {
				t.Errorf("got %q, want …%s…", got, c.want)
			}
		})
	}
}
