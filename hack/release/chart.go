package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// The lines of values.yaml that a release's chart has otherwise.
const (
	tagLine     = "\n  tag: dev\n"
	digestsLine = "\n  digests: {}\n"
)

// releaseValues writes the version and the digests into the chart's values, comments and all.
func releaseValues(text, version string, digests map[string]map[string]string) (string, error) {
	for _, line := range []string{tagLine, digestsLine} {
		if strings.Count(text, line) != 1 {
			return "", fmt.Errorf("values.yaml has not one line %q of images", strings.TrimSpace(line))
		}
	}
	var w strings.Builder
	w.WriteString("\n  digests:\n")
	for _, tag := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(&w, "    %q:\n", tag)
		for _, name := range slices.Sorted(maps.Keys(digests[tag])) {
			fmt.Fprintf(&w, "      %s: %q\n", name, digests[tag][name])
		}
	}
	text = strings.Replace(text, tagLine, fmt.Sprintf("\n  tag: %q\n", version), 1)
	return strings.Replace(text, digestsLine, w.String(), 1), nil
}

// writeChart packages the chart of the sources as a version, with its images by digest.
func (r *inputs) writeChart(digests map[string]map[string]string, archive string) error {
	work, err := os.MkdirTemp(filepath.Dir(r.built), ".chart-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	chart := filepath.Join(work, "core5g")
	if err := os.CopyFS(chart, os.DirFS(filepath.Join(r.source, "charts", "core5g"))); err != nil {
		return err
	}
	values := filepath.Join(chart, "values.yaml")
	text, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	released, err := releaseValues(string(text), r.version, digests)
	if err != nil {
		return err
	}
	if err := os.WriteFile(values, []byte(released), 0o644); err != nil {
		return err
	}
	// Helm decides what belongs into a chart and refuses what is none; its archives hold the time.
	cmd := exec.Command(r.helm, "package", chart, "--version", r.version, "--app-version", r.version, "--destination", work)
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+work, "HELM_CACHE_HOME="+work, "HELM_DATA_HOME="+work, "HELM_PLUGINS="+work)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm package: %w: %s", err, bytes.TrimSpace(said))
	}
	entries, err := readTarGz(filepath.Join(work, "core5g-"+r.version+".tgz"))
	if err != nil {
		return err
	}
	return writeTarGz(archive, entries)
}

// readTarGz reads the files of an archive into memory.
func readTarGz(path string) ([]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []entry
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, h.Name, err)
		}
		all = append(all, entry{name: h.Name, mode: h.Mode & 0o777, text: text})
	}
}

// chartOf is what a packaged chart says of itself and of images.
type chartOf struct {
	Version, AppVersion string
	Tag                 string
	Digests             map[string]map[string]string
	// Functions are the images that a Core5G can have pods of.
	Functions []string
}

// imageOf the functions that are not called as their image is, as specs.Platform.Image has it.
var imageOf = map[string]string{"n2-terminator": "access-management"}

func readChart(path string) (*chartOf, error) {
	entries, err := readTarGz(path)
	if err != nil {
		return nil, err
	}
	var c chartOf
	var values struct {
		Images struct {
			Tag     string
			Digests map[string]map[string]string
		}
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct {
							Spec struct {
								Properties struct {
									Functions struct {
										Items struct {
											Properties struct {
												Name struct{ Enum []string }
											}
										}
									}
								}
							}
						}
					} `json:"openAPIV3Schema"`
				}
			}
		}
	}
	into := map[string]any{
		"core5g/Chart.yaml":                         &c,
		"core5g/values.yaml":                        &values,
		"core5g/files/crds/core5g.dev_core5gs.yaml": &definition,
	}
	for _, e := range entries {
		if to := into[e.name]; to != nil {
			if err := yaml.Unmarshal(e.text, to); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, e.name, err)
			}
			delete(into, e.name)
		}
	}
	if len(into) > 0 {
		return nil, fmt.Errorf("%s lacks %s", path, strings.Join(slices.Sorted(maps.Keys(into)), ", "))
	}
	c.Tag, c.Digests = values.Images.Tag, values.Images.Digests
	for _, v := range definition.Spec.Versions {
		for _, name := range v.Schema.OpenAPIV3Schema.Properties.Spec.Properties.Functions.Items.Properties.Name.Enum {
			c.Functions = append(c.Functions, cmp.Or(imageOf[name], name))
		}
	}
	slices.Sort(c.Functions)
	c.Functions = slices.Compact(c.Functions)
	if len(c.Functions) == 0 {
		return nil, fmt.Errorf("%s: the definition of Core5G names no functions", path)
	}
	return &c, nil
}
