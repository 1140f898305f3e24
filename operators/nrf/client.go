package nrf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"core5g.dev/core5g/images/nf/sbitls"
)

// Profile is what the operator reads of an NFProfile (TS 29.510 6.2.6.2.3).
type Profile struct {
	NfInstanceID  string   `json:"nfInstanceId"`
	NfType        string   `json:"nfType"`
	IPv4Addresses []string `json:"ipv4Addresses"`
	FQDN          string   `json:"fqdn"`
	NfServices    []struct {
		FQDN        string `json:"fqdn"`
		APIPrefix   string `json:"apiPrefix"`
		IPEndPoints []struct {
			IPv4Address string `json:"ipv4Address"`
		} `json:"ipEndPoints"`
	} `json:"nfServices"`
}

// Hosts are all addresses and names under which the function says it can be reached.
func (p Profile) Hosts() map[string]bool {
	out := map[string]bool{}
	add := func(h string) {
		if h != "" {
			out[h] = true
		}
	}
	for _, a := range p.IPv4Addresses {
		add(a)
	}
	add(p.FQDN)
	for _, s := range p.NfServices {
		add(s.FQDN)
		if u, err := url.Parse(s.APIPrefix); err == nil {
			add(u.Hostname())
		}
		for _, e := range s.IPEndPoints {
			add(e.IPv4Address)
		}
	}
	return out
}

// Client asks one NRF. It is safe for concurrent use.
type Client struct {
	// BaseURL is http://host:port.
	BaseURL string
	HTTP    *http.Client
}

// NewHTTP returns an HTTP client for a core without TLS.
func NewHTTP() *http.Client {
	return &http.Client{Transport: sbitls.Unprotected(), Timeout: 5 * time.Second}
}

// maxBody bounds what is read of an answer.
const maxBody = 4 << 20

// Discover lists the registered functions of a type, such as "SMF".
func (c *Client) Discover(ctx context.Context, nfType string) ([]Profile, error) {
	q := url.Values{"target-nf-type": {nfType}, "requester-nf-type": {"AMF"}}
	body, status, err := c.do(ctx, http.MethodGet, "/nnrf-disc/v1/nf-instances?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("discovery of %s: status %d", nfType, status)
	}
	var result struct {
		NfInstances []Profile `json:"nfInstances"`
	}
	if err := json.Unmarshal(body, &result); err != nil {
		return nil, fmt.Errorf("discovery of %s: %w", nfType, err)
	}
	return result.NfInstances, nil
}

// Profile returns the registered profile as the NRF keeps it, to be put back later.
func (c *Client) Profile(ctx context.Context, instance string) (json.RawMessage, error) {
	body, status, err := c.do(ctx, http.MethodGet, "/nnrf-nfm/v1/nf-instances/"+url.PathEscape(instance), nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK || !json.Valid(body) {
		return nil, fmt.Errorf("profile of %s: status %d", instance, status)
	}
	return stripDatabaseID(body), nil
}

// stripDatabaseID takes out the key of the NRF's own database, which free5GC's NRF hands out too.
func stripDatabaseID(body []byte) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return body
	}
	delete(fields, "_id")
	out, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return out
}

// Register puts a profile back (NFRegister, TS 29.510 5.2.2.2).
func (c *Client) Register(ctx context.Context, instance string, profile json.RawMessage) error {
	_, status, err := c.do(ctx, http.MethodPut, "/nnrf-nfm/v1/nf-instances/"+url.PathEscape(instance), profile)
	if err != nil {
		return err
	}
	if status != http.StatusCreated && status != http.StatusOK {
		return fmt.Errorf("register %s: status %d", instance, status)
	}
	return nil
}

// Deregister takes a profile out (NFDeregister, TS 29.510 5.2.2.4); one that is gone is no error.
func (c *Client) Deregister(ctx context.Context, instance string) error {
	_, status, err := c.do(ctx, http.MethodDelete, "/nnrf-nfm/v1/nf-instances/"+url.PathEscape(instance), nil)
	if err != nil {
		return err
	}
	if status != http.StatusNoContent && status != http.StatusOK && status != http.StatusNotFound {
		return fmt.Errorf("deregister %s: status %d", instance, status)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, 0, err
	}
	return answer, resp.StatusCode, nil
}
