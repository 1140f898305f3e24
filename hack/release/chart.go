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

// The charts of a release, by their folders under charts/.
const (
	coreChart     = "core5g"
	operatorChart = "core5g-operator"
	upfChart      = "core5g-upf"
)

// archiveOf is the file that a chart is packaged in.
func (r *inputs) archiveOf(chart string) string { return chart + "-" + r.version + ".tgz" }

// writeCharts packages the charts of the sources as a version, with their images by digest. Links from one chart to another are followed, so that
// a packaged chart stands alone.
func (r *inputs) writeCharts(digests map[string]map[string]string) error {
	work, err := os.MkdirTemp(filepath.Dir(r.built), ".charts-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	charts := filepath.Join(work, "charts")
	if err := os.CopyFS(charts, os.DirFS(filepath.Join(r.source, "charts"))); err != nil {
		return err
	}
	for _, name := range []string{coreChart, operatorChart} { // a UPFInstance has the images of its core
		values := filepath.Join(charts, name, "values.yaml")
		text, err := os.ReadFile(values)
		if err != nil {
			return err
		}
		released, err := releaseValues(string(text), r.version, digests)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(values, []byte(released), 0o644); err != nil {
			return err
		}
	}
	for _, name := range []string{coreChart, operatorChart, upfChart} {
		if err := r.packageChart(filepath.Join(charts, name), work); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// packageChart packages a folder. Helm decides what belongs into a chart and refuses what is none; its archives hold the time.
func (r *inputs) packageChart(folder, work string) error {
	cmd := exec.Command(r.helm, "package", folder, "--version", r.version, "--app-version", r.version, "--destination", work)
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+work, "HELM_CACHE_HOME="+work, "HELM_DATA_HOME="+work, "HELM_PLUGINS="+work)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm package: %w: %s", err, bytes.TrimSpace(said))
	}
	archive := r.archiveOf(filepath.Base(folder))
	entries, err := readTarGz(filepath.Join(work, archive))
	if err != nil {
		return err
	}
	return writeTarGz(filepath.Join(r.out, archive), entries)
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

// readChart reads one that has the operator in it.
func readChart(path, name string) (*chartOf, error) {
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
	if err := readEntries(path, map[string]any{
		name + "/Chart.yaml":                         &c,
		name + "/values.yaml":                        &values,
		name + "/files/crds/core5g.dev_core5gs.yaml": &definition,
	}); err != nil {
		return nil, err
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

// readEntries reads files of an archive, all of which it has to have.
func readEntries(path string, into map[string]any) error {
	entries, err := readTarGz(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if to := into[e.name]; to != nil {
			if err := yaml.Unmarshal(e.text, to); err != nil {
				return fmt.Errorf("%s: %s: %w", path, e.name, err)
			}
			delete(into, e.name)
		}
	}
	if len(into) > 0 {
		return fmt.Errorf("%s lacks %s", path, strings.Join(slices.Sorted(maps.Keys(into)), ", "))
	}
	return nil
}
