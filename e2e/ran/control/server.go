package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/sim"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// Listen opens "host:port", or "unix:/path" in place of a socket that an earlier run left.
func Listen(address string) (net.Listener, error) {
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return net.Listen("tcp", address)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

// badRequest is an error of the caller's making.
type badRequest struct{ error }

// Handler serves the API.
func Handler(s *sim.Simulation) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", answer(func(r *http.Request) (any, error) { return status(s, r) }))
	mux.HandleFunc("POST /ues", answer(func(r *http.Request) (any, error) { return add(s, r) }))
	mux.HandleFunc("DELETE /ues/{supi}", answer(func(r *http.Request) (any, error) {
		return struct{}{}, s.Remove(r.Context(), r.PathValue("supi"))
	}))
	all := maps.Clone(actions)
	maps.Copy(all, sessionActions)
	for name, action := range all {
		mux.HandleFunc("POST /ues/{supi}/"+name, answer(func(r *http.Request) (any, error) {
			req, err := read(r)
			if err != nil {
				return nil, err
			}
			u, err := s.UE(r.PathValue("supi"))
			if err != nil {
				return nil, err
			}
			return action(r.Context(), s, u, req)
		}))
	}
	for name, action := range cellActions {
		mux.HandleFunc("POST /gnbs/{name}/"+name, answer(func(r *http.Request) (any, error) {
			req, err := read(r)
			if err != nil {
				return nil, err
			}
			g, err := s.GNB(r.PathValue("name"))
			if err != nil {
				return nil, err
			}
			err = action(g, req)
			return g.Status(), err
		}))
	}
	return mux
}

// read takes the arguments of an action.
func read(r *http.Request) (Request, error) {
	var req Request
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil && !errors.Is(err, io.EOF) {
		return req, badRequest{err}
	}
	return req, nil
}

// Health serves /healthz, and /readyz once the gNB has an AMF.
func Health(s *sim.Simulation) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if g := s.Status("").GNB; g.State != "connected" {
			http.Error(w, "no N2: "+g.LastError, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// answer writes a result, or an error under the status that fits it.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		code := http.StatusOK
		if err != nil {
			code = statusOf(err)
			v = Failure{Error: err.Error(), Result: v}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
}

// Failure is the body of an error; Result holds what there was until then.
type Failure struct {
	Error  string `json:"error"`
	Result any    `json:"result,omitempty"`
}

func statusOf(err error) int {
	var bad badRequest
	var reject *uenas.RejectError
	var refused *gnb.HandoverError
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest
	case errors.Is(err, sim.ErrNoUE), errors.Is(err, ue.ErrNoSession), errors.Is(err, sim.ErrNoGNB), errors.Is(err, gnb.ErrNoResource), errors.Is(err, gnb.ErrNoFlow):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.As(err, &reject), errors.As(err, &refused):
		return http.StatusBadGateway
	case errors.Is(err, gnb.ErrNoN2), errors.Is(err, ue.ErrNotRegistered), errors.Is(err, ue.ErrIdle), errors.Is(err, sim.ErrNoAddress), errors.Is(err, sim.ErrNotConnected),
		errors.Is(err, gnb.ErrDead), errors.Is(err, gnb.ErrAlive), errors.Is(err, gnb.ErrEnded), errors.Is(err, gnb.ErrOverload):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func status(s *sim.Simulation, r *http.Request) (any, error) {
	q := r.URL.Query()
	supi := q.Get("ue")
	if supi != "" {
		if _, err := s.UE(supi); err != nil {
			return nil, err
		}
	}
	if w := q.Get("wait"); w != "" {
		d, err := time.ParseDuration(w)
		if err != nil {
			return nil, badRequest{err}
		}
		ctx, cancel := context.WithTimeout(r.Context(), d)
		defer cancel()
		if err := s.WaitReady(ctx, supi); err != nil {
			return s.Status(supi), fmt.Errorf("not ready after %s: %w", d, err)
		}
	}
	return s.Status(supi), nil
}

// add takes one entry of the configuration's ues.
func add(s *sim.Simulation, r *http.Request) (any, error) {
	var u config.UE
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&u); err != nil {
		return nil, badRequest{err}
	}
	var errs []error
	list := u.Check("ue", s.PLMN(), func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	})
	if len(errs) > 0 {
		return nil, badRequest{errors.Join(errs...)}
	}
	added := []string{}
	for _, c := range list {
		if err := s.Add(c); err != nil {
			return nil, badRequest{err}
		}
		added = append(added, c.SUPI)
	}
	return map[string]any{"added": added}, nil
}

// Request carries the arguments of every action; each takes its own.
type Request struct {
	TimeoutMS int `json:"timeout_ms,omitempty"`

	Session   uint8           `json:"session,omitempty"`
	Establish *config.Session `json:"establish,omitempty"`
	SwitchOff bool            `json:"switch_off,omitempty"`
	SQN       string          `json:"sqn,omitempty"`

	To         string `json:"to,omitempty"`
	Count      int    `json:"count,omitempty"`
	IntervalMS int    `json:"interval_ms,omitempty"`
	ReplyMS    int    `json:"reply_timeout_ms,omitempty"`
	Size       int    `json:"size,omitempty"`
	WarmUpMS   int    `json:"warm_up_ms,omitempty"`
	InProcess  bool   `json:"in_process,omitempty"`
	Direction  string `json:"direction,omitempty"`
	LengthMS   int    `json:"length_ms,omitempty"`
	URL        string `json:"url,omitempty"`

	Raw *sim.RawGTPU `json:"raw,omitempty"`

	Modify       *config.Modify       `json:"modify,omitempty"`
	Behaviour    *ue.Behaviour        `json:"behaviour,omitempty"`
	RawSM        *RawSM               `json:"raw_5gsm,omitempty"`
	Rate         int                  `json:"rate,omitempty"`
	GNB          string               `json:"gnb,omitempty"` // name or ID
	Kind         string               `json:"kind,omitempty"`
	Handover     *gnb.HandoverOptions `json:"handover,omitempty"`
	Notification *gnb.Notification    `json:"notification,omitempty"`
	Radio        *gnb.Behaviour       `json:"radio,omitempty"`
	Silent       bool                 `json:"silent,omitempty"`
}

// RawSM is a 5GSM message of any octets.
type RawSM struct {
	Payload string         `json:"payload"`                // hexadecimal
	Request int            `json:"request_type,omitempty"` // of UL NAS TRANSPORT: 1 initial, 5 modification
	SNSSAI  *config.SNSSAI `json:"snssai,omitempty"`
	DNN     string         `json:"dnn,omitempty"`
}

func (r Request) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	d := time.Duration(r.TimeoutMS) * time.Millisecond
	if d <= 0 {
		d = 30 * time.Second
	}
	return context.WithTimeout(ctx, d)
}

type action func(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error)

// procedure makes an action of a procedure that answers with the UE's state afterwards.
func procedure(f func(ctx context.Context, u *ue.UE, r Request) error) action {
	return func(ctx context.Context, _ *sim.Simulation, u *ue.UE, r Request) (any, error) {
		ctx, cancel := r.bound(ctx)
		defer cancel()
		err := f(ctx, u, r)
		return u.Status(), err
	}
}

// register also gives the UE's sessions a moment, so that its answer shows them.
func register(ctx context.Context, u *ue.UE, _ Request) error {
	if err := u.Register(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = u.Wait(ctx, func(s ue.Status) bool { return s.Ready })
	return nil
}

var actions = map[string]action{
	"register":        procedure(register),
	"deregister":      procedure(func(ctx context.Context, u *ue.UE, r Request) error { return u.Deregister(ctx, r.SwitchOff) }),
	"idle":            procedure(func(ctx context.Context, u *ue.UE, _ Request) error { return u.Idle(ctx) }),
	"service-request": procedure(func(ctx context.Context, u *ue.UE, _ Request) error { return u.ServiceRequest(ctx) }),
	"release":         procedure(func(ctx context.Context, u *ue.UE, r Request) error { return u.Release(ctx, max(r.Session, 1)) }),
	"session": procedure(func(ctx context.Context, u *ue.UE, r Request) error {
		if r.Establish == nil {
			return badRequest{errors.New("establish is missing")}
		}
		var errs []error
		c := r.Establish.Check("establish", func(key, format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
		})
		if len(errs) > 0 {
			return badRequest{errors.Join(errs...)}
		}
		return u.Establish(ctx, c)
	}),
	"sqn": procedure(func(_ context.Context, u *ue.UE, r Request) error {
		v, err := strconv.ParseUint(r.SQN, 16, 48)
		if err != nil {
			return badRequest{fmt.Errorf("sqn %q: write up to 12 hexadecimal digits", r.SQN)}
		}
		u.USIM().SetSQN(v)
		return nil
	}),
	"ping": func(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
		to, err := netip.ParseAddr(r.To)
		if err != nil {
			return nil, badRequest{fmt.Errorf("to %q is not an IP address", r.To)}
		}
		return s.Ping(ctx, u.SUPI(), r.Session, measure.PingConfig{
			To: to, Count: r.Count, Interval: time.Duration(r.IntervalMS) * time.Millisecond,
			Timeout: time.Duration(r.ReplyMS) * time.Millisecond, Size: r.Size,
			WarmUp: time.Duration(r.WarmUpMS) * time.Millisecond,
		}, r.InProcess)
	},
	"throughput": func(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
		to, err := serverAddress(r.To)
		if err != nil {
			return nil, badRequest{err}
		}
		return s.Throughput(ctx, u.SUPI(), r.Session, to, r.Direction, time.Duration(r.LengthMS)*time.Millisecond)
	},
	"http": func(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
		ctx, cancel := r.bound(ctx)
		defer cancel()
		return s.Fetch(ctx, u.SUPI(), r.Session, r.URL)
	},
	"raw-gtpu": func(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
		if r.Raw == nil {
			return nil, badRequest{errors.New("raw is missing")}
		}
		return s.SendRaw(ctx, u.SUPI(), *r.Raw)
	},
}

// serverAddress takes an address with or without a port.
func serverAddress(s string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(a, measure.ThroughputPort), nil
	}
	p, err := netip.ParseAddrPort(s)
	if err != nil {
		return p, fmt.Errorf("to %q is neither an IP address nor address:port", s)
	}
	return p, nil
}
