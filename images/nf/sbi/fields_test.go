package sbi

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Name   string
	Number uint8
	Flag   bool
	List   []string
	Thing  *Reference
	N1     []byte
	Inner  string
	Each   []sample
}

func (s *sample) fields(f *Fields) {
	Required(f, "name", &s.Name)
	Member(f, "number", &s.Number)
	Member(f, "flag", &s.Flag)
	Member(f, "list", &s.List)
	Member(f, "thing", &s.Thing)
	f.Binary("n1", "part1", NAS, &s.N1)
	f.Object("inner", func(f *Fields) { Member(f, "inner", &s.Inner) })
	Objects(f, "each", &s.Each, func(f *Fields, s *sample) { s.fields(f) })
}

func TestFieldsAreReadAsTheyAreWritten(t *testing.T) {
	for sentence, c := range map[string]struct {
		in   sample
		want string
	}{
		"everything": {sample{"a", 1, true, []string{"b"}, Refer("c"), []byte{1, 2}, "d", []sample{{Name: "e"}, {Inner: "f"}}},
			`{"name":"a","number":1,"flag":true,"list":["b"],"thing":{"contentId":"c"},"n1":{"contentId":"part1"},"inner":{"inner":"d"},"each":[{"name":"e"},{"name":"","inner":{"inner":"f"}}]}`},
		"what is required is left": {sample{List: []string{}}, `{"name":""}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := Writing()
			c.in.fields(w)
			text, parts, err := w.Written()
			if err != nil || string(text) != c.want {
				t.Fatalf("%s, %v, want %s", text, err, c.want)
			}
			m := Message{JSON: text, Parts: parts}
			content, err := m.Content()
			if err != nil {
				t.Fatal(err)
			}
			var got sample
			r := Reading(content, m)
			got.fields(r)
			if len(c.in.List) == 0 {
				c.in.List = nil
			}
			if diff := cmp.Diff(c.in, got); diff != "" || r.Err() != nil {
				t.Errorf("%v (-want +got):\n%s", r.Err(), diff)
			}
		})
	}
}

func TestFieldsThatAreWrong(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                      "name is mandatory",
		`{"name":null}`:                           "name is mandatory",
		`{"name":1}`:                              "name: it must not be a JSON number",
		`{"name":"a","inner":[]}`:                 "inner: it must not be a JSON array",
		`{"name":"a","inner":{"inner":1}}`:        "inner: it must not be a JSON number",
		`{"name":"a","each":[{}]}`:                "name is mandatory",
		`{"name":"a","each":{}}`:                  "each: it must not be a JSON object",
		`{"name":"a","each":[{"name":1},{}]}`:     "name: it must not be a JSON number",
		`{"name":"a","number":-1}`:                "number: it must not be a JSON number",
		`{"name":"a","number":"1","list":1}`:      "number: it must not be a JSON string",
		`{"name":"a","n1":{"contentId":"other"}}`: "no part has the Content-Id",
	} {
		m := Message{JSON: []byte(in)}
		content, err := m.Content()
		if err != nil {
			t.Fatal(err)
		}
		r := Reading(content, m)
		new(sample).fields(r)
		var problem *Problem
		if !errors.As(r.Err(), &problem) || problem.Status != 400 || !strings.Contains(problem.Detail, want) {
			t.Errorf("%s: %v, want %q", in, r.Err(), want)
		}
	}
	w := Writing()
	bad := func() {}
	Required(w, "function", &bad)
	if _, _, err := w.Written(); err == nil {
		t.Error("a function was written")
	}
	if r := Reading(nil, Message{}); !r.Reads() {
		t.Error("the members of nothing are written")
	}
	if _, err := (Message{JSON: []byte(`[]`)}).Content(); err == nil {
		t.Error("a list was read as an object")
	}
}
