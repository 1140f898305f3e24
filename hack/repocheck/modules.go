package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// sharesClient is what the modules have in common of which one cache is to have enough.
const sharesClient = "k8s.io/client-go"

// versionsOfItsOwn are modules that a program needs in another version than core5g, by the folder of its go.mod.
var versionsOfItsOwn = map[string][]string{
	"hack/policies": {"github.com/coreos/go-iptables", "github.com/vishvananda/netlink", "github.com/vishvananda/netns"},
}

// modules that have the same client-go have the same of all else, too: what they share is then compiled once.
func modules(t tree) (looked int, wrong []string) {
	all := map[string]map[string]string{} // versions of modules, by folder
	for _, f := range t.files {
		if filepath.Base(f.path) != "go.mod" {
			continue
		}
		needs, err := required(f)
		if err != nil {
			looked, wrong = looked+1, append(wrong, err.Error())
			continue
		}
		all[filepath.ToSlash(filepath.Dir(f.path))] = needs
	}
	ours := all["."]
	if ours[sharesClient] == "" {
		return looked, wrong
	}
	at := map[string]map[string]string{} // folders, by module and version
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		if all[folder][sharesClient] != ours[sharesClient] {
			continue
		}
		for module, version := range all[folder] {
			if slices.Contains(versionsOfItsOwn[folder], module) {
				continue
			}
			if at[module] == nil {
				at[module] = map[string]string{}
			}
			if at[module][version] == "" {
				at[module][version] = folder
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(at)) {
		looked++
		if len(at[module]) == 1 {
			continue
		}
		var which []string
		for _, version := range slices.Sorted(maps.Keys(at[module])) {
			which = append(which, fmt.Sprintf("%s in %s", version, filepath.ToSlash(filepath.Join(at[module][version], "go.mod"))))
		}
		wrong = append(wrong, fmt.Sprintf("%s: %s: write one version, so that what needs it is compiled once", module, strings.Join(which, ", ")))
	}
	return looked, wrong
}

// required modules of a go.mod and their versions, but for those that are replaced by something else.
func required(f file) (map[string]string, error) {
	parsed, err := modfile.Parse(f.path, f.content, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range parsed.Require {
		out[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range parsed.Replace {
		if delete(out, r.Old.Path); r.New.Path == r.Old.Path {
			out[r.Old.Path] = r.New.Version
		}
	}
	return out, nil
}
