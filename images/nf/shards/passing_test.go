package shards

import (
	"net/url"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// A pod that ends does not learn who has a shard next: what it passes on in vain it passes on once, and does not try again and again.
func TestAPodThatEndsPassesOnOnce(t *testing.T) {
	k, err := New(Options{Holder: "a", Set: "smf", Shards: []string{"0"}, Gained: func(sessionstore.Lease) {}, Lost: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	k.End()
	tries := 0
	if !k.ToHolder(t.Context(), "0", func() (*url.URL, string) { return &url.URL{}, "b" }, func(_ *url.URL, _ string, again bool) bool {
		tries++
		return !again
	}) || tries != 1 {
		t.Errorf("it is passed on %d times", tries)
	}
}
