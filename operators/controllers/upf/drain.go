package upf

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// A unit that is to stop goes in three steps, each of which ends by itself: SMFs give it no new PDU session
// and it waits until it has none or the time of spec.drain is over; the SMFs take it out of their user
// planes, for at most SMFReleaseTimeout; its pod goes. The Slice controller reads the steps from the unit's
// status and talks to the SMFs. A UPFInstance without several units has no other UPF for its SMFs, so that
// the second step is left out; without spec.drain there is no wait, unless
// administrativeState is ShuttingDown.

const (
	// SMFReleaseTimeout bounds the wait for SMFs to take a unit out.
	SMFReleaseTimeout = 30 * time.Second
	// drainPoll is how often a unit's sessions are counted.
	drainPoll = 2 * time.Second
)

// shutdownTimeout is how long ShuttingDown waits where spec.drain says nothing.
const shutdownTimeout = 300 * time.Second

func drainTimeout(upf *api.UPFInstance) time.Duration {
	if upf.Spec.Drain == nil && upf.Spec.AdministrativeState == api.StateShuttingDown {
		return shutdownTimeout
	}
	if upf.Spec.Drain == nil {
		return 0
	}
	return upf.Spec.Drain.Timeout.Duration
}

// stop moves a unit towards its end.
func (r *Reconciler) stop(ctx context.Context, s *scope, u *unitScope, cause string) error {
	several := specs.Parts(s.upf) > 1
	if !workloads.PodReady(u.pod) || (!several && drainTimeout(s.upf) == 0) {
		u.doom(api.UnitTerminating, "the pod is stopping: "+cause)
		return nil
	}
	if u.status.Drain == nil {
		u.status.Drain = &api.UnitDrain{Cause: cause, StartedAt: metav1.NewTime(r.Now())}
		r.Recorder.Eventf(s.upf, corev1.EventTypeNormal, "UnitDraining", "pod %s: %s", u.pod.Name, cause)
	}
	drain := u.status.Drain
	if drain.ReleasedAt == nil {
		pod := u.pod.DeepCopy()
		// What was counted before the drain began does not say that nothing came since.
		about := fmt.Sprint(pod.UID, pod.Status.PodIP, drain.StartedAt.Unix())
		answer := asking.Ask(ctx, r.asking, s.upf, "sessions of "+pod.Name, about, asking.Every[int64](drainPoll), func(ctx context.Context) (int64, error) {
			return r.Sessions(ctx, pod)
		})
		drain.Sessions = nil
		if answer.Err == nil && answer.Known {
			drain.Sessions = ptr.To(answer.Value)
		}
		if r.waitsForSessions(s, u, cause, "it", answer.Err) {
			return nil
		}
	}
	if several {
		slice, err := r.sliceWith(ctx, s.upf, u.status.Name)
		if err != nil {
			return err
		}
		// While the operator was away, nobody told the SMFs.
		since := drain.ReleasedAt.Time
		if r.began.After(since) {
			since = r.began
		}
		if left := since.Add(SMFReleaseTimeout).Sub(r.Now()); slice != "" && left > 0 {
			u.note(api.UnitDraining, fmt.Sprintf("%s: waits for the SMF of Slice %s to take it out of its user plane", cause, slice))
			s.again(min(left, drainPoll))
			return nil
		} else if slice != "" {
			r.Recorder.Eventf(s.upf, corev1.EventTypeWarning, "UnitNotReleased",
				"the SMF of Slice %s has not taken %s out within %s; the unit stops without it", slice, u.status.Name, SMFReleaseTimeout)
		}
	}
	u.doom(api.UnitTerminating, "the pod is stopping: "+cause)
	return nil
}

// waitsForSessions reports whether a unit that drains waits for its sessions to end; who does not is released. Where they are not known, err says why the teller
// does not tell them, or is nil: they are counted.
func (r *Reconciler) waitsForSessions(s *scope, u *unitScope, cause, teller string, err error) bool {
	drain := u.status.Drain
	end := drain.StartedAt.Add(drainTimeout(s.upf))
	left := end.Sub(r.Now())
	if left <= 0 || drain.Sessions != nil && *drain.Sessions == 0 {
		drain.ReleasedAt = ptr.To(metav1.NewTime(r.Now()))
		return false
	}
	state := "PDU sessions, which are counted"
	switch {
	case drain.Sessions != nil:
		state = fmt.Sprintf("%d PDU sessions", *drain.Sessions)
	case err != nil:
		state = "PDU sessions that " + teller + " does not tell: " + err.Error()
	}
	u.note(api.UnitDraining, fmt.Sprintf("%s: waits until %s for %s", cause, end.UTC().Format(time.TimeOnly), state))
	s.again(min(left, drainPoll))
	return true
}

// sliceWith names a Slice whose SMF has the unit in its user plane.
func (r *Reconciler) sliceWith(ctx context.Context, upf *api.UPFInstance, unit string) (string, error) {
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range all.Items {
		up := all.Items[i].Status.UPF
		if up != nil && up.Name == upf.Name && slices.ContainsFunc(up.Units, func(s api.SliceUnitStatus) bool { return s.Name == unit }) {
			return all.Items[i].Name, nil
		}
	}
	return "", nil
}

// mayDisturb reports whether a running unit may be taken down now: one after the other, and none while
// another that could run does not.
func (s *scope) mayDisturb(u *unitScope) bool {
	for _, other := range s.units {
		if other == u || !other.wanted || other.unplaced != "" || other.problem != "" {
			continue
		}
		if other.pod == nil || !other.pod.DeletionTimestamp.IsZero() || !workloads.PodReady(other.pod) || other.doomed || other.status.Drain != nil {
			return false
		}
	}
	return true
}

// ScrapeSessions counts the PFCP sessions of a unit from its metrics.
func ScrapeSessions(ctx context.Context, pod *corev1.Pod) (sessions int64, err error) {
	err = asking.Scrape(ctx, pod, "/metrics", func(r io.Reader) (err error) {
		sessions, err = readSessions(r)
		return err
	})
	return sessions, err
}

// metricSessions is the name of the metric of upf-c.
const metricSessions = "upf_sessions"

func readSessions(metrics io.Reader) (int64, error) {
	lines := bufio.NewScanner(metrics)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), metricSessions+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("metric %s is %q", metricSessions, value)
			}
			return int64(n), nil
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("there is no metric %s", metricSessions)
}
