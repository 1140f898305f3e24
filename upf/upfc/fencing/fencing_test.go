package fencing

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 200, "how many worlds TestWorlds lives through")
	first = flag.Uint64("first", 1, "the seed of the first one")
)

// trouble lets something happen to the world every few seconds.
func (w *world) trouble() {
	if w.peaceful {
		return
	}
	w.after(time.Duration(w.rng.Int64N(int64(6*time.Second))), w.trouble)
	p := w.pods[w.rng.IntN(2)]
	again := time.Duration(w.rng.Int64N(int64(8 * time.Second)))
	switch w.rng.IntN(11) {
	case 0, 1, 2:
		link := w.rng.IntN(3)
		w.tell("link %d is cut", link)
		w.cut[link] = true
		w.after(again, func() { w.cut[link] = false; w.tell("link %d is whole", link) })
	case 3:
		w.cut[1], w.cut[2] = true, true
		w.tell("the arbiter is away")
		w.after(again, func() { w.cut[1], w.cut[2] = false, false; w.tell("the arbiter is back") })
	case 4:
		p.killAgent()
		w.after(again/4, p.begin)
	case 5:
		p.killDataplane()
		w.after(again/8, func() { p.up = true })
	case 6:
		p.killDataplane()
		p.killAgent()
		if w.rng.IntN(2) == 0 {
			p.kept = nil // the file is gone, too
		}
		w.after(again, func() { p.up = true; p.begin() })
	case 7:
		if l := p.life; l != nil {
			l.stopped = w.now + again
			w.tell("%s stops until %.3f", l.name, l.stopped.Seconds())
		}
	case 8: // the node is gone: it says nothing
		w.tell("node of %s is gone", p.name())
		link := 1 + p.id
		w.cut[0], w.cut[link] = true, true
		p.killDataplane()
		p.killAgent()
		w.after(again, func() { w.cut[0], w.cut[link] = false, false; p.up = true; p.begin() })
	case 9, 10:
		for _, p := range w.pods {
			if l := p.life; l != nil && w.now >= l.stopped {
				l.handOver()
			}
		}
	}
}

// live lets a world have trouble for a minute, and then peace.
func live(seed uint64, f faults) *world {
	w := newWorld(seed, f)
	w.until(5 * time.Second)
	w.trouble()
	w.until(65 * time.Second)
	if w.wrong != "" {
		return w
	}
	w.peace()
	return w
}

// peace lets what is under way happen, and nothing new.
func (w *world) peace() {
	w.peaceful = true
	end := w.now + 90*time.Second
	for w.now < end && w.wrong == "" {
		w.until(w.now + 500*ms)
		w.cut = [3]bool{}
		for _, p := range w.pods {
			p.up = true
			if p.life != nil {
				p.life.stopped = 0
			}
			p.begin()
		}
	}
	n := 0
	for _, p := range w.pods {
		if p.answers() {
			n++
		}
	}
	if n != 1 {
		w.fail("in peace %d units answer", n)
	}
}

func TestWorlds(t *testing.T) {
	takes, handovers := 0, 0
	for i := range uint64(*seeds) {
		w := live(*first+i, faults{})
		takes += w.takes
		handovers += w.handovers
		if w.wrong != "" {
			t.Fatalf("seed %d: %s\n%s", *first+i, w.wrong, strings.Join(w.story[max(0, len(w.story)-60):], "\n"))
		}
	}
	if takes < *seeds/10 {
		t.Errorf("%d takeovers in %d worlds: they do not try what they are for", takes, *seeds)
	}
	if handovers < *seeds/4 {
		t.Errorf("%d hand-overs in %d worlds: they do not try what they are for", handovers, *seeds)
	}
	t.Logf("%d worlds, %d takeovers, %d units that yielded to a standby", *seeds, takes, handovers)
}

// Each of these would be a fault; the worlds find it.
func TestFaultsAreFound(t *testing.T) {
	impatient := DefaultTerms()
	impatient.Wait = impatient.Grant / 2
	for name, f := range map[string]faults{
		"a standby that does not wait for the end of the last grant": {terms: impatient},
		"N4 is answered before the standby has the change":           {answerEarly: true},
		"upf-u does not look at its clock":                           {grantForever: true},
		"a stream that is cut counts as the end of both processes":   {endsOnSilence: true},
		"a standby is named that lacks changes":                      {nameEarly: true},
		"a new upf-u is granted an epoch before it holds the line":   {grantFirst: true},
		"a unit says that it has yielded before upf-u knows":         {yieldsEarly: true},
		"a upf-u that is to forward only goes on answering":          {answersOn: true},
		"a unit that has yielded comes back":                         {comesBack: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				if w := live(1+seed, f); w.wrong != "" && !strings.HasPrefix(w.wrong, "in peace") {
					t.Logf("seed %d: %s", 1+seed, w.wrong)
					return
				}
			}
			t.Error("not found in 3000 worlds")
		})
	}
}

// In a hand-over somebody forwards at every moment, also while links are cut that it can do without.
func TestHandOver(t *testing.T) {
	for name, tt := range map[string]struct {
		before, during func(w *world)
		wantTakes      int
		wantSilent     bool // for some time nobody forwards
	}{
		"in peace":                                     {wantTakes: 1},
		"the arbiter is lost before":                   {before: func(w *world) { w.cut[1], w.cut[2] = true, true }, wantSilent: true, wantTakes: 1},
		"the unit alone has lost the arbiter":          {before: func(w *world) { w.cut[1] = true }, wantTakes: 1},
		"the stream is lost before, and nobody yields": {before: func(w *world) { w.cut[0] = true }},
		"the stream is lost when the unit has yielded": {during: func(w *world) { w.cut[0] = true }, wantTakes: 1},
		"both are lost when the unit has yielded":      {during: func(w *world) { w.cut = [3]bool{true, true, true} }, wantSilent: true, wantTakes: 1},
		"the standby dies when the unit has yielded": {
			during:     func(w *world) { w.pods[1].killDataplane(); w.pods[1].killAgent(); w.pods[1].kept = nil },
			wantSilent: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				w := newWorld(1+seed, faults{})
				w.calm, w.fill = true, time.Second
				w.until(5 * time.Second)
				for w.pods[0].life.unit.Named() == "" {
					if w.until(w.now + ms); w.now > time.Minute {
						t.Fatalf("seed %d: no standby\n%s", 1+seed, strings.Join(w.story, "\n"))
					}
				}
				if tt.before != nil {
					tt.before(w)
					w.until(w.now + 4*time.Second)
				}
				for _, p := range w.pods {
					p.life.handOver()
				}
				if tt.during != nil {
					tt.during(w)
				}
				silent := time.Duration(0)
				for range 40000 {
					if w.until(w.now + ms); !w.pods[0].forwards() && !w.pods[1].forwards() {
						silent += ms
					}
					if w.now > 30*time.Second {
						w.cut = [3]bool{}
					}
				}
				if w.wrong != "" || w.takes != tt.wantTakes || (silent > 0) != tt.wantSilent {
					t.Fatalf("seed %d: %s; %d takeovers, want %d; nobody forwards for %s\n%s", 1+seed, w.wrong, w.takes, tt.wantTakes, silent, strings.Join(w.story, "\n"))
				}
			}
		})
	}
}
