package subscription

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// File is Objects from a YAML file of manifests: one Core5G, and its Slices, Subscribers and Secrets, as
// kubectl apply would take them. It serves the core where there is no Kubernetes.
type File struct {
	path    string
	content atomic.Pointer[fileContent]
	listeners
}

type fileContent struct {
	core        *v1alpha1.Core5G
	slices      []v1alpha1.Slice
	subscribers map[string]*v1alpha1.Subscriber
	secrets     map[string]map[string][]byte
}

// OpenFile reads the file.
func OpenFile(path string) (*File, error) {
	f := &File{path: path}
	if err := f.reload(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) reload() error {
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	content, err := parseManifests(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.content.Store(content)
	return nil
}

// Watch takes over every change of the file until ctx ends. A file that cannot be read leaves the last
// good content in force.
func (f *File) Watch(ctx context.Context, log *slog.Logger) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	// The directory, because editors and mounted ConfigMaps replace the file.
	if err := w.Add(filepath.Dir(f.path)); err != nil {
		return err
	}
	// What changed between OpenFile and now raised no event.
	f.takeOver(log)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err, ok := <-w.Errors:
			if !ok {
				return nil
			}
			log.Warn("watching the subscribers file", "error", err)
		case _, ok := <-w.Events:
			if !ok {
				return nil
			}
			f.takeOver(log)
		}
	}
}

func (f *File) takeOver(log *slog.Logger) {
	if err := f.reload(); err != nil {
		log.Warn("the subscribers file is left as it was", "error", err)
		return
	}
	f.tell("")
}

func parseManifests(raw []byte) (*fileContent, error) {
	c := &fileContent{
		subscribers: make(map[string]*v1alpha1.Subscriber),
		secrets:     make(map[string]map[string][]byte),
	}
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	for n := 1; ; n++ {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		if err := c.add(doc); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
	if c.core == nil {
		return nil, errors.New("it holds no Core5G")
	}
	return c, nil
}

func (c *fileContent) add(doc []byte) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &meta); err != nil {
		return errors.New("it is not YAML")
	}
	switch meta.Kind {
	case "Core5G":
		o := new(v1alpha1.Core5G)
		if err := yaml.UnmarshalStrict(doc, o); err != nil {
			return err
		}
		if c.core != nil {
			return errors.New("a second Core5G: keep one")
		}
		c.core = o
	case "Slice":
		var o v1alpha1.Slice
		if err := yaml.UnmarshalStrict(doc, &o); err != nil {
			return err
		}
		c.slices = append(c.slices, o)
	case "Subscriber":
		o := new(v1alpha1.Subscriber)
		if err := yaml.UnmarshalStrict(doc, o); err != nil {
			return err
		}
		if _, twice := c.subscribers[o.Spec.SUPI]; twice {
			return fmt.Errorf("a second Subscriber with SUPI %s", o.Spec.SUPI)
		}
		c.subscribers[o.Spec.SUPI] = o
	case "Secret":
		var o corev1.Secret
		// An error of the parser could quote the line, and with it a key.
		if err := yaml.UnmarshalStrict(doc, &o); err != nil {
			return errors.New("the Secret cannot be read")
		}
		data := make(map[string][]byte)
		for k, v := range o.Data {
			data[k] = v
		}
		for k, v := range o.StringData {
			data[k] = []byte(v)
		}
		c.secrets[o.Name] = data
	case "UPFInstance", "Namespace":
		// Manifests of a whole core may hold more than is served here.
	default:
		return fmt.Errorf("unexpected kind %q: write Core5G, Slice, Subscriber or Secret", meta.Kind)
	}
	return nil
}

// Core5G implements Objects.
func (f *File) Core5G(context.Context) (*v1alpha1.Core5G, error) { return f.content.Load().core, nil }

// Slices implements Objects.
func (f *File) Slices(context.Context) ([]v1alpha1.Slice, error) { return f.content.Load().slices, nil }

// Subscriber implements Objects.
func (f *File) Subscriber(_ context.Context, supi string) (*v1alpha1.Subscriber, error) {
	if s, ok := f.content.Load().subscribers[supi]; ok {
		return s, nil
	}
	return nil, ErrUnknownSubscriber
}

// Secret implements Objects.
func (f *File) Secret(_ context.Context, name string) (map[string][]byte, error) {
	if s, ok := f.content.Load().secrets[name]; ok {
		return s, nil
	}
	return nil, ErrNotFound
}
