package admission

import (
	"fmt"
	"slices"
	"strings"
)

// shown bounds how many names a warning holds: the API server cuts long ones.
const shown = 5

func counted(n int, kind string) string {
	if n == 1 {
		return "1 " + kind
	}
	return fmt.Sprintf("%d %ss", n, kind)
}

// some of the names, in their order.
func some(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
