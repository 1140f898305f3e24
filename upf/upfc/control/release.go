package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// serveRelease asks a CP function to release its association, and answers when it has ended.
func serveRelease(s Source, w http.ResponseWriter, r *http.Request) {
	grace, err := time.ParseDuration(r.URL.Query().Get("grace"))
	if err != nil || grace < 0 {
		http.Error(w, "grace wants a time, such as 1m", http.StatusBadRequest)
		return
	}
	if err := s.RequestRelease(r.Context(), r.PathValue("node"), grace); err != nil {
		http.Error(w, "not released: "+err.Error(), http.StatusConflict)
		return
	}
	write(w, struct{}{})
}

func (c *client) release(ctx context.Context, words []string) error {
	u := url.URL{Scheme: "http", Host: "upf-c", Path: "/associations/" + words[0] + "/release", RawQuery: url.Values{"grace": {c.limit.String()}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		if err != nil {
			return err
		}
		return errors.New(strings.TrimSpace(string(b)))
	}
	_, err = fmt.Fprintf(c.out, "the association with %s is released\n", words[0])
	return err
}
