package n2

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// specified is an IE as TS 38.413 9.4.4 has it.
type specified struct {
	id          IE
	criticality Criticality
	presence    byte
	had         bool
}

func specification(t *testing.T) map[string][]specified {
	t.Helper()
	b, err := os.ReadFile("testdata/ies.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]specified{}
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		out[words[0]] = nil
		for _, word := range words[1:] {
			had := !strings.HasSuffix(word, "-")
			word = strings.TrimSuffix(word, "-")
			n := len(word) - 2
			id, err := strconv.Atoi(word[:n])
			if err != nil {
				t.Fatal(err)
			}
			out[words[0]] = append(out[words[0]], specified{IE(id), Criticality(strings.IndexByte("ri", word[n])), word[n+1], had})
		}
	}
	return out
}

// Every message has the IEs that the specification has, in its order, with its criticality; samples have all of them.
func TestIEsAreThoseOfTheSpecification(t *testing.T) {
	spec := specification(t)
	seen := map[string]map[IE]bool{}
	for _, s := range samples() {
		_, ies := taken(t, s.message)
		name := s.message.Kind().String()
		if seen[name] == nil {
			seen[name] = map[IE]bool{}
		}
		at := -1
		for _, e := range ies {
			seen[name][e.id] = true
			n := slices.IndexFunc(spec[name], func(want specified) bool { return want.id == e.id })
			switch {
			case n < 0:
				t.Errorf("%s has no %s", name, e.id)
			case n <= at:
				t.Errorf("%s: %s is in the wrong place", name, e.id)
			case spec[name][n].criticality != e.criticality:
				t.Errorf("%s: %s has criticality %d, want %d", name, e.id, e.criticality, spec[name][n].criticality)
			}
			at = n
		}
		for _, want := range spec[name] {
			if want.presence == 'M' && !slices.ContainsFunc(ies, func(e rawIE) bool { return e.id == want.id }) {
				t.Errorf("%s: %s is mandatory", s.name, want.id)
			}
		}
	}
	for _, kind := range Kinds() {
		ies, ok := spec[kind.String()]
		if !ok {
			t.Errorf("%s is not in the specification", kind)
		}
		for _, want := range ies {
			if want.had != seen[kind.String()][want.id] {
				t.Errorf("%s: %s in a sample is %t, want %t", kind, want.id, !want.had, want.had)
			}
		}
	}
}

// An IE that is missing ends the procedure where it is mandatory and to be rejected, and not otherwise.
func TestPresenceIsThatOfTheSpecification(t *testing.T) {
	spec := specification(t)
	for _, s := range samples() {
		name := s.message.Kind().String()
		_, ies := taken(t, s.message)
		for _, e := range ies {
			n := slices.IndexFunc(spec[name], func(want specified) bool { return want.id == e.id })
			if n < 0 || spec[name][n].presence == 'C' {
				continue
			}
			h, ies := taken(t, s.message)
			if e.id == ieSessionsSetUpCxtReq { // a bit rate depends on it
				ies = without(ieUEAggregateMaximumBitRate)(ies)
			}
			m, _ := Read(together(h, without(e.id)(ies)))
			want := spec[name][n].presence != 'M' || spec[name][n].criticality != Reject
			if (m != nil) != want {
				t.Errorf("%s without %s was read: %t", s.name, e.id, m != nil)
			}
		}
	}
}
