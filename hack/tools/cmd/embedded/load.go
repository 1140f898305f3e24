package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// load imports image archives, as `docker save` writes them or of a release (OCI), into all nodes. One that is off gets them when it is on and they are
// loaded again.
func (s *settings) load(ctx context.Context, archives []string) error {
	if !s.running() {
		return errors.New("no cluster is up; `hack/cluster.sh up` makes one")
	}
	nodes, err := s.all()
	if err != nil {
		return err
	}
	for _, f := range nodes {
		if !f.running() {
			step("node %s is off: no image loaded", f.name())
			continue
		}
		if err := f.loadHere(ctx, archives); err != nil {
			return fmt.Errorf("node %s: %w", f.name(), err)
		}
	}
	return nil
}

// loadHere imports archives into a node. An archive that the node has is passed over.
func (s *settings) loadHere(ctx context.Context, archives []string) error {
	if len(archives) == 0 {
		return nil
	}
	loaded := 0
	for _, archive := range archives {
		held, err := identify(archive)
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		note := filepath.Join("images", strings.TrimSuffix(filepath.Base(archive), ".tar"))
		if old, err := os.ReadFile(s.path(note)); err == nil && string(old) == held.identity && s.managed(held.references) == nil {
			continue
		}
		if err := s.importArchive(archive, held); err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		// A pod made before the kubelet's view of images has followed would try to pull.
		if err := untilFor(ctx, settleTime, func() error { return s.managed(held.references) }); err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if err := s.write([]byte(held.identity), 0o644, note); err != nil {
			return err
		}
		loaded++
	}
	step("node %s: %d images loaded, %d there already", s.name(), loaded, len(archives)-loaded)
	return nil
}

func (s *settings) importArchive(archive string, held holding) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	ctr := []string{"ctr", "--namespace", "k8s.io", "images"}
	args := append(slices.Clone(ctr), "import")
	if held.repository != "" {
		// Pods that ask for a digest find the image by this name alone.
		args = append(args, "--digests", "--base-name", held.repository)
	}
	if out, err := s.inSandbox(f, append(args, "-")...).CombinedOutput(); err != nil {
		return fmt.Errorf("ctr images import: %w: %s", err, out)
	}
	if held.short == "" {
		return nil
	}
	for _, args := range [][]string{{"tag", "--force", held.short, fullReference(held.short)}, {"rm", held.short}} {
		if out, err := s.inSandbox(nil, append(slices.Clone(ctr), args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ctr images %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// managed says which of the references the kubelet cannot see yet.
func (s *settings) managed(references []string) error {
	out, err := s.inSandbox(nil, "ctr", "--namespace", "k8s.io", "images", "ls").Output()
	if err != nil {
		return fmt.Errorf("ctr images ls: %w", err)
	}
	for _, reference := range references {
		found := false
		for line := range strings.Lines(string(out)) {
			name, rest, _ := strings.Cut(line, " ")
			found = found || (name == reference && strings.Contains(rest, "io.cri-containerd.image=managed"))
		}
		if !found {
			return errors.New("containerd does not offer " + reference)
		}
	}
	return nil
}

// holding is what an archive has for containerd.
type holding struct {
	references []string // what pods may ask for, as containerd writes it
	identity   string   // a text that differs between images that differ
	// Of an OCI archive: the repository that its digest is asked for in, and the name that containerd takes from the archive where
	// that is not its full one, which no pod would find.
	repository, short string
}

// identify reads what an archive has: of `docker save`, or an OCI layout as a release has it.
func identify(archive string) (holding, error) {
	f, err := os.Open(archive)
	if err != nil {
		return holding{}, err
	}
	defer f.Close()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return holding{}, errors.New("no manifest.json or index.json in it: not an image archive")
		}
		if err != nil {
			return holding{}, err
		}
		if h.Name != "manifest.json" && h.Name != "index.json" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(tr, 1<<20))
		if err != nil {
			return holding{}, err
		}
		var held holding
		if h.Name == "index.json" {
			held, err = parseIndex(text)
		} else {
			held.references, err = parseManifest(text)
		}
		held.identity = fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSpace(text)))
		return held, err
	}
}

// parseIndex reads an OCI layout of one image, which says there what containerd shall call it.
func parseIndex(text []byte) (holding, error) {
	var index struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return holding{}, fmt.Errorf("index.json: %w", err)
	}
	if len(index.Manifests) != 1 {
		return holding{}, fmt.Errorf("index.json: %d images, want one", len(index.Manifests))
	}
	image := index.Manifests[0]
	name := image.Annotations["io.containerd.image.name"]
	full := fullReference(name)
	colon := strings.LastIndex(full, ":")
	if colon < strings.LastIndex(full, "/") || strings.Contains(name, "@") {
		return holding{}, fmt.Errorf("index.json: io.containerd.image.name is %q: want a name and a tag", name)
	}
	held := holding{repository: full[:colon]}
	held.references = []string{full, held.repository + "@" + image.Digest}
	if name != full {
		held.short = name
	}
	return held, nil
}

func parseManifest(text []byte) ([]string, error) {
	var items []struct{ RepoTags []string }
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	var references []string
	for _, item := range items {
		for _, tag := range item.RepoTags {
			references = append(references, fullReference(tag))
		}
	}
	if len(references) == 0 {
		return nil, errors.New("manifest.json: the images have no names")
	}
	return references, nil
}

// fullReference writes a short name out as containerd does: core5g/amf:dev is
// docker.io/core5g/amf:dev, and amf:dev docker.io/library/amf:dev.
func fullReference(tag string) string {
	first, _, slash := strings.Cut(tag, "/")
	switch {
	case !slash:
		return "docker.io/library/" + tag
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return tag
	default:
		return "docker.io/" + tag
	}
}
