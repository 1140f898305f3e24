package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// builtImages lists the archives below built/images by the name of the image, each with its platforms in order.
func builtImages(built string) (map[string][]string, error) {
	archives, err := filepath.Glob(filepath.Join(built, "images", "*", "*.tar"))
	if err != nil {
		return nil, err
	}
	if len(archives) == 0 {
		return nil, fmt.Errorf("no images/<os>-<arch>/<name>.tar below %s", built)
	}
	slices.Sort(archives)
	found := map[string][]string{}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar")
		found[name] = append(found[name], filepath.Base(filepath.Dir(archive)))
	}
	return found, nil
}

// platform reads linux-amd64.
func platform(folder string) (v1.Platform, error) {
	system, arch, ok := strings.Cut(folder, "-")
	if !ok || system == "" || arch == "" {
		return v1.Platform{}, fmt.Errorf("%q is no platform: want <os>-<arch>", folder)
	}
	return v1.Platform{OS: system, Architecture: arch}, nil
}

// ociImage turns an archive of `docker save` into an image of OCI's types: layers and configuration stay as they are.
func ociImage(archive string) (v1.Image, error) {
	docker, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return nil, err
	}
	config, err := docker.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := docker.Layers()
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range layers {
		compressed, err := tarball.LayerFromOpener(layer.Uncompressed, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: compressed, MediaType: types.OCILayer}); err != nil {
			return nil, err
		}
	}
	made, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.RootFS = made.RootFS
	return mutate.ConfigFile(image, config)
}

// plain is an image whose entry in an index has no artifactType, which an image needs not and skopeo 1.9 (Debian 12)
// refuses to copy by its digest.
type plain struct{ v1.Image }

func (p plain) Descriptor() (*v1.Descriptor, error) {
	d, err := partial.Descriptor(p.Image)
	if err != nil {
		return nil, err
	}
	d.ArtifactType = ""
	return d, nil
}

// writeImage writes the OCI archive of one image with all its platforms, and tells the index's digest: what a registry
// knows it by.
func writeImage(built, name string, platforms []string, version, archive string) (digest string, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, folder := range platforms {
		p, err := platform(folder)
		if err != nil {
			return "", err
		}
		img, err := ociImage(filepath.Join(built, "images", folder, name+".tar"))
		if err != nil {
			return "", fmt.Errorf("%s for %s: %w", name, folder, err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			return "", err
		}
		if config.OS != p.OS || config.Architecture != p.Architecture {
			return "", fmt.Errorf("%s in %s is for %s/%s", name, folder, config.OS, config.Architecture)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: plain{img}, Descriptor: v1.Descriptor{Platform: &p}})
	}
	annotated, ok := mutate.Annotations(index, map[string]string{
		"org.opencontainers.image.title":   "core5g/" + name,
		"org.opencontainers.image.version": version,
	}).(v1.ImageIndex)
	if !ok {
		return "", errors.New("an index with annotations is no index")
	}

	folder, err := os.MkdirTemp(filepath.Dir(built), ".layout-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return "", err
	}
	// skopeo and oras find it by the first name, containerd by the second.
	if err := path.AppendIndex(annotated, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version,
		"io.containerd.image.name":          "core5g/" + name + ":" + version,
	})); err != nil {
		return "", err
	}
	entries, err := entriesOf(folder, "")
	if err != nil {
		return "", err
	}
	// All are data: what mode the library gives them is its own affair.
	for i := range entries {
		entries[i].mode = 0o644
	}
	if err := writeTarFile(archive, entries); err != nil {
		return "", err
	}
	hash, err := annotated.Digest()
	return hash.String(), err
}
