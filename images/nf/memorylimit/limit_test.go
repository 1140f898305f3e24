package memorylimit

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestRespect(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for name, c := range map[string]struct {
		content, env string
		want         int64
	}{
		"a limit":                        {content: "536870912\n", want: 536870912 / 10 * 9},
		"none, in control groups v2":     {content: "max\n"},
		"none, in control groups v1":     {content: "9223372036854771712\n"},
		"somebody has decided":           {content: "536870912\n", env: "1GiB"},
		"what is there is no limit":      {content: "x"},
		"a limit of nothing is no limit": {content: "0\n"},
		"the machine has no such file":   {},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			t.Setenv("GOMEMLIMIT", c.env)
			file := filepath.Join(t.TempDir(), "limit")
			if c.content != "" {
				if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := Respect([]string{filepath.Join(t.TempDir(), "missing"), file})
			if got != c.want {
				t.Errorf("Respect says %d, want %d", got, c.want)
			}
			if in := debug.SetMemoryLimit(-1); c.want != 0 && in != c.want || c.want == 0 && in != math.MaxInt64 {
				t.Errorf("the limit in force is %d, want %d", in, c.want)
			}
		})
	}
}
