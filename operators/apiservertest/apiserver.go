// Package apiservertest starts a Kubernetes API server for a test, and hears what it warns of.
package apiservertest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"core5g.dev/core5g/hack/repository"
)

// named is how `make integration` chooses tests, by INTEGRATION of the Makefile. Those that start an API server run there alone: a short run leaves them out.
var named = regexp.MustCompile(`Integration|Envtest`)

// Start one with the project's kinds, until the test is over; with -short, and where it is not built, the test is skipped. change is what else it is to have.
func Start(t *testing.T, change func(*envtest.Environment)) (*envtest.Environment, *rest.Config) {
	t.Helper()
	if !named.MatchString(t.Name()) {
		t.Fatalf("%s runs nowhere: `make unit` is short, and `make integration` runs what has %s in its name", t.Name(), named)
	}
	if testing.Short() {
		t.Skip("an API server is started: not with -short")
	}
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = repository.Path(t, "out", "bin", "envtest")
	}
	if _, err := os.Stat(filepath.Join(assets, "kube-apiserver")); err != nil {
		t.Skipf("no kube-apiserver in %s: run `make tools`, or set KUBEBUILDER_ASSETS", assets)
	}
	assets, err := filepath.Abs(assets)
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{
		ControlPlaneStartTimeout: 2 * time.Minute, // of a busy machine
		BinaryAssetsDirectory:    assets,
		CRDDirectoryPaths:        []string{repository.Path(t, "operators", "config", "crd")},
		ErrorIfCRDPathMissing:    true,
	}
	if change != nil {
		change(env)
	}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Log(err)
		}
	})
	return env, config
}

// Warnings of an API server: a rest.WarningHandlerWithContext.
type Warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

// Take those that have come since, a line each.
func (w *Warnings) Take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.all = nil }()
	return strings.Join(w.all, "\n")
}
