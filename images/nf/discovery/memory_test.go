package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// fakeMemory is what pods share.
type fakeMemory struct {
	mu      sync.Mutex
	values  map[string][]byte
	written int
	err     error
}

func (m *fakeMemory) Recall(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], m.err
}

func (m *fakeMemory) Remember(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[key] = value
	m.written++
	return nil
}

// has waits until so many values were written: nobody waits for that who asks.
func (m *fakeMemory) has(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		written := m.written
		m.mu.Unlock()
		if written == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d values were written, want %d", written, want)
		}
	}
}

// A pod that begins while the NRF is away finds whom the pods before it have found, and goes on until the functions have registered with an NRF that comes
// back without what it knew.
func TestAPodThatBeginsWhileTheNRFIsAway(t *testing.T) {
	shared := &fakeMemory{}
	with := func(o *Options) { o.Memory = shared }
	before, n, _ := start(t, with)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "a", "b") })
	find(t, before, pcf, "http://a:8000 http://b:8000")
	shared.has(t, 1)

	c, n, now := start(t, with)
	n.change(func() { n.down = true })
	find(t, c, pcf, "http://a:8000 http://b:8000")
	find(t, c, sbi.Service{Type: "UDM", Name: "nudm-sdm"}, "") // that nobody has asked for
	now.advance(2 * time.Minute)
	n.change(func() { n.down = false })
	find(t, c, pcf, "http://a:8000 http://b:8000") // nobody waits
	answered(c, func() bool { return n.asked() > 0 })
	now.advance(forgotten)
	find(t, c, pcf, "http://a:8000 http://b:8000")
	now.advance(pause)
	find(t, c, pcf, "")
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "c") })
	now.advance(pause)
	find(t, c, pcf, "http://c:8000")
	shared.has(t, 2)
}

// answered waits until the NRF has been asked, and what it has said has been taken: nothing else is asked before.
func answered(c *Cache, asked func() bool) {
	underWay := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, e := range c.entries {
			if e.asking != nil {
				return true
			}
		}
		return false
	}
	for !asked() || underWay() {
		time.Sleep(time.Millisecond)
	}
}

// An NRF whose database is new knows nobody when it answers again; its functions are where they were.
func TestAnNRFThatIsBackAndHasForgotten(t *testing.T) {
	c, n, now := start(t, nil)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "pcf") })
	find(t, c, pcf, "http://pcf:8000")
	n.change(func() { n.down = true })
	now.advance(5 * time.Minute)
	find(t, c, pcf, "http://pcf:8000")
	n.change(func() { n.down = false; delete(n.answers, "PCF") })
	for range 3 {
		now.advance(pause)
		before := n.asked()
		find(t, c, pcf, "http://pcf:8000")
		answered(c, func() bool { return n.asked() > before })
	}
	now.advance(forgotten)
	find(t, c, pcf, "")
}

// The first question of a pod costs the time that the NRF is waited for, the next ones none.
func TestNobodyWaitsForAnNRFThatIsKnownToBeAway(t *testing.T) {
	shared := &fakeMemory{}
	with := func(o *Options) { o.Memory = shared }
	udm := sbi.Service{Type: "UDM", Name: "nudm-sdm"}
	before, n, _ := start(t, with)
	n.change(func() { n.answers["PCF"], n.answers["UDM"] = registered(pcf.Name, "pcf"), registered(udm.Name, "udm") })
	find(t, before, pcf, "http://pcf:8000")
	find(t, before, udm, "http://udm:8000")
	shared.has(t, 2)

	c, n, _ := start(t, with)
	n.change(func() { n.down = true })
	find(t, c, pcf, "http://pcf:8000")
	release := make(chan struct{})
	n.change(func() { n.hold = release })
	defer close(release)
	impatient, cancel := context.WithTimeout(t.Context(), askLimit/2)
	defer cancel()
	if got, err := c.Find(impatient, udm); roots(got) != "http://udm:8000" {
		t.Errorf("found %q, %v", roots(got), err)
	}
}

// What is remembered is written once, by whoever is first, and anew where it has changed.
func TestWhatIsRemembered(t *testing.T) {
	shared := &fakeMemory{err: errors.New("away")}
	c, n, now := start(t, func(o *Options) { o.Memory = shared })
	ask := func(want string) {
		t.Helper()
		now.advance(maxValidity)
		find(t, c, pcf, want)
	}
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "a", "b") })
	ask("http://a:8000 http://b:8000") // a memory that does not answer is nobody's concern
	shared.mu.Lock()
	shared.err = nil
	shared.mu.Unlock()
	ask("http://a:8000 http://b:8000")
	shared.has(t, 1)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "b", "a") })
	ask("http://b:8000 http://a:8000")
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "c") })
	ask("http://c:8000")
	shared.has(t, 2)
	other, n, _ := start(t, func(o *Options) { o.Memory = shared })
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "c") })
	find(t, other, pcf, "http://c:8000")
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "d") })
	other.Changed("PCF")
	find(t, other, pcf, "http://d:8000")
	shared.has(t, 3)
}

func TestRememberedValues(t *testing.T) {
	var many []sbi.Endpoint
	for i := range 64 {
		many = append(many, sbi.Endpoint{Root: fmt.Sprintf("https://core5g-smf-shard-%d:8000", i), Instance: "0b6b1a52-5c1e-5a1f-9c55-0f5f3b5b6c55"})
	}
	raw := encode(many)
	got := decode(raw)
	if len(raw) > maxRemembered || len(got) < 8 || !alike(got, many[:len(got)]) {
		t.Errorf("%d octets, %d of them: %v", len(raw), len(got), got)
	}
	if encode(nil) != nil || decode(nil) != nil {
		t.Error("of nothing there is something")
	}
	for _, text := range []string{"", "{", `{"endpoints":[{"root":""}]}`, `{"endpoints":7}`, strings.Repeat("[", 1000)} {
		if got := decode([]byte(text)); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
}
