package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

var ownInclude = regexp.MustCompile(`(?m)^#include "([^"]+/[^"]+)\.h"`)

// includes looks for circles among the units of upf-u. A unit is a header and the source file of its
// name; it leans on the units whose headers either of them includes.
func includes(t tree) (looked int, wrong []string) {
	leans := map[string][]string{}
	for _, f := range t.files {
		rest, ours := strings.CutPrefix(f.path, "upf/upfu/")
		ext := path.Ext(rest)
		if !ours || ext != ".c" && ext != ".h" {
			continue
		}
		unit := strings.TrimSuffix(rest, ext)
		leans[unit] = slices.Clip(leans[unit])
		for _, match := range ownInclude.FindAllStringSubmatch(string(f.content), -1) {
			if match[1] != unit {
				leans[unit] = append(leans[unit], match[1])
			}
		}
	}
	units := make([]string, 0, len(leans))
	for unit := range leans {
		slices.Sort(leans[unit])
		units = append(units, unit)
	}
	slices.Sort(units)
	done := map[string]bool{}
	var way []string
	var visit func(unit string)
	visit = func(unit string) {
		if at := slices.Index(way, unit); at >= 0 {
			wrong = append(wrong, fmt.Sprintf("upf/upfu/%s.h: a circle of includes: %s", unit, strings.Join(append(slices.Clone(way[at:]), unit), " > ")))
			return
		}
		if done[unit] {
			return
		}
		way = append(way, unit)
		for _, next := range slices.Compact(slices.Clone(leans[unit])) {
			visit(next)
		}
		way = way[:len(way)-1]
		done[unit] = true
	}
	for _, unit := range units {
		visit(unit)
	}
	return len(units), wrong
}
