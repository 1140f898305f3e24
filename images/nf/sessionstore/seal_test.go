package sessionstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func sealer(t testing.TB, keys map[uint32][]byte) *Sealer {
	t.Helper()
	s, err := NewSealer(keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func key(b byte) []byte { return bytes.Repeat([]byte{b}, KeySize) }

func TestSeal(t *testing.T) {
	old := sealer(t, map[uint32][]byte{1: key(1)})
	both := sealer(t, map[uint32][]byte{1: key(1), 2: key(2)})
	value := []byte("K_AMF and more")
	sealed := old.Seal("ue/1", value)
	if len(sealed) != len(value)+SealOverhead {
		t.Errorf("%d octets became %d, want %d more", len(value), len(sealed), SealOverhead)
	}
	if bytes.Contains(sealed, value) || bytes.Equal(sealed, old.Seal("ue/1", value)) {
		t.Error("a sealed record shows its value, or is the same twice")
	}
	for name, s := range map[string]*Sealer{"the same key": old, "a newer key beside it": both} {
		if got, err := s.Open("ue/1", sealed); err != nil || !bytes.Equal(got, value) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	newer := both.Seal("ue/1", value)
	for name, c := range map[string]struct {
		s      *Sealer
		key    string
		sealed []byte
		want   string
	}{
		"a key that is not here":  {old, "ue/1", newer, "key 2"},
		"another key's record":    {old, "ue/2", sealed, "ue/2 is damaged"},
		"another key of that id":  {sealer(t, map[uint32][]byte{1: key(9)}), "ue/1", sealed, "another key 1"},
		"a changed octet":         {old, "ue/1", append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1), "damaged"},
		"a record that is cut":    {old, "ue/1", sealed[:SealOverhead-1], "fewer"},
		"a record that was clear": {old, "ue/1", []byte(strings.Repeat("clear ", 10)), "not here"},
	} {
		got, err := c.s.Open(c.key, c.sealed)
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	for name, keys := range map[string]map[uint32][]byte{"none": nil, "a short one": {1: key(1)[:16]}} {
		if _, err := NewSealer(keys); err == nil {
			t.Errorf("keys: %s: accepted", name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s := sealer(f, map[uint32][]byte{1: key(1)})
	f.Add("ue/1", s.Seal("ue/1", []byte("x")))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, k string, sealed []byte) {
		if value, err := s.Open(k, sealed); err != nil && (value != nil || !errors.Is(err, ErrUnreadable)) {
			t.Errorf("Open = %q, %v", value, err)
		}
	})
}
