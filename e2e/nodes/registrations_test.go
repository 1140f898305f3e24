package nodes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		c := come(t.Context(), func(_ context.Context, _ any, args ...string) error {
			told = append(told, strings.Join(args[:3], " "))
			switch {
			case args[0] == "register" && args[2] == "b":
				return errors.New("N2 lost")
			case args[0] == "status" && args[2] == "b":
				time.Sleep(10 * time.Second)
			case args[0] == "status" && args[2] == "c":
				time.Sleep(attachLimit)
				return errors.New("not ready")
			default:
				time.Sleep(time.Second)
			}
			return nil
		}, []string{"a", "b", "c"})
		time.Sleep(15*time.Second + attachLimit)
		c.end()
		made, longest, failed := c.so()
		if made != 2 || longest != 10*time.Second || len(failed) != 1 || !strings.Contains(failed[0], "c has no PDU session after 2m31s: not ready") {
			t.Errorf("%d made, longest %s, failed %q", made, longest, failed)
		}
		want := []string{
			"register --ue a", "status --ue a", "deregister --ue a", "register --ue b", "status --ue b", "deregister --ue b",
			"register --ue c", "status --ue c", "deregister --ue c",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
