package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Kubelet says how the kubelet is configured.
type Kubelet interface {
	Policies(ctx context.Context) (api.KubeletStatus, error)
}

// kubeletConfiguration is what matters here of the kubelet's KubeletConfiguration (kubelet.config.k8s.io/v1beta1).
type kubeletConfiguration struct {
	Kind                    string            `json:"kind"`
	CPUManagerPolicy        string            `json:"cpuManagerPolicy"`
	CPUManagerPolicyOptions map[string]string `json:"cpuManagerPolicyOptions"`
	TopologyManagerPolicy   string            `json:"topologyManagerPolicy"`
	TopologyManagerScope    string            `json:"topologyManagerScope"`
	MemoryManagerPolicy     string            `json:"memoryManagerPolicy"`
}

// status fills in what the kubelet does where nothing is written.
func (c kubeletConfiguration) status() api.KubeletStatus {
	or := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	return api.KubeletStatus{
		CPUManagerPolicy:      or(c.CPUManagerPolicy, "none"),
		CPUManagerOptions:     c.CPUManagerPolicyOptions,
		TopologyManagerPolicy: or(c.TopologyManagerPolicy, "none"),
		TopologyManagerScope:  or(c.TopologyManagerScope, "container"),
		MemoryManagerPolicy:   or(c.MemoryManagerPolicy, "None"),
	}
}

// ConfigFile reads the file that the kubelet's --config names and, where DropIns is not empty, the files of
// its --config-dir, each of which overrides those before it.
type ConfigFile struct {
	FS            fs.FS
	Path, DropIns string
}

// Policies reads the files anew.
func (f ConfigFile) Policies(context.Context) (api.KubeletStatus, error) {
	var c kubeletConfiguration
	names := []string{f.Path}
	if f.DropIns != "" {
		entries, err := fs.ReadDir(f.FS, f.DropIns)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return api.KubeletStatus{}, fmt.Errorf("the kubelet's configuration: %w", err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".conf") {
				names = append(names, path.Join(f.DropIns, e.Name()))
			}
		}
	}
	for _, name := range names {
		content, err := fs.ReadFile(f.FS, name)
		if err != nil {
			return api.KubeletStatus{}, fmt.Errorf("the kubelet's configuration: %w", err)
		}
		// What a file does not mention stays as it is.
		if err := yaml.Unmarshal(content, &c); err != nil {
			return api.KubeletStatus{}, fmt.Errorf("the kubelet's configuration %s: %w", name, err)
		}
		if c.Kind != "KubeletConfiguration" {
			return api.KubeletStatus{}, fmt.Errorf("%s is no kubelet configuration: its kind is %q, not KubeletConfiguration", name, c.Kind)
		}
	}
	return c.status(), nil
}

// Replaced says that the file was replaced by another of the same name. A mount of a single file in a container
// goes on showing the old one, whose name is gone; a new container shows the new one.
func (f ConfigFile) Replaced() bool {
	info, err := fs.Stat(f.FS, f.Path)
	if err != nil {
		return false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && stat.Nlink == 0
}

// Configz asks the kubelet for the configuration that it runs with, at its /configz. Get fetches that, from
// the kubelet or through the API server.
type Configz struct {
	Get func(ctx context.Context) ([]byte, error)
}

// Policies asks anew.
func (c Configz) Policies(ctx context.Context) (api.KubeletStatus, error) {
	content, err := c.Get(ctx)
	if err != nil {
		return api.KubeletStatus{}, fmt.Errorf("the kubelet's /configz: %w", err)
	}
	var answer struct {
		Config *kubeletConfiguration `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return api.KubeletStatus{}, fmt.Errorf("the kubelet's /configz: %w", err)
	}
	if answer.Config == nil {
		return api.KubeletStatus{}, errors.New("the kubelet's /configz has no kubeletconfig")
	}
	return answer.Config.status(), nil
}
