package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// trial does to a unit what its case is about, and returns when the unit is well again, but for its standby.
type trial struct {
	do func(*scene, context.Context, unitState) error
	// moves: the standby takes over, and nothing else happens to it.
	moves bool
}

var cases = map[string]trial{
	"kill":      {kill, true},
	"switch":    {switchUnit, true},
	"upgrade":   {upgrade, false},
	"cut_units": {cutUnits, false},
	"cut_api":   {cutAPI, false},
}

func caseNames() []string { return slices.Sorted(maps.Keys(cases)) }

// settled is how long packets pass before and after.
const settled = 2 * time.Second

// try runs a case under packets. An error is of the case, or of the cluster.
func (s *scene) try(ctx context.Context, name string) error {
	o := outcome{name: name}
	if err := s.inSync(ctx); err != nil {
		return fmt.Errorf("%s: before: %w", name, err)
	}
	before, err := s.state(ctx)
	if err != nil {
		return err
	}
	checked, err := s.checked(ctx)
	if err != nil {
		return err
	}
	if checked.Lost > 0 {
		return fmt.Errorf("%s: %d of %d sessions are gone before", name, checked.Lost, checked.Sessions)
	}
	setUps, err := s.setUps(ctx)
	if err != nil {
		return err
	}
	if err := s.tell(ctx, nil, "/begin", url.Values{"rate": {fmt.Sprint(s.rate)}}); err != nil {
		return err
	}
	if err := s.passing(ctx); err != nil {
		return err
	}
	if err := cases[name].do(s, ctx, before); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if cases[name].moves {
		if err := s.moved(ctx, before); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := s.passing(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := s.tell(ctx, &o.packets, "/end", nil); err != nil {
		return err
	}
	if o.check, err = s.checked(ctx); err != nil {
		return err
	}
	after, err := s.state(ctx)
	if err != nil {
		return err
	}
	o.epochs = after.epoch - before.epoch
	if !o.check.Recovery.Equal(checked.Recovery) {
		o.wrong = append(o.wrong, fmt.Sprintf("the Recovery Time Stamp is %s, and was %s", o.check.Recovery, checked.Recovery))
	}
	if now, err := s.setUps(ctx); err != nil {
		return err
	} else if now > setUps {
		o.wrong = append(o.wrong, fmt.Sprintf("the SMFs have set up %.0f associations anew", now-setUps))
	}
	fmt.Println(o.line())
	return o.judge()
}

// passing waits until packets have passed for a while.
func (s *scene) passing(ctx context.Context) error {
	return s.probe.Passing(ctx, int(settled.Seconds()*float64(s.rate)))
}

// moved waits until the standby serves, and N4 leads there.
func (s *scene) moved(ctx context.Context, before unitState) error {
	return cluster.Eventually(ctx, patience, func() error {
		st, err := s.state(ctx)
		switch {
		case err != nil:
			return err
		case st.holder.Metadata.UID != before.standby.Metadata.UID:
			return fmt.Errorf("%s serves, want %s", st.holder.Metadata.Name, before.standby.Metadata.Name)
		case !st.holder.Ready():
			return fmt.Errorf("%s is not ready", st.holder.Metadata.Name)
		}
		return nil
	})
}

// kill ends all processes of the pod that serves, at once.
func kill(s *scene, ctx context.Context, before unitState) error {
	return s.within(ctx, before.holder, "kill -9 $pids")
}

func switchUnit(s *scene, ctx context.Context, _ unitState) error {
	out, err := s.Shell(ctx, "kubectl core5g switch "+unit+" -n "+cluster.Namespace)
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// upgrade gives both pods another template, as a new version of core5g does, and waits until they have it: with updateStrategy Switch nobody lets
// it through.
func upgrade(s *scene, ctx context.Context, before unitState) error {
	s.upgrades++
	if err := s.setFunctions(ctx); err != nil {
		return err
	}
	return cluster.Eventually(ctx, patience, func() error {
		st, err := s.state(ctx)
		if err != nil {
			return err
		}
		for _, pod := range []cluster.Object{st.holder, st.standby} {
			for _, old := range []cluster.Object{before.holder, before.standby} {
				if pod.Metadata.UID == old.Metadata.UID {
					return fmt.Errorf("pod %s is of before", pod.Metadata.Name)
				}
			}
		}
		return s.well(ctx, "Ready", "StandbyInSync")
	})
}

// cutTime is several times what a grant lasts.
const cutTime = 15 * time.Second

// cut keeps packets of a pod from addresses, for a while, and does then meanwhile.
func (s *scene) cut(ctx context.Context, pod cluster.Object, addresses []string, meanwhile func() error) (err error) {
	route := func(verb string) error {
		var script strings.Builder
		for _, a := range addresses {
			fmt.Fprintf(&script, "nsenter -t ${pids##* } -n ip route %s blackhole %s/32; ", verb, a)
		}
		return s.within(ctx, pod, script.String())
	}
	if err := route("add"); err != nil {
		return err
	}
	err = meanwhile()
	if undone := route("del"); err == nil {
		err = undone
	}
	return err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// cutUnits cuts the two pods apart: the one that serves goes on alone.
func cutUnits(s *scene, ctx context.Context, before unitState) error {
	ways := []string{before.standby.Status.PodIP}
	for _, member := range []string{"a", "b"} {
		address, err := s.Run(ctx, "get", "service", unit+"-sync-"+member, "-o", "jsonpath={.spec.clusterIP}")
		if err != nil {
			return err
		}
		ways = append(ways, strings.TrimSpace(address))
	}
	return s.cut(ctx, before.holder, ways, func() error {
		if err := s.WaitConditionIs(ctx, "upfinstance/"+upf, "StandbyInSync", "False", patience); err != nil {
			return err
		}
		return wait(ctx, cutTime)
	})
}

// cutAPI cuts both off the API server: nothing moves.
func cutAPI(s *scene, ctx context.Context, before unitState) error {
	api, err := s.Run(ctx, "get", "service", "-n", "default", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		return err
	}
	return s.cut(ctx, before.holder, []string{api}, func() error {
		return s.cut(ctx, before.standby, []string{api}, func() error { return wait(ctx, cutTime) })
	})
}
