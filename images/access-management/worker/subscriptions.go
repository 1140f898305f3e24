package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/nf/ts29571"
)

// recording: TS 29.503 5.3.2.2.2, and beside it what is subscribed to, where that is asked for.
func (s *Shard) recording(ctx context.Context, e procedure.AskRecording) procedure.Event {
	p := s.pod
	voice := "HOMOGENEOUS_NON_SUPPORT"
	if e.Voice {
		voice = "HOMOGENEOUS_SUPPORT"
	}
	var beside sync.WaitGroup
	var subscribed procedure.Subscription
	if e.Subscription != nil {
		beside.Go(func() { subscribed = s.subscription(ctx, *e.Subscription) })
	}
	err := p.UDM.Register(ctx, e.SUPI, nudm.Registration{
		AMFInstanceID: p.InstanceID, GUAMI: guami(s.Settings()), DeregistrationURI: namf.DeregistrationURI(p.URI, refOf(e.SUPI)), RAT: radio, PEI: e.PEI,
		Initial: e.Initial, IMSVoiceOverPS: voice, Time: e.Since.UTC(),
	})
	beside.Wait()
	out := procedure.Recorded{Number: e.Number}
	if out.Outcome, out.Cause = outcome(err); err != nil {
		s.complain("the UDM does not take the AMF", err, "supi", e.SUPI)
		s.unsubscribe(e.SUPI, subscribed.Notified)
		return out
	}
	if e.Subscription != nil {
		out.Subscription = &subscribed
	}
	return out
}

// unsubscribe what nobody remembers: the UE asks again, and the UDM would have one more each time.
func (s *Shard) unsubscribe(supi, uri string) {
	if uri == "" {
		return
	}
	s.Do(procedure.TellLeft{SUPI: supi, Notified: uri}, func(procedure.Event) {})
}

// subscription: TS 29.503 5.2.2.2, and changes of it from now on. A UE whose UDM tells of no changes is served all the same.
func (s *Shard) subscription(ctx context.Context, e procedure.AskSubscription) procedure.Subscription {
	p, serving := s.pod, plmnOf(e.PLMN)
	var (
		subscribing sync.WaitGroup
		uri         string
		missed      error
	)
	if e.Notified == "" {
		subscribing.Go(func() {
			uri, missed = p.UDM.Subscribe(ctx, nudm.Subscription{
				SUPI: e.SUPI, AMFInstanceID: p.InstanceID, CallbackURI: namf.SubscriptionURI(p.URI, refOf(e.SUPI)), Serving: serving,
			})
		})
	}
	data, err := p.UDM.Everything(ctx, e.SUPI, serving)
	subscribing.Wait()
	if missed != nil {
		s.complain("the UDM will not tell of changes", missed, "supi", e.SUPI)
	}
	out := procedure.Subscription{Number: e.Number, Notified: uri}
	if out.Outcome, out.Cause = outcome(err); err != nil {
		s.complain("the subscription cannot be had", err, "supi", e.SUPI)
		out.Notified = ""
		s.unsubscribe(e.SUPI, uri)
		return out
	}
	am := data.AccessAndMobility
	if len(am.GPSIs) > 0 {
		out.GPSI = am.GPSIs[0]
	}
	if am.AMBR != nil {
		out.Uplink, out.Downlink = uint64(am.AMBR.Uplink), uint64(am.AMBR.Downlink)
	}
	out.RFSP, out.Periodic = am.RFSP, uint32(am.PeriodicRegistration/time.Second)
	out.Barred = slices.Contains(am.ForbiddenRATs, radio)
	out.Slices = slicesOf(data)
	return out
}

// slicesOf a subscription, those first that UEs have which ask for none.
func slicesOf(data *nudm.Everything) (out []procedure.SubscribedSlice) {
	add := func(n ts29571.SNSSAI, first bool) {
		slice, ok := sliceOf(n)
		if !ok || slices.ContainsFunc(out, func(o procedure.SubscribedSlice) bool { return o.Slice.Is(slice) }) {
			return
		}
		x := procedure.SubscribedSlice{Slice: slice, Default: first, DNN: data.Selection.Default(n)}
		for _, d := range data.Selection[n] {
			x.DNNs = append(x.DNNs, d.Name)
		}
		out = append(out, x)
	}
	for _, n := range data.AccessAndMobility.NSSAI.Default {
		add(n, true)
	}
	for _, n := range data.AccessAndMobility.NSSAI.Others {
		add(n, false)
	}
	return out
}

// left: TS 29.503 5.3.2.4.2. What the UDM does not hear it finds out when the UE registers anew.
func (s *Shard) left(ctx context.Context, e procedure.TellLeft) {
	if e.Notified != "" {
		if err := s.pod.UDM.Unsubscribe(ctx, e.Notified); err != nil {
			s.complain("the UDM goes on telling of changes", err, "supi", e.SUPI)
		}
	}
	if !e.Purged {
		return
	}
	if err := s.pod.UDM.Purge(ctx, e.SUPI, guami(s.Settings()), e.Since.UTC()); err != nil {
		s.complain("the UDM still names this AMF for a UE that has left", err, "supi", e.SUPI)
	}
}
