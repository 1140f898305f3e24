package simulation

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 20, "how many worlds")
	first = flag.Uint64("first", 1, "the first seed")
)

// Whatever happens, no session is lost, and when all is quiet everybody thinks the same of each.
func TestWorlds(t *testing.T) {
	ended, orphans := map[string]int{}, 0
	for n := range *seeds {
		seed := *first + uint64(n)
		w, err := newWorld(seed, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.run(time.Minute, 3*time.Minute); err != nil {
			story := w.story
			if most := 120; len(story) > most {
				story = story[len(story)-most:]
			}
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(story, "\n"))
		}
		for kind, count := range w.ended {
			ended[kind] += count
		}
		orphans += w.orphans
	}
	t.Logf("%d worlds: %v, %d sessions left in units", *seeds, ended, orphans)
	for _, kind := range []string{"establishment", "connection", "release", "paging", "restoration"} {
		if ended[kind] == 0 {
			t.Errorf("no %s in %d worlds: they show nothing of it", kind, *seeds)
		}
	}
}
