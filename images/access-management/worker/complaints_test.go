package worker

import (
	"fmt"
	"log/slog"
	"testing"
	"time"
)

func TestComplaints(t *testing.T) {
	var c complaints
	now := time.Unix(1_800_000_000, 0)
	away, refused := complaint{"the UDM does not take the AMF", "unsent"}, complaint{"the UDM does not take the AMF", "UNKNOWN_5GS_SUBSCRIPTION"}
	for n, x := range []struct {
		of    complaint
		later time.Duration
		level slog.Level
		more  int
	}{
		{away, 0, slog.LevelWarn, 0},
		{away, time.Second, slog.LevelDebug, 0},
		{away, time.Second, slog.LevelDebug, 0},
		{refused, 0, slog.LevelWarn, 0}, // another cause
		{away, complainEvery, slog.LevelWarn, 2},
		{away, complainEvery, slog.LevelWarn, 0},
	} {
		now = now.Add(x.later)
		if level, more := c.about(now, x.of); level != x.level || more != x.more {
			t.Errorf("%d: level %v, %d more, want %v, %d", n, level, more, x.level, x.more)
		}
	}
	for n := range 3 * mostCauses {
		c.about(now, complaint{"the UDM", fmt.Sprint(n)})
	}
	if len(c.made) > mostCauses+1 {
		t.Errorf("%d causes are told apart", len(c.made))
	}
}
