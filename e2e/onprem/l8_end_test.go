package onprem

import (
	"fmt"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// What the suite made goes, and every VF, CPU and hugepage is free again.
func TestEnd(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	m := s.manifests(nil)
	for _, manifest := range []string{m.ran, m.dataNetwork, m.slice, m.upf} {
		_, err := k.Input(ctx, manifest, "delete", "--ignore-not-found", "--wait", "--timeout=240s", "-f", "-")
		check(t, err)
	}
	check(t, cluster.Eventually(ctx, patience, func() error {
		all, err := servers(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			for _, c := range d.Status.Cells {
				if c.ExclusiveCPUs.Free != c.ExclusiveCPUs.Total {
					return fmt.Errorf("%s cell %d: %d of %d CPUs are free", d.Name, c.ID, c.ExclusiveCPUs.Free, c.ExclusiveCPUs.Total)
				}
				for _, i := range c.Interfaces {
					if i.ResourceName != "" && i.VFs.Free != i.VFs.Total {
						return fmt.Errorf("%s: %d of %d VFs are free", i.Name, i.VFs.Free, i.VFs.Total)
					}
				}
			}
		}
		return nil
	}))
	_, err := k.Input(ctx, m.probe, "delete", "--ignore-not-found", "-f", "-")
	check(t, err)
}
