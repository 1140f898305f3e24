package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"two stages":                  {"FROM golang AS build\nRUN go build\nFROM scratch\nCOPY --from=build /x /x\nENTRYPOINT [\"/x\"]\n", ""},
		"an unknown instruction":      {"FROM scratch\nCOPPY a b\n", "unknown instruction"},
		"a flag that there is not":    {"FROM scratch\nCOPY --form=build a b\n", "unknown flag"},
		"a stage that comes later":    {"FROM scratch\nCOPY --from=build /x /x\nFROM golang AS build\n", "no stage build before it"},
		"an instruction without FROM": {"RUN true\n", "no build stage"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "Dockerfile")
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			err := check(file)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
