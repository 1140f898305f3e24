package sbimemory

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// answer is an http.ResponseWriter. It is the handler's until that has returned, and the caller's from then on.
type answer struct {
	header  http.Header
	sent    http.Header // as they were when the status was written
	status  int
	content []byte
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < http.StatusOK { // what is informational nobody asked for
		return
	}
	a.status, a.sent = status, a.header.Clone()
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		if len(b) > 0 {
			return 0, http.ErrBodyNotAllowed
		}
		return 0, nil
	}
	a.content = append(a.content, b...)
	return len(b), nil
}

// response that the request is answered with.
func (a *answer) response(r *http.Request) *http.Response {
	a.WriteHeader(http.StatusOK)
	out := &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: a.sent, ContentLength: int64(len(a.content)), Request: r, Body: http.NoBody,
	}
	if len(a.content) > 0 && r.Method != http.MethodHead {
		out.Body = io.NopCloser(bytes.NewReader(a.content))
		if out.Header.Get("Content-Type") == "" {
			out.Header.Set("Content-Type", http.DetectContentType(a.content))
		}
	}
	return out
}
