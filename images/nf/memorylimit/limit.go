// Package memorylimit keeps a program within the memory that its container may have. free5GC's AMF
// allocates a buffer of 256 KiB for each NGAP message: when many UEs come at once, Go's garbage collector,
// which knows no limit by itself, lets the heap grow until the kernel takes the program's own pages away,
// and it stands still without being killed.
package memorylimit

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// Files of a container's limit, of control groups v2 and v1.
var Files = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// Respect has the garbage collector hold the program to nine tenths of the limit that the first readable
// file names, and returns that many bytes, or 0 where there is no limit. A GOMEMLIMIT of the environment
// is somebody's decision and stays.
func Respect(files []string) int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
		// "max" is no number; control groups v1 write the largest number of whole pages instead.
		if err != nil || limit <= 0 || limit > math.MaxInt64/2 {
			return 0
		}
		target := limit / 10 * 9
		debug.SetMemoryLimit(target)
		return target
	}
	return 0
}
