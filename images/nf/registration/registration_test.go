package registration

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sbitls"
)

const instance = "0227a024-e22b-4cf6-925f-6e89599c096c"

// fakeNRF knows at most one profile.
type fakeNRF struct {
	known, broken, emptyAnswer atomic.Bool
	deleted, seen              atomic.Int32
}

func (n *fakeNRF) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/nnrf-nfm/v1/nf-instances/"+instance {
		http.Error(w, r.URL.Path, http.StatusBadRequest)
		return
	}
	switch {
	case n.broken.Load():
		w.WriteHeader(http.StatusInternalServerError)
	case r.Method == http.MethodDelete:
		n.deleted.Add(1)
		n.known.Store(false)
		w.WriteHeader(http.StatusNoContent)
	case n.known.Load():
		n.seen.Add(1)
		_, _ = io.WriteString(w, `{"nfInstanceId": "`+instance+`"}`)
	case n.emptyAnswer.Load():
		w.WriteHeader(http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func startKeeper(t *testing.T, register func(context.Context, *fakeNRF) error) (*fakeNRF, *Keeper) {
	t.Helper()
	nrf := new(fakeNRF)
	server := httptest.NewUnstartedServer(nrf)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	k := New(server.URL, instance, sbitls.Unprotected(), slog.New(slog.DiscardHandler), func(ctx context.Context) error {
		return register(ctx, nrf)
	})
	k.check, k.retry = time.Millisecond, time.Millisecond
	t.Cleanup(k.client.CloseIdleConnections)
	return nrf, k
}

func TestLostProfilesAreRegisteredAgain(t *testing.T) {
	for _, answer := range []string{"404", "an empty 200"} {
		t.Run(answer, func(t *testing.T) {
			registered := make(chan struct{}, 10)
			nrf, k := startKeeper(t, func(_ context.Context, nrf *fakeNRF) error {
				nrf.known.Store(true)
				registered <- struct{}{}
				return nil
			})
			nrf.emptyAnswer.Store(answer != "404")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go k.Run(ctx)
			select {
			case <-registered:
				t.Fatal("registered before the function did so itself")
			case <-time.After(30 * k.check):
			}
			nrf.known.Store(true)
			for range 3 {
				// The keeper must have seen the profile before it is lost: when it asks a second
				// time, it has read the first answer.
				for before := nrf.seen.Load(); nrf.seen.Load() < before+2; {
					time.Sleep(k.check)
				}
				nrf.known.Store(false)
				select {
				case <-registered:
				case <-time.After(time.Minute):
					t.Fatal("not registered again")
				}
			}
		})
	}
}

// A database that loses everything does not wait until a function that has just started is checked for the first time.
func TestProfileOfANewFunctionIsSeenSoon(t *testing.T) {
	nrf, k := startKeeper(t, nil)
	k.look, k.check = time.Millisecond, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go k.Run(ctx)
	nrf.known.Store(true)
	for deadline := time.Now().Add(time.Minute); !k.Registered(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the profile was not looked for")
		}
	}
}

func TestAnNRFInTroubleIsLeftAlone(t *testing.T) {
	nrf, k := startKeeper(t, func(context.Context, *fakeNRF) error {
		t.Error("registered with an NRF that answers 500")
		return nil
	})
	nrf.known.Store(true)
	k.once(t.Context())
	nrf.broken.Store(true)
	k.once(t.Context())
	if !k.present {
		t.Error("the profile is not remembered")
	}
}

func TestWithdrawWaitsForTheNRF(t *testing.T) {
	nrf, k := startKeeper(t, nil)
	nrf.broken.Store(true)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := k.Withdraw(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v while the NRF is broken", err)
	}
	nrf.broken.Store(false)
	nrf.known.Store(true)
	if err := k.Withdraw(t.Context()); err != nil || nrf.known.Load() || nrf.deleted.Load() == 0 {
		t.Errorf("got %v, the profile is there: %v", err, nrf.known.Load())
	}
}

func TestInstanceIDStaysAndCanBeSet(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "cfg.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	derived := write("configuration:\n  nrfUri: http://nrf:8000\n  sbi: {registerIPv4: core5g-smf-a, port: 8000}\n")
	other := write("configuration:\n  nrfUri: http://nrf:8000\n  sbi: {registerIPv4: core5g-smf-b, port: 8000}\n")
	given := write("configuration:\n  nfInstanceId: " + instance + "\n  sbi: {registerIPv4: core5g-smf-a}\n")
	id := func(file string) string {
		t.Helper()
		id, err := InstanceID("TEST_NF_INSTANCE_ID", "SMF", file)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if got := id(derived); !version4.MatchString(got) || got != id(derived) || got == id(other) {
		t.Errorf("derived %s, again %s, at another address %s", got, id(derived), id(other))
	}
	if got := id(given); got != instance {
		t.Errorf("configured: got %s", got)
	}
	t.Setenv("TEST_NF_INSTANCE_ID", "11111111-1111-4111-8111-111111111111")
	if got := id(given); got != "11111111-1111-4111-8111-111111111111" {
		t.Errorf("environment: got %s", got)
	}
	if _, err := InstanceID("NO_SUCH_VARIABLE", "SMF", "/nonexistent"); err == nil {
		t.Error("a missing file gave an id")
	}
}
