package onlookers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client asks a pod's program from beside it.
type Client struct {
	program string
	http    *http.Client
}

// NewClient for the program of a pod, whose network this is.
func NewClient(program, pod string) Client {
	return Client{program, &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", Socket(program, pod))
	}}}}
}

// mostSaid bounds a refusal.
const mostSaid = 4096

// Get what is at a path. Its error is what the pod says.
func (c Client) Get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, nil, into)
}

// GetPage of the list at a path: of as many as are missing, one page has MostListed. Of the query, values that are empty are not asked for.
func (c Client) GetPage(ctx context.Context, path string, missing int, query map[string]string, into any) error {
	v := url.Values{limitName: {strconv.Itoa(min(missing, MostListed))}}
	for name, value := range query {
		if value != "" {
			v.Set(name, value)
		}
	}
	return c.Get(ctx, path+"?"+v.Encode(), into)
}

// Post a body, as JSON.
func (c Client) Post(ctx context.Context, path string, body, into any) error {
	return c.do(ctx, http.MethodPost, path, body, into)
}

func (c Client) do(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://pod"+path, content)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("no %s answers here: it starts, or -pod names another one: %w", c.program, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, mostSaid))
		return errors.New(cmp.Or(strings.TrimSpace(string(said)), answer.Status))
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// Write what was answered, for people who read JSON.
func Write(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
