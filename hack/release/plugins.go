package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const program = "kubectl-core5g"

// krewManifest is krew's Plugin, as far as it is needed.
type krewManifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// addPlugins packs kubectl-core5g for each platform that it was built for, and writes krew's manifest of them.
func (r *inputs) addPlugins(m *contents) error {
	programs, err := filepath.Glob(filepath.Join(r.built, "plugin", "*", program))
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return fmt.Errorf("no plugin/<os>-<arch>/%s below %s", program, r.built)
	}
	slices.Sort(programs)
	krew := krewManifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: map[string]string{"name": "core5g"},
		Spec: krewSpec{
			Version:          "v" + r.version,
			ShortDescription: "Operate a core5g 5G core",
			Description:      "Shows a core with what ails it, its sessions and nodes, drains UPF units, and packs a support bundle.\n",
		},
	}
	for _, path := range programs {
		folder := filepath.Base(filepath.Dir(path))
		p, err := platform(folder)
		if err != nil {
			return err
		}
		name := program + "-" + r.version + "-" + folder
		archive := name + ".tar.gz"
		if err := writeTarGz(filepath.Join(r.out, archive), []entry{
			{name: program, mode: 0o755, source: path},
			{name: "LICENSE", mode: 0o644, source: filepath.Join(r.source, "LICENSE")},
			{name: "NOTICE", mode: 0o644, source: filepath.Join(r.source, "NOTICE")},
		}); err != nil {
			return err
		}
		if err := r.copy(path+".cdx.json", "sbom/"+name+".cdx.json", 0o644); err != nil {
			return err
		}
		m.Plugins = append(m.Plugins, plugin{OS: p.OS, Arch: p.Architecture, Archive: archive})
		sum, _, err := digestOf(filepath.Join(r.out, archive))
		if err != nil {
			return err
		}
		k := krewPlatform{URI: r.address(archive), SHA256: sum, Bin: program}
		k.Selector.MatchLabels = map[string]string{"os": p.OS, "arch": p.Architecture}
		krew.Spec.Platforms = append(krew.Spec.Platforms, k)
	}
	text, err := yaml.Marshal(krew)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "core5g-krew.yaml"), text, 0o644)
}

// address is where a file will be. Without one krew takes the archive that it is given, by --archive.
func (r *inputs) address(name string) string {
	url := r.url
	if url == "" {
		url = "https://core5g.invalid/" + r.version
	}
	return strings.TrimSuffix(url, "/") + "/" + name
}
