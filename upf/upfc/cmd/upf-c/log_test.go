package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/config"
)

func TestLogIsBounded(t *testing.T) {
	var out bytes.Buffer
	log := logger(&out, config.Log{Level: slog.LevelInfo, Format: "text"})
	now := time.Unix(0, 0)
	log.Handler().(*limiter).said.now = func() time.Time { return now }
	count := func(text string) int { return strings.Count(out.String(), text) }

	for range 1000 {
		log.With("node", "smf").Warn("request rejected")
	}
	log.Warn("something else")
	if n := count("request rejected"); n != logsPerSecond {
		t.Errorf("%d of 1000 in one moment, want %d", n, logsPerSecond)
	}
	if count("something else") != 1 {
		t.Error("one message keeps another")
	}
	now = now.Add(time.Second)
	log.Warn("request rejected", "seid", "0x1")
	if count("seid=0x1 suppressed=980\n") != 1 {
		t.Errorf("a second later: %s", out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:])
	}
	now = now.Add(time.Second)
	log.Warn("request rejected", "seid", "0x2")
	if count("seid=0x2\n") != 1 {
		t.Error("what was suppressed is told twice")
	}

	out.Reset()
	log = logger(&out, config.Log{Level: slog.LevelDebug, Format: "json"})
	for range 100 {
		log.Debug("request")
	}
	if n := count(`"msg":"request"`); n != 100 {
		t.Errorf("%d of 100 at level debug", n)
	}
}
