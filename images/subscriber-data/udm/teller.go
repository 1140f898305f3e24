package udm

// The one of several replicas that tells. It does what need be done once: it looks at everything when it begins, sends what
// another replica had to send and has died over, and drops what nobody will end any more.

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const (
	// abandonedAfter is when who had to tell an AMF has died over it: it would have given up by then.
	abandonedAfter = notificationAge + attemptLimit
	abandonedLook  = 15 * time.Second
	// tidyEvery is also how often everything is looked at without a reason.
	tidyEvery = 10 * time.Minute
)

// Begin says that this replica tells from now on: the one before may have died over anything.
func (u *UDM) Begin() { u.Changed("") }

// Run does what need be done now and then, while this replica tells, until ctx ends. also is done whenever it is tidied.
func (u *UDM) Run(ctx context.Context, also func(context.Context) error) {
	looks, tidies := time.NewTicker(abandonedLook), time.NewTicker(tidyEvery)
	defer looks.Stop()
	defer tidies.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
			if u.tells() {
				err = u.sendAbandoned(ctx, time.Now().Add(-abandonedAfter))
			}
		case <-tidies.C:
			if u.tells() {
				u.Changed("")
				err = errors.Join(u.tidy(ctx), also(ctx))
			}
		}
		if err != nil && ctx.Err() == nil {
			u.log.Warn("what is remembered cannot be tidied yet, trying on", "error", err)
		}
	}
}

// sendAbandoned notifications of deregistration that are older than that.
func (u *UDM) sendAbandoned(ctx context.Context, before time.Time) error {
	var failed error
	err := u.registrations.supis(ctx, groupUntold, ueKey, func(supi string) bool {
		ue, err := u.registrations.ue(ctx, supi)
		if err != nil {
			failed = err
			return false
		}
		for _, f := range ue.Farewells {
			if f.Since.Before(before) {
				u.bidFarewell(supi, f)
			}
		}
		return true
	})
	return errors.Join(err, failed)
}

// bidFarewell to an AMF that serves a UE no longer. Until that is done it stands with the registration.
func (u *UDM) bidFarewell(supi string, f farewell) {
	id := f.Access + supi + " " + f.URI
	if !u.begin(id, supi) {
		return
	}
	u.notifier.deregister(u.registrations, supi, f, func(result string) {
		if result != resultOverflow {
			ctx, cancel := context.WithTimeout(context.Background(), doneLimit)
			defer cancel()
			u.written(u.registrations.told(ctx, supi, f), supi)
		}
		u.end(id)
	})
}

// tidy drops what is kept of subscribers that have been gone for two looks: who served them has been told, and may be gone,
// too.
func (u *UDM) tidy(ctx context.Context) error {
	orphans := make(map[string]bool)
	drop := func(id, supi string, drop func() error) error {
		_, err := u.directory.Subscriber(ctx, supi)
		if !errors.Is(err, subscription.ErrUnknownSubscriber) {
			return err
		}
		if !u.orphans[id] {
			orphans[id] = true
			return nil
		}
		return drop()
	}
	kept := u.registrations.records
	var failed error
	walk := func(group, begin string, leave func(supi, key string, was []byte) []string) error {
		return kept.Members(ctx, group, func(key string) bool {
			supi := supiOf(key[len(begin):])
			failed = drop(key, supi, func() error {
				return kept.Change(ctx, key, false, func(was []byte) (records.Becomes, error) {
					return records.Becomes{Leave: leave(supi, key, was)}, nil
				})
			})
			return failed == nil && ctx.Err() == nil
		})
	}
	err := walk(groupUEs, ueKey, func(_, _ string, was []byte) []string {
		ue := new(servedUE)
		_ = json.Unmarshal(was, ue) // of one that cannot be read, nothing more is known
		return append(ue.groups(), groupUEs)
	})
	if err == nil && failed == nil {
		err = walk(groupSessions, sessionKey, func(supi, _ string, _ []byte) []string { return groupsOfSession(supi) })
	}
	if err == nil && failed == nil {
		var owners map[string]bool
		if owners, err = u.subscriptions.Owners(ctx); err == nil {
			for supi := range owners {
				failed = errors.Join(failed, drop("sdm "+supi, supi, func() error { return u.subscriptions.RemoveAll(ctx, supi) }))
			}
		}
	}
	u.orphans = orphans
	return errors.Join(err, failed)
}
