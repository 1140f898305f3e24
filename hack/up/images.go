package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"core5g.dev/core5g/e2e/cluster"
)

// loaded remembers which image archives a cluster holds. It is bound to one cluster: a new one has
// nothing.
type loaded struct {
	path    string
	Cluster string            `json:"cluster"` // uid of kube-system
	Digests map[string]string `json:"digests"` // archive's name to SHA-256
}

func openLoaded(ctx context.Context, c *cluster.Cluster) (*loaded, error) {
	var system cluster.Object
	if err := c.JSON(ctx, &system, "get", "namespace", "kube-system"); err != nil {
		return nil, err
	}
	l := &loaded{path: loadedPath(os.Getenv("CORE5G_INSTANCE"))}
	data, err := os.ReadFile(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		// An unreadable record costs one more load, nothing else.
		_ = json.Unmarshal(data, l)
	}
	if l.Cluster != system.Metadata.UID || l.Digests == nil {
		l.Cluster, l.Digests = system.Metadata.UID, map[string]string{}
	}
	return l, nil
}

// loadedPath is where the record of a cluster is: clusters of several names stand side by side (hack/README.md).
func loadedPath(instance string) string {
	if instance != "" {
		instance = "-" + instance
	}
	return "out/loaded-images" + instance + ".json"
}

// changed returns the archives that the cluster does not hold in this form, and takes note of them.
func (l *loaded) changed(archives []string) ([]string, error) {
	var changed []string
	for _, archive := range archives {
		digest, err := fileDigest(archive)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(archive)
		if l.Digests[name] != digest {
			l.Digests[name] = digest
			changed = append(changed, archive)
		}
	}
	return changed, nil
}

func (l *loaded) save() error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.path, data, 0o644)
}

func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func command(ctx context.Context, log io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd.Run()
}
