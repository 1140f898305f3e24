package shards

import (
	"cmp"
	"maps"
	"slices"
)

// share is how many of total shards a pod shall hold, given how many each pod that is there holds now. All shares
// together are total. What cannot be divided stays with those who hold most, so that a share moves no shard in vain.
func share(held map[string]int, pod string, total int) int {
	pods := slices.SortedFunc(maps.Keys(held), func(a, b string) int {
		if c := cmp.Compare(held[b], held[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	rank := slices.Index(pods, pod)
	if rank < 0 {
		return 0
	}
	n := total / len(pods)
	if rank < total%len(pods) {
		n++
	}
	return n
}
