package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/free5gc/smf/pkg/service"
)

// free5GC's SMF leaves without a word, and its UEs keep PDU sessions that nobody serves. An SMF that is
// told to end (its Slice is deleted, its pod moves) leaves the NRF, so that it gets no new sessions, and
// has the AMF release those it has (TS 23.502 4.3.4.2). What the UPF still holds then goes with the PFCP
// association: the successor sets it up anew, or the operator releases it with the Slice.

// drainLimit bounds the wait for the UEs' answers.
const drainLimit = 3 * time.Second

// drain returns when nobody needs this SMF any more, or when drainLimit has passed.
func drain(app *service.SmfApp, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	if _, err := app.Consumer().SendDeregisterNFInstance(); err != nil {
		log.Warn("the NRF keeps the profile until the successor replaces it", "error", err)
	}
	self := app.Context()
	self.UserPlaneInformation.Mu.RLock()
	defer self.UserPlaneInformation.Mu.RUnlock()
	for name, node := range self.UserPlaneInformation.UPFs {
		sessions := count(node.UPF.ProcEachSMContext)
		if sessions == 0 {
			continue
		}
		log.Info("releasing the PDU sessions at the UEs", "upf", name, "sessions", sessions)
		released := make(chan struct{})
		go func() {
			defer close(released)
			app.Processor().ReleaseAllResourcesOfUPF(node.UPF)
			awaitNone(ctx, node.UPF.ProcEachSMContext)
		}()
		select {
		case <-released:
		case <-ctx.Done():
		}
	}
}

// count tells how often each calls back.
func count[T any](each func(func(T))) int {
	n := 0
	each(func(T) { n++ })
	return n
}

// awaitNone returns when each calls back no more.
func awaitNone[T any](ctx context.Context, each func(func(T))) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for count(each) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
