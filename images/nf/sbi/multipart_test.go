package sbi

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const related = "--b\r\nContent-Type: application/json\r\n\r\n{\"n1SmMsg\":{\"contentId\":\"n1\"}}\r\n" +
	"--b\r\nContent-Id: n1\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\x2e\x01\r\n--b--\r\n"

func TestDecode(t *testing.T) {
	n1 := []Part{{"n1", NAS, []byte{0x2e, 1}}}
	for sentence, c := range map[string]struct {
		kind, content string
		want          Message
		wantError     string
	}{
		"plain JSON":                    {"application/json; charset=utf-8", "{}", Message{JSON: []byte("{}")}, ""},
		"problem details":               {"application/problem+json", "{}", Message{JSON: []byte("{}")}, ""},
		"a boundary without quotes":     {"multipart/related; boundary=b", related, Message{JSON: []byte(`{"n1SmMsg":{"contentId":"n1"}}`), Parts: n1}, ""},
		"a boundary with quotes":        {`Multipart/Related;boundary="b";type="application/json"`, related, Message{JSON: []byte(`{"n1SmMsg":{"contentId":"n1"}}`), Parts: n1}, ""},
		"an identifier with brackets":   {"multipart/related; boundary=b", strings.Replace(related, "Id: n1", "ID: <n1>", 1), Message{JSON: []byte(`{"n1SmMsg":{"contentId":"n1"}}`), Parts: n1}, ""},
		"line feeds alone":              {"multipart/related; boundary=b", strings.ReplaceAll(related, "\r\n", "\n"), Message{JSON: []byte(`{"n1SmMsg":{"contentId":"n1"}}`), Parts: n1}, ""},
		"a binary part before the JSON": {"multipart/related; boundary=b", "--b\r\nContent-Id: n1\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\x2e\x01\r\n--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b--", Message{JSON: []byte("{}"), Parts: n1}, ""},
		"no type":                       {"", "{}", Message{}, "there is no Content-Type"},
		"a type that is none":           {"/;", "{}", Message{}, "cannot be read"},
		"a text":                        {"text/plain", "{}", Message{}, "write application/json or multipart/related"},
		"no boundary":                   {"multipart/related", related, Message{}, "needs a boundary"},
		"no JSON":                       {"multipart/related; boundary=b", "--b\r\nContent-Id: n1\r\n\r\n1\r\n--b--", Message{}, "no part is application/json"},
		"cut":                           {"multipart/related; boundary=b", related[:len(related)-6], Message{}, "no end"},
		"cut in a header":               {"multipart/related; boundary=b", related[:100], Message{}, "cannot be told apart"},
		"nine binary parts":             {"multipart/related; boundary=b", strings.Repeat("--b\r\n\r\n1\r\n", 9) + "--b--", Message{}, "more than 8"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := Decode(c.kind, []byte(c.content))
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Errorf("error %v, want %q", err, c.wantError)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// What can be read is written so that it reads the same.
func FuzzDecode(f *testing.F) {
	f.Add("application/json", []byte("{}"))
	f.Add("multipart/related; boundary=b", []byte(related))
	f.Add(`multipart/related; boundary="b"`, []byte(strings.ReplaceAll(related, "n1", "<n1>")))
	f.Fuzz(func(t *testing.T, kind string, content []byte) {
		m, err := Decode(kind, content)
		if err != nil {
			return
		}
		for _, p := range m.Parts {
			// A header cannot carry these, so that nobody sends them.
			if strings.ContainsAny(p.ContentID+p.ContentType, "\r\n") || bareID(p.ContentID) != p.ContentID || strings.TrimSpace(p.ContentType) != p.ContentType || isJSON(p.ContentType) || p.ContentType == "" {
				return
			}
		}
		raw, err := Multipart(m.JSON, m.Parts...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(raw.ContentType, raw.Content)
		if err != nil {
			t.Fatalf("%v: %q", err, raw.Content)
		}
		if !bytes.Equal(again.JSON, m.JSON) || len(again.Parts) != len(m.Parts) {
			t.Fatalf("%q was read as %q", m, again)
		}
		for n, p := range m.Parts {
			if !bytes.Equal(p.Content, again.Parts[n].Content) || p.ContentID != again.Parts[n].ContentID {
				t.Fatalf("%q was read as %q", p, again.Parts[n])
			}
		}
	})
}
