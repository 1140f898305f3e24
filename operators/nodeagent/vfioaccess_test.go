package nodeagent

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestVFIOAccess(t *testing.T) {
	const set = "[plugins.\"io.containerd.grpc.v1.cri\"]\n  device_ownership_from_security_context = true\n"
	for name, c := range map[string]struct {
		config  string
		memlock uint64
		want    api.VFIOAccess
	}{
		"devices are the user's and memory may be locked": {set, unix.RLIM_INFINITY, api.VFIOAccessNonRoot},
		"with a comment":           {"device_ownership_from_security_context=true # for vfio\n", unix.RLIM_INFINITY, api.VFIOAccessNonRoot},
		"locked memory is limited": {set, 8 << 20, api.VFIOAccessRoot},
		"devices are root's":       {"  device_ownership_from_security_context = false\n", unix.RLIM_INFINITY, api.VFIOAccessRoot},
		"commented out":            {"# device_ownership_from_security_context = true\n", unix.RLIM_INFINITY, api.VFIOAccessRoot},
		"nothing is said":          {"version = 2\n", unix.RLIM_INFINITY, api.VFIOAccessRoot},
	} {
		t.Run(name, func(t *testing.T) {
			if got := vfioAccess(c.config, c.memlock); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "config.toml")
	if got := ReadVFIOAccess(file); got != "" {
		t.Errorf("of a file that is not there: %q", got)
	}
	if err := os.WriteFile(file, []byte("version = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ReadVFIOAccess(file); got != api.VFIOAccessRoot {
		t.Errorf("of a file: %q", got)
	}
}
