package nsmf

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/nf/sbi"
)

// checkWritten writes what was read, reads it, and writes the same again.
func checkWritten(t *testing.T, asked any) {
	t.Helper()
	write := func(v any) (out json.RawMessage, parts []sbi.Part, err error) {
		switch v := v.(type) {
		case *Create:
			return v.Write()
		case *Update:
			return v.Write()
		case *Release:
			return v.Write()
		case *Retrieve:
			return v.Write()
		}
		return nil, nil, nil
	}
	text, parts, err := write(asked)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", asked, err)
	}
	if text == nil {
		return
	}
	raw, err := sbi.Multipart(text, parts...)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(raw.Content))
	req.Header.Set("Content-Type", raw.ContentType)
	var again any
	switch asked.(type) {
	case *Create:
		again, err = readCreate(req)
	case *Update:
		again, err = readUpdate(req)
	case *Release:
		again, err = readRelease(req)
	case *Retrieve:
		req.Body = io.NopCloser(bytes.NewReader(text))
		again, err = readRetrieve(req)
	}
	if err != nil {
		t.Fatalf("%s cannot be read: %v", text, err)
	}
	if second, parts2, err := write(again); err != nil || !bytes.Equal(text, second) || !cmp.Equal(parts, parts2) {
		t.Errorf("%s was read as %s, %v", text, second, err)
	}
}

// Whatever comes is answered as the specification says, and reaches the handler only if it can be.
func FuzzRequests(f *testing.F) {
	files, err := filepath.Glob("testdata/amf-*")
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		kind, content, _ := bytes.Cut(raw, []byte("\n"))
		for operation := range uint8(4) {
			f.Add(operation, string(kind), content)
		}
	}
	f.Add(uint8(1), "application/json", []byte(`{"ueLocation":{"eutraLocation":{"tai":null,"ecgi":{"eutraCellId":"0000001"}},"n3gaLocation":{}},"backupAmfInfo":[{}]}`))
	f.Add(uint8(3), "application/json", []byte(`{"smContextType":1}`))
	f.Add(uint8(4), "application/json", []byte(`{"cause":"UE_NOT_RESPONDING","n1n2MsgDataUri":"x"}`))
	f.Add(uint8(5), "application/json", []byte(`{"notifyItems":[{"resourceId":"x"}]}`))
	f.Add(uint8(6), "application/json", []byte(`{"smPolicyDecision":{"pccRules":{"a":{"flowInfos":[{"flowDescription":"permit out ip from any to assigned"}]}}}}`))
	f.Add(uint8(8), "application/json", []byte(`{"notificationType":"REAUTHORIZATION","reauthorizationDetails":[{"ratingGroup":1}]}`))
	paths := []string{
		contexts, contexts + "/7/modify", contexts + "/7/release", contexts + "/7/retrieve",
		callbacks + "/7/transfer-failure", callbacks + "/7/subscription", callbacks + "/7/policy/update", callbacks + "/7/policy/terminate", callbacks + "/7/charging",
	}
	f.Fuzz(func(t *testing.T, operation uint8, kind string, content []byte) {
		h := &scripted{created: &Created{Ref: "7"}, updated: &Updated{}, retrieved: &Retrieved{}}
		r, _ := router(h, Options{})
		req := httptest.NewRequest(http.MethodPost, paths[int(operation)%len(paths)], bytes.NewReader(content))
		req.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		switch {
		case w.Code < 300:
			if h.asked == nil {
				t.Errorf("%d, and the handler was not asked", w.Code)
			}
		case w.Code == 400 || w.Code == 413:
			if h.asked != nil {
				t.Errorf("%d, and the handler was asked %+v", w.Code, h.asked)
			}
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
		checkWritten(t, h.asked)
		if c, ok := h.asked.(*Create); ok {
			if c.SessionID < 1 || c.SessionID > 15 || c.AMF.StatusURI == "" {
				t.Errorf("accepted %+v", c)
			}
			if c.Where.Location != nil {
				if _, err := json.Marshal(c.Where.Location); err != nil {
					t.Errorf("the location cannot be passed on: %v", err)
				}
			}
		}
	})
}
