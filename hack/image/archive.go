package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// created is the time of every file and of the image itself: builds at different times are equal.
var created = time.Unix(0, 0).UTC()

// writeLayer writes the tree as a tar archive.
func writeLayer(w io.Writer, t tree) error {
	tw := tar.NewWriter(w)
	for _, place := range t.places() {
		n := t[place]
		h := &tar.Header{
			Name:    strings.TrimPrefix(place, "/"),
			Mode:    n.mode,
			Uid:     n.owner.uid,
			Gid:     n.owner.gid,
			ModTime: created,
		}
		switch n.kind {
		case directory:
			h.Typeflag = tar.TypeDir
			h.Name += "/"
		case symlink:
			h.Typeflag = tar.TypeSymlink
			h.Linkname = n.target
		case regular:
			h.Typeflag = tar.TypeReg
			h.Size = n.size
		}
		if n.xattr != "" {
			h.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": n.xattr}
		}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		if n.kind != regular {
			continue
		}
		if err := copyContent(tw, n); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
	}
	return tw.Close()
}

func copyContent(w io.Writer, n node) error {
	if n.source == "" {
		_, err := io.WriteString(w, n.text)
		return err
	}
	f, err := os.Open(n.source)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// imageConfig is the part of the OCI image configuration that runtimes read.
type imageConfig struct {
	Architecture string        `json:"architecture"`
	OS           string        `json:"os"`
	Created      time.Time     `json:"created"`
	Config       runConfig     `json:"config"`
	RootFS       rootFS        `json:"rootfs"`
	History      []historyItem `json:"history"`
}

type runConfig struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type historyItem struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// manifestItem is an entry of manifest.json, by which `docker load` finds the parts of an archive.
type manifestItem struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeArchive writes what `docker save reference` would.
func writeArchive(w io.Writer, r *recipe, reference, arch string, layer *os.File) error {
	hash := sha256.New()
	size, err := io.Copy(hash, layer)
	if err != nil {
		return err
	}
	layerID := hex.EncodeToString(hash.Sum(nil))
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}

	config, err := json.Marshal(imageConfig{
		Architecture: arch,
		OS:           "linux",
		Created:      created,
		Config: runConfig{
			User: r.User, Env: environment(r.Env), Entrypoint: r.Entrypoint, Cmd: r.Cmd,
			WorkingDir: r.Workdir, Labels: r.Labels,
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{"sha256:" + layerID}},
		History: []historyItem{{Created: created, CreatedBy: "core5g image"}},
	})
	if err != nil {
		return err
	}
	configName := fmt.Sprintf("%x.json", sha256.Sum256(config))
	layerName := layerID + ".tar"
	manifest, err := json.Marshal([]manifestItem{{
		Config: configName, RepoTags: []string{reference}, Layers: []string{layerName},
	}})
	if err != nil {
		return err
	}

	tw := tar.NewWriter(w)
	for _, part := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{"manifest.json", int64(len(manifest)), strings.NewReader(string(manifest))},
		{configName, int64(len(config)), strings.NewReader(string(config))},
		{layerName, size, layer},
	} {
		h := &tar.Header{Name: part.name, Mode: 0o644, Size: part.size, ModTime: created, Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(tw, part.from); err != nil {
			return err
		}
	}
	return tw.Close()
}

func environment(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		list = append(list, key+"="+env[key])
	}
	return list
}
