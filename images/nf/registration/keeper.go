package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	// checkInterval is how long the core may lack a function that its NRF has forgotten.
	checkInterval = 5 * time.Second
	// lookInterval is the first pause before the profile of a function that has just started is looked for, and
	// twice as long each time until it is seen: what is lost before that stays lost.
	lookInterval = 100 * time.Millisecond
	// retryInterval is the pause before the NRF is asked again while it does not answer.
	retryInterval  = time.Second
	requestTimeout = 3 * time.Second
)

// Keeper watches one NF instance at one NRF.
type Keeper struct {
	// NRF is the NRF's base URI, http or https.
	NRF string
	// InstanceID is the NF instance id.
	InstanceID string
	// Register registers the function as it did when it started.
	Register func(context.Context) error
	// Log receives what changes.
	Log *slog.Logger

	client  *http.Client
	look    time.Duration
	check   time.Duration
	retry   time.Duration
	present bool
	// registered is what the NRF last said.
	registered atomic.Bool
}

// Registered says whether the NRF had the profile when it was last asked.
func (k *Keeper) Registered() bool { return k.registered.Load() }

// New gives a Keeper that calls the NRF with the transport. oauth2 is not supported: an NRF that asks for a token
// answers 401, and the Keeper then leaves the registration alone.
func New(nrf, instanceID string, transport http.RoundTripper, log *slog.Logger, register func(context.Context) error) *Keeper {
	return &Keeper{
		NRF: nrf, InstanceID: instanceID, Register: register, Log: log,
		look: lookInterval, check: checkInterval, retry: retryInterval,
		client: &http.Client{Timeout: requestTimeout, Transport: transport},
	}
}

func (k *Keeper) do(ctx context.Context, method string) (int, []byte, error) {
	target, err := url.JoinPath(k.NRF, "/nnrf-nfm/v1/nf-instances/", k.InstanceID)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := k.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, body, err
}

// Withdraw removes the profile that an earlier life of this function left at the NRF: free5GC's
// functions lose their instance id when their registration turns out to be an update. It waits for the
// NRF, as the function itself would.
func (k *Keeper) Withdraw(ctx context.Context) error {
	for waiting := false; ; waiting = true {
		status, _, err := k.do(ctx, http.MethodDelete)
		if err == nil && status < http.StatusInternalServerError {
			return nil
		}
		if !waiting {
			k.Log.Info("waiting for the NRF", "nrf", k.NRF, "status", status, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the NRF %s: %w", k.NRF, ctx.Err())
		case <-time.After(k.retry):
		}
	}
}

// Run registers the function again whenever the NRF has lost its profile, until ctx ends. It begins to
// watch once it has seen the profile, so that it never overtakes the function's own registration.
func (k *Keeper) Run(ctx context.Context) {
	for pause := min(k.look, k.check); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			k.once(ctx)
		}
		if pause = min(2*pause, k.check); k.present {
			pause = k.check
		}
	}
}

func (k *Keeper) once(ctx context.Context) {
	status, body, err := k.do(ctx, http.MethodGet)
	k.registered.Store(err == nil && status == http.StatusOK && holds(body, k.InstanceID))
	switch {
	case err != nil:
		// The NRF is away; its profiles may well be there when it comes back.
	case k.registered.Load():
		k.present = true
	case status == http.StatusNotFound && k.present, status == http.StatusOK && len(body) == 0 && k.present:
		// free5GC's NRF answers an empty 200 where its database has no such profile.
		k.Log.Warn("the NRF does not know this function any more: registering again", "instance", k.InstanceID)
		if err := k.Register(ctx); err != nil {
			k.Log.Error("registration failed", "error", err)
		}
	}
}

func holds(body []byte, instanceID string) bool {
	var profile struct {
		NfInstanceID string `json:"nfInstanceId"`
	}
	return json.Unmarshal(body, &profile) == nil && profile.NfInstanceID == instanceID
}
