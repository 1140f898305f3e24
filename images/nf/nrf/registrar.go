package nrf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/ts29571"
)

// HeartBeat is the time between two heart-beats, and RetryMin and RetryMax those between two attempts to
// register.
const (
	HeartBeat = 5 * time.Second
	RetryMin  = 500 * time.Millisecond
	RetryMax  = 5 * time.Second
)

const requestTimeout = 4 * time.Second

// Registrar keeps functions registered.
type Registrar struct {
	// Heart-beat and retry intervals; tests shorten them before Run.
	HeartBeat, RetryMin, RetryMax time.Duration

	nrf        string
	functions  []Function
	plmns      func(context.Context) ([]ts29571.PLMN, error)
	client     *http.Client
	log        *slog.Logger
	started    time.Time
	registered *prometheus.GaugeVec

	mu      sync.Mutex
	changed chan struct{} // closed when what is offered has changed
}

// NewRegistrar returns a registrar for the NRF at the base URI. plmns is asked before each registration.
func NewRegistrar(nrf string, functions []Function, plmns func(context.Context) ([]ts29571.PLMN, error),
	log *slog.Logger, reg prometheus.Registerer,
) *Registrar {
	r := &Registrar{
		HeartBeat: HeartBeat, RetryMin: RetryMin, RetryMax: RetryMax,
		nrf: nrf, functions: functions, plmns: plmns, log: log,
		client:  &http.Client{Transport: sbitls.Unprotected()},
		started: time.Now(), changed: make(chan struct{}),
		registered: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "core5g_nf_registered",
			Help: "1 while the NRF holds the profile of the network function.",
		}, []string{"nf_type"}),
	}
	reg.MustRegister(r.registered)
	return r
}

// CallWith has the registrar call the NRF with this transport.
func (r *Registrar) CallWith(transport http.RoundTripper) { r.client.Transport = transport }

// Run keeps all functions registered until ctx ends, and then deregisters them.
func (r *Registrar) Run(ctx context.Context) error {
	for _, f := range r.functions {
		if _, err := f.profile(nil, r.started, r.HeartBeat); err != nil {
			return err
		}
		r.registered.WithLabelValues(f.Type).Set(0)
	}
	var wg sync.WaitGroup
	for _, f := range r.functions {
		wg.Go(func() { r.keep(ctx, f) })
	}
	wg.Wait()
	return nil
}

// Keep keeps one function registered until ctx ends, and then deregisters it unless it Stays. It is for functions that
// come and go while the process lives, beside those that NewRegistrar was given.
func (r *Registrar) Keep(ctx context.Context, f Function) error {
	if _, err := f.profile(nil, r.started, r.HeartBeat); err != nil {
		return err
	}
	r.keep(ctx, f)
	return nil
}

// Changed has what functions offer asked for and registered at once, where it is not what the NRF knows.
func (r *Registrar) Changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Registrar) change() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *Registrar) keep(ctx context.Context, f Function) {
	log := r.log.With("nf_type", f.Type, "nf_instance", f.InstanceID())
	gauge := r.registered.WithLabelValues(f.Type)
	retry := r.RetryMin
	// attempted, because a registration that was cut off may have reached the NRF.
	registered, attempted, complained := false, false, false
	var known []byte // what was registered last
	for ctx.Err() == nil {
		wait := r.HeartBeat
		changed := r.change() // before it is asked for, so that none is missed
		p, err := r.profile(ctx, f)
		var current []byte
		if err == nil {
			current, err = json.Marshal(p)
		}
		switch {
		case err != nil && !registered:
		case registered && (err != nil || bytes.Equal(current, known)):
			err = r.heartBeat(ctx, f)
		default:
			attempted = true
			if err = r.register(ctx, f, p); err == nil {
				known = current
			}
		}
		switch {
		case err == nil && !registered:
			log.Info("registered with the NRF", "nrf", r.nrf)
			registered, complained, retry = true, false, r.RetryMin
		case err == nil:
		case ctx.Err() != nil:
		case registered:
			// Forgotten, or not reachable: in both cases the profile is put again, which is harmless.
			log.Warn("heart-beat failed, registering again", "error", err)
			registered, wait = false, 0
		default:
			if !complained {
				log.Warn("cannot register with the NRF yet, trying on", "nrf", r.nrf, "error", err)
				complained = true
			}
			wait = retry
			retry = min(2*retry, r.RetryMax)
		}
		gauge.Set(map[bool]float64{true: 1}[registered])
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
	}
	if !attempted {
		return
	}
	if f.Stays != nil && f.Stays() {
		log.Info("left registered with the NRF: another process goes on")
		return
	}
	if err := r.deregister(context.WithoutCancel(ctx), f); err != nil {
		log.Warn("deregistration failed", "error", err)
		return
	}
	gauge.Set(0)
	log.Info("deregistered from the NRF")
}

func (r *Registrar) profile(ctx context.Context, f Function) (profile, error) {
	plmns, err := r.plmns(ctx)
	if err != nil {
		return profile{}, err
	}
	return f.profile(plmns, r.started, r.HeartBeat)
}

func (r *Registrar) register(ctx context.Context, f Function, p profile) error {
	status, _, err := r.do(ctx, http.MethodPut, f, "application/json", p)
	if err != nil {
		return err
	}
	if status != http.StatusOK && status != http.StatusCreated {
		return fmt.Errorf("the NRF answered %d to the registration", status)
	}
	return nil
}

var errForgotten = errors.New("the NRF does not know the profile")

// heartBeat is TS 29.510 5.2.2.3.2. free5GC's NRF answers 204 to heart-beats of an instance that it does
// not know, so that only an answer with the profile in it proves anything; without one it is asked for.
func (r *Registrar) heartBeat(ctx context.Context, f Function) error {
	patch := []map[string]string{{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}}
	status, body, err := r.do(ctx, http.MethodPatch, f, "application/json-patch+json", patch)
	if err != nil {
		return err
	}
	if status == http.StatusNoContent {
		if status, body, err = r.do(ctx, http.MethodGet, f, "", nil); err != nil {
			return err
		}
	}
	if status != http.StatusOK || body.NFInstanceID != f.InstanceID() {
		return errForgotten
	}
	return nil
}

// deregister removes the profile, unless another instance of this program has put its own in its place:
// in a rolling update the new pod registers before the old one ends.
func (r *Registrar) deregister(ctx context.Context, f Function) error {
	status, body, err := r.do(ctx, http.MethodGet, f, "", nil)
	if err != nil {
		return err
	}
	if status == http.StatusOK && body.RecoveryTime != "" {
		theirs, err := time.Parse(time.RFC3339, body.RecoveryTime)
		if err == nil && !theirs.Equal(f.recovery(r.started).Truncate(time.Second)) {
			return nil
		}
	}
	status, _, err = r.do(ctx, http.MethodDelete, f, "", nil)
	if err != nil {
		return err
	}
	if status != http.StatusNoContent && status != http.StatusOK && status != http.StatusNotFound {
		return fmt.Errorf("the NRF answered %d to the deregistration", status)
	}
	return nil
}

func (r *Registrar) do(ctx context.Context, method string, f Function, contentType string, content any) (int, profile, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body io.Reader
	if content != nil {
		raw, err := json.Marshal(content)
		if err != nil {
			return 0, profile{}, err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.nrf+"/nnrf-nfm/v1/nf-instances/"+f.InstanceID(), body)
	if err != nil {
		return 0, profile{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, profile{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var p profile
	// Not every answer has a profile; those that need one check its identifier.
	_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&p)
	return resp.StatusCode, p, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
