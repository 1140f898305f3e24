package release

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Files are those of a release, in the folder that `make release` has made.
type Files struct {
	Folder string `json:"-"`

	Version string
	Commit  string
	Chart   string // a file of Folder
	Images  []Image
}

// Image is one of the release, by the digest of its list of platforms.
type Image struct {
	Name    string
	Archive string // a file of the folder
	Digest  string
}

// Open reads what a release says of itself, in manifest.json.
func Open(folder string) (*Files, error) {
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("no release in %s: %w", folder, err)
	}
	f := &Files{Folder: folder}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s/manifest.json: %w", folder, err)
	}
	if f.Version == "" || f.Chart == "" || len(f.Images) == 0 {
		return nil, fmt.Errorf("%s/manifest.json names no version, no chart or no image", folder)
	}
	return f, nil
}

// Archives are the paths of all images.
func (f *Files) Archives() []string {
	var paths []string
	for _, i := range f.Images {
		paths = append(paths, filepath.Join(f.Folder, i.Archive))
	}
	return paths
}

// Digests are those of all images by name.
func (f *Files) Digests() map[string]string {
	digests := map[string]string{}
	for _, i := range f.Images {
		digests[i.Name] = i.Digest
	}
	return digests
}

// Is says why a container's image is not one of this release, by its digest.
func (f *Files) Is(image string) error {
	path, digest, _ := strings.Cut(image, "@")
	name, tag, _ := strings.Cut(path[strings.LastIndex(path, "/")+1:], ":")
	want, known := f.Digests()[name]
	if !known {
		return fmt.Errorf("%s: release %s has no image %s", image, f.Version, name)
	}
	if tag != f.Version || digest != want {
		return fmt.Errorf("%s is not %s:%s@%s", image, name, f.Version, want)
	}
	return nil
}
