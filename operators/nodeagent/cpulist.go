package nodeagent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds CPU numbers: the kernel has at most 8192.
const maxCPU = 8192

// CPUs are CPU numbers in ascending order, each once.
type CPUs []int

// ParseCPUs reads a list as the kernel writes it: 0-3,8,10-11. An empty text is an empty list.
func ParseCPUs(text string) (CPUs, error) {
	text = strings.TrimSpace(text)
	var out CPUs
	if text == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil || from < 0 {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", text)
		}
		to, err := strconv.Atoi(last)
		if err != nil || to < from || to >= maxCPU {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", text)
		}
		for cpu := from; cpu <= to; cpu++ {
			out = append(out, cpu)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// String writes the list as the kernel does.
func (c CPUs) String() string {
	var parts []string
	for i := 0; i < len(c); {
		j := i
		for j+1 < len(c) && c[j+1] == c[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(c[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", c[i], c[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// in counts the CPUs that are in the other list too.
func (c CPUs) in(other map[int]bool) int {
	n := 0
	for _, cpu := range c {
		if other[cpu] {
			n++
		}
	}
	return n
}
