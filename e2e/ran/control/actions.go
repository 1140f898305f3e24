package control

// The actions that show session management and mobility: modification, behaviour, handover, streams.

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/sim"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// sessionActions are added to the table of actions.
var sessionActions = map[string]action{
	"again":       procedure(func(ctx context.Context, u *ue.UE, r Request) error { return u.EstablishAgain(ctx, max(r.Session, 1)) }),
	"modify":      procedure(modify),
	"behave":      procedure(behave),
	"repeat-nas":  procedure(func(ctx context.Context, u *ue.UE, _ Request) error { return u.RepeatNAS(ctx) }),
	"raw-5gsm":    procedure(rawSM),
	"notify":      procedure(notify),
	"move-tunnel": procedure(moveTunnel),
	"camp":        camp,
	"handover":    handover,
	"stream":      stream,
	"start":       start,
}

// collect gathers what is wrong with a part of a request.
func collect(check func(say func(key, format string, args ...any))) error {
	var errs []error
	check(func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	})
	if len(errs) > 0 {
		return badRequest{errors.Join(errs...)}
	}
	return nil
}

func missing(what string) error { return badRequest{errors.New(what + " is missing")} }

func modify(ctx context.Context, u *ue.UE, r Request) error {
	if r.Modify == nil {
		return missing("modify")
	}
	var m uenas.ModificationRequest
	if err := collect(func(say func(string, string, ...any)) { m = r.Modify.Check("modify", say) }); err != nil {
		return err
	}
	return u.Modify(ctx, max(r.Session, 1), m)
}

func behave(ctx context.Context, u *ue.UE, r Request) error {
	b := ue.Behaviour{}
	if r.Behaviour != nil {
		b = *r.Behaviour
	}
	if err := b.Check(); err != nil {
		return badRequest{fmt.Errorf("behaviour: %w", err)}
	}
	return u.Behave(ctx, b)
}

func rawSM(ctx context.Context, u *ue.UE, r Request) error {
	if r.RawSM == nil {
		return missing("raw_5gsm")
	}
	m := ue.RawSM{PSI: max(r.Session, 1), Request: uint8(r.RawSM.Request), DNN: r.RawSM.DNN}
	var err error
	if m.Payload, err = hex.DecodeString(strings.ReplaceAll(r.RawSM.Payload, " ", "")); err != nil || len(m.Payload) == 0 {
		return badRequest{fmt.Errorf("payload %q: write hexadecimal octets, such as 2e0105c1", r.RawSM.Payload)}
	}
	if r.RawSM.Request < 0 || r.RawSM.Request > 7 {
		return badRequest{fmt.Errorf("request_type %d: write 1 to 7 (1 initial, 5 modification), or leave it out", r.RawSM.Request)}
	}
	if s := r.RawSM.SNSSAI; s != nil {
		var slice uenas.SNSSAI
		if err := collect(func(say func(string, string, ...any)) { slice = s.Check("snssai", say) }); err != nil {
			return err
		}
		m.Slice = &slice
	}
	return u.SendSM(ctx, m)
}

func notify(_ context.Context, u *ue.UE, r Request) error {
	c := u.Connection()
	if c == nil {
		return sim.ErrNotConnected
	}
	n := gnb.Notification{}
	if r.Notification != nil {
		n = *r.Notification
	}
	if !n.Session && len(n.Fulfilled)+len(n.NotFulfilled)+len(n.Released) == 0 {
		return badRequest{errors.New("notification: it tells nothing; write fulfilled, not_fulfilled or released flows, or session")}
	}
	return c.Notify(max(r.Session, 1), n)
}

// Started is how long a UE took from its switching on until its sessions were there, and an address in the data network had answered, in milliseconds.
type Started struct {
	Registered float64 `json:"registered_ms"`
	Ready      float64 `json:"ready_ms"`
	Answered   float64 `json:"answered_ms"`
}

// start a UE that is switched off before, so often as is wanted. It pings every 20 ms.
func start(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
	to, err := netip.ParseAddr(r.To)
	if err != nil {
		return nil, badRequest{fmt.Errorf("to %q is not an IP address", r.To)}
	}
	list := []Started{}
	for range max(r.Count, 1) {
		one, err := startOnce(ctx, s, u, r, to)
		if err != nil {
			return list, err
		}
		list = append(list, one)
	}
	return list, nil
}

func startOnce(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request, to netip.Addr) (Started, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	if err := u.Deregister(ctx, true); err != nil && !errors.Is(err, ue.ErrNotRegistered) {
		return Started{}, err
	}
	began := time.Now()
	since := func() float64 { return float64(time.Since(began).Microseconds()) / 1000 }
	if err := u.Register(ctx); err != nil {
		return Started{}, err
	}
	one := Started{Registered: since()}
	if err := u.Wait(ctx, func(s ue.Status) bool { return s.Ready }); err != nil {
		return one, fmt.Errorf("no session: %w", err)
	}
	one.Ready = since()
	_, err := s.Ping(ctx, u.SUPI(), r.Session, measure.PingConfig{To: to, Count: 1, Interval: time.Millisecond, WarmUp: 10 * time.Second, WarmUpOnly: true}, r.InProcess)
	one.Answered = since()
	return one, err
}

func moveTunnel(ctx context.Context, u *ue.UE, r Request) error {
	c := u.Connection()
	if c == nil {
		return sim.ErrNotConnected
	}
	return c.MoveTunnel(ctx, max(r.Session, 1))
}

func camp(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
	if r.GNB == "" {
		return nil, missing("gnb")
	}
	ctx, cancel := r.bound(ctx)
	defer cancel()
	err := s.Camp(ctx, u, r.GNB)
	return u.Status(), err
}

func handover(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
	if r.GNB == "" {
		return nil, missing("gnb")
	}
	if r.Kind != "xn" && r.Kind != "n2" {
		return nil, badRequest{fmt.Errorf("kind %q is neither xn nor n2", r.Kind)}
	}
	o := gnb.HandoverOptions{}
	if r.Handover != nil {
		o = *r.Handover
	}
	if err := o.Check(); err != nil {
		return nil, badRequest{err}
	}
	ctx, cancel := r.bound(ctx)
	defer cancel()
	return s.Handover(ctx, u, r.Kind, r.GNB, o)
}

func stream(ctx context.Context, s *sim.Simulation, u *ue.UE, r Request) (any, error) {
	to, err := netip.ParseAddrPort(r.To)
	if a, e := netip.ParseAddr(r.To); e == nil {
		to, err = netip.AddrPortFrom(a, measure.StreamPort), nil
	}
	if err != nil {
		return nil, badRequest{fmt.Errorf("to %q is neither an IP address nor address:port", r.To)}
	}
	c := measure.StreamConfig{Direction: r.Direction, Count: r.Count, Rate: r.Rate, Size: r.Size}
	if err := c.Check(); err != nil {
		return nil, badRequest{err}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Count)*time.Second/time.Duration(c.Rate)+time.Minute)
	defer cancel()
	return s.Stream(ctx, u.SUPI(), r.Session, to, c)
}

type cellAction func(g *gnb.GNB, r Request) error

var cellActions = map[string]cellAction{
	"behave": func(g *gnb.GNB, r Request) error {
		b := gnb.Behaviour{}
		if r.Radio != nil {
			b = *r.Radio
		}
		if err := b.Check(); err != nil {
			return badRequest{err}
		}
		g.Behave(b)
		return nil
	},
	"die":    func(g *gnb.GNB, r Request) error { return g.Die(r.Silent) },
	"revive": func(g *gnb.GNB, _ Request) error { return g.Revive() },
}
