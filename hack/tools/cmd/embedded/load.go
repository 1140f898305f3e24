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
	"strings"
)

// load imports image archives, as `docker save` writes them, into all nodes. One that is off gets them when it is on and they are
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
		references, identity, err := identify(archive)
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		note := filepath.Join("images", strings.TrimSuffix(filepath.Base(archive), ".tar"))
		if old, err := os.ReadFile(s.path(note)); err == nil && string(old) == identity && s.managed(references) == nil {
			continue
		}
		if err := s.importArchive(archive); err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		// A pod made before the kubelet's view of images has followed would try to pull.
		if err := untilFor(ctx, settleTime, func() error { return s.managed(references) }); err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if err := s.write([]byte(identity), 0o644, note); err != nil {
			return err
		}
		loaded++
	}
	step("node %s: %d images loaded, %d there already", s.name(), loaded, len(archives)-loaded)
	return nil
}

func (s *settings) importArchive(archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := s.inSandbox(f, "ctr", "--namespace", "k8s.io", "images", "import", "-").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr images import: %w: %s", err, out)
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

// identify reads which references an archive gives to its images, and a text that differs between
// images that differ.
func identify(archive string) (references []string, identity string, err error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, "", errors.New("no manifest.json in it: not an image archive")
		}
		if err != nil {
			return nil, "", err
		}
		if h.Name != "manifest.json" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(tr, 1<<20))
		if err != nil {
			return nil, "", err
		}
		references, err := parseManifest(text)
		return references, fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSpace(text))), err
	}
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
