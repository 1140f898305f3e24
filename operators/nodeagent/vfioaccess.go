package nodeagent

import (
	"os"
	"regexp"

	"golang.org/x/sys/unix"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// ownership is how containerd and CRI-O write that a container's user owns its devices.
var ownership = regexp.MustCompile(`(?m)^\s*device_ownership_from_security_context\s*=\s*true\s*(#.*)?$`)

// ReadVFIOAccess says as whom pods may use virtual functions: by the container runtime's configuration file,
// and by the limit of locked memory, which a pod has from its runtime as the agent's own pod does. It is
// empty where there is no file to read.
func ReadVFIOAccess(runtimeConfig string) api.VFIOAccess {
	if runtimeConfig == "" {
		return ""
	}
	text, err := os.ReadFile(runtimeConfig)
	if err != nil {
		return ""
	}
	var memlock unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &memlock); err != nil {
		return ""
	}
	return vfioAccess(string(text), memlock.Cur)
}

func vfioAccess(runtimeConfig string, memlock uint64) api.VFIOAccess {
	if ownership.MatchString(runtimeConfig) && memlock == unix.RLIM_INFINITY {
		return api.VFIOAccessNonRoot
	}
	return api.VFIOAccessRoot
}
