package userplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	pathTopology = "/upi/v1/upNodesLinks"
	maxAnswer    = 8 << 20
)

// SMF is the user-plane API of one SMF.
type SMF struct {
	// BaseURL such as http://10.96.0.10:8000.
	BaseURL string
	HTTP    *http.Client
}

// NewHTTP returns a client for calls to SMFs of the cluster.
func NewHTTP() *http.Client { return &http.Client{Timeout: 5 * time.Second} }

// Follow brings the SMF's topology to what is wanted, and returns what it changed. Nothing is sent that
// would end the SMF.
func (s *SMF) Follow(ctx context.Context, want Topology) (Changes, error) {
	if err := want.Check(); err != nil {
		return Changes{}, fmt.Errorf("nothing was sent: %w", err)
	}
	var have Topology
	if err := s.call(ctx, http.MethodGet, pathTopology, nil, &have); err != nil {
		return Changes{}, err
	}
	changes := Compare(have, want)
	for _, name := range changes.Remove {
		err := s.call(ctx, http.MethodDelete, pathTopology+"/"+url.PathEscape(name), nil, nil)
		if status := (*statusError)(nil); errors.As(err, &status) && status.code == http.StatusNotFound {
			continue
		}
		if err != nil {
			return Changes{}, err
		}
	}
	if len(changes.Add.UPNodes) == 0 {
		return changes, nil
	}
	return changes, s.call(ctx, http.MethodPost, pathTopology, changes.Add, nil)
}

type statusError struct {
	method, path string
	code         int
	body         string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: the SMF answers %d %s", e.method, e.path, e.code, e.body)
}

func (s *SMF) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return &statusError{method, path, answer.StatusCode, string(raw[:min(len(raw), 200)])}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
