package standby

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// Lease is an Arbiter: the record of a unit in a Kubernetes Lease, an annotation of it, changed by its resourceVersion. Holder, number of epochs
// and time of the last renewal stand where Kubernetes has them, too, for those who look.
type Lease struct {
	cfg    config.Lease
	client *http.Client
	now    func() time.Time
}

// NewLease is the arbiter that cfg names.
func NewLease(cfg config.Lease) (*Lease, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	if cfg.Authority != "" && strings.HasPrefix(cfg.Server, "https:") {
		roots, err := authorities(cfg.Authority)
		if err != nil {
			return nil, fmt.Errorf("redundancy.lease.authority: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	return &Lease{cfg: cfg, client: &http.Client{Transport: transport}, now: time.Now}, nil
}

const annotation = fencing.RecordAnnotation

// lease is what of a Lease is read and written.
type lease struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   leaseMeta `json:"metadata"`
	Spec       leaseSpec `json:"spec"`
}

type leaseMeta struct {
	Name            string            `json:"name,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

type leaseSpec struct {
	HolderIdentity   string `json:"holderIdentity,omitempty"`
	LeaseTransitions uint32 `json:"leaseTransitions,omitempty"`
	RenewTime        string `json:"renewTime,omitempty"`
}

// leaseMax is the most octets of an answer.
const leaseMax = 1 << 20

func (l *Lease) ask(ctx context.Context, method, name string, body any) (status int, found lease, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return 0, found, err
	}
	at, err := url.JoinPath(l.cfg.Server, "apis/coordination.k8s.io/v1/namespaces", l.cfg.Namespace, "leases", name)
	if err != nil {
		return 0, found, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(b))
	if err != nil {
		return 0, found, err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch { // what others have written there stays
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if l.cfg.Token != "" {
		token, err := os.ReadFile(l.cfg.Token) // it is renewed
		if err != nil {
			return 0, found, err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, found, err
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err = io.ReadAll(io.LimitReader(resp.Body, leaseMax)); err != nil {
		return 0, found, err
	}
	if resp.StatusCode/100 == 2 {
		err = json.Unmarshal(b, &found)
	}
	return resp.StatusCode, found, err
}

// Read implements Arbiter. A Lease without a record of ours is an error: it is somebody else's.
func (l *Lease) Read(ctx context.Context) (fencing.Seen, error) {
	status, found, err := l.ask(ctx, http.MethodGet, l.cfg.Name, nil)
	switch {
	case err != nil:
		return fencing.Seen{}, err
	case status == http.StatusNotFound:
		return fencing.Seen{}, nil
	case status != http.StatusOK:
		return fencing.Seen{}, fmt.Errorf("reading Lease %s/%s: status %d", l.cfg.Namespace, l.cfg.Name, status)
	}
	seen := fencing.Seen{Version: fencing.Version(found.Metadata.ResourceVersion)}
	if seen.Version == "" {
		return seen, fmt.Errorf("Lease %s/%s has no resourceVersion", l.cfg.Namespace, l.cfg.Name)
	}
	if err := json.Unmarshal([]byte(found.Metadata.Annotations[annotation]), &seen.Record); err != nil {
		return fencing.Seen{}, fmt.Errorf("Lease %s/%s: annotation %s: %w; delete the Lease if no unit uses it", l.cfg.Namespace, l.cfg.Name, annotation, err)
	}
	return seen, nil
}

// Write implements Arbiter.
func (l *Lease) Write(ctx context.Context, w fencing.Write) (fencing.Outcome, fencing.Version, error) {
	record, err := json.Marshal(w.Record)
	if err != nil {
		return fencing.Unknown, "", err
	}
	next := lease{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
		Metadata: leaseMeta{ResourceVersion: string(w.If), Annotations: map[string]string{annotation: string(record)}},
		Spec: leaseSpec{
			HolderIdentity: w.Holder, LeaseTransitions: uint32(w.Epoch), RenewTime: l.now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		},
	}
	method, name := http.MethodPatch, l.cfg.Name
	if w.If == "" {
		method, name = http.MethodPost, ""
		next.Metadata.Name, next.Metadata.Namespace = l.cfg.Name, l.cfg.Namespace
	}
	status, found, err := l.ask(ctx, method, name, next)
	switch {
	case err != nil:
		return fencing.Unknown, "", err
	case status == http.StatusConflict || status == http.StatusNotFound:
		return fencing.Refused, "", nil
	case status/100 != 2:
		return fencing.Unknown, "", fmt.Errorf("writing Lease %s/%s: status %d", l.cfg.Namespace, l.cfg.Name, status)
	}
	return fencing.Done, fencing.Version(found.Metadata.ResourceVersion), nil
}
