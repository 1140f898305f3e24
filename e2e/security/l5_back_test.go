package security

import (
	"maps"
	"os"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/scene"
)

// The way back leaves the UPF alone too, and no certificate of cert-manager's behind.
func TestReleaseGoesBack(t *testing.T) {
	ctx := story(t, 6*time.Minute)
	if os.Getenv("CORE5G_KEEP") != "" {
		t.Skip("CORE5G_KEEP is set")
	}
	upf := scene.Must[map[string]string](t)(running(ctx, ",app.kubernetes.io/component=upf"))
	check(t, restore(ctx))
	if now := scene.Must[map[string]string](t)(running(ctx, ",app.kubernetes.io/component=upf")); !maps.Equal(now, upf) {
		t.Errorf("the UPF was restarted: %v, was %v", now, upf)
	}
	check(t, comesAnew(ctx))
}
