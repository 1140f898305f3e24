package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const definition = `spec:
  group: core5g.dev
  versions:
  - additionalPrinterColumns:
    - name: v1alpha1
    name: v1alpha1
    schema:
      openAPIV3Schema: {type: object}
    served: true
    storage: true
`

func TestTwoVersions(t *testing.T) {
	both, err := twoVersions([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	want := definition + `  - additionalPrinterColumns:
    - name: v1alpha1
    name: v1beta1
    schema:
      openAPIV3Schema: {type: object}
    served: true
    storage: false
`
	if diff := cmp.Diff(want, string(both)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}

	for name, wrong := range map[string]string{
		"it has both already":              string(both),
		"no versions":                      "spec: {}\n",
		"another version":                  strings.Replace(definition, "    name: v1alpha1\n    schema", "    name: v1\n    schema", 1),
		"one that is not stored":           strings.Replace(definition, "storage: true", "storage: false", 1),
		"something behind the versions":    definition + "status: {}\n",
		"something of spec behind as well": definition + "  x: 1\nmore: 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := twoVersions([]byte(wrong)); err == nil {
				t.Errorf("accepted:\n%s", got)
			}
		})
	}
}
