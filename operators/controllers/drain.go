package controllers

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
	"core5g.dev/core5g/operators/specs"
)

// A unit that is to stop goes in three steps, each of which ends by itself: SMFs give it no new PDU session
// and it waits until it has none or the time of spec.drain is over; the SMFs take it out of their user
// planes, for at most smfReleaseTimeout; its pod goes. The Slice controller reads the steps from the unit's
// status and talks to the SMFs. A UPFInstance without several units has no other UPF for its SMFs, so that
// the second step is left out; without spec.drain there is no wait, unless
// administrativeState is ShuttingDown.

const (
	// smfReleaseTimeout bounds the wait for SMFs to take a unit out.
	smfReleaseTimeout = 30 * time.Second
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
func (r *UPFReconciler) stop(ctx context.Context, s *upfScope, u *unitScope, cause string) error {
	several := specs.Parts(s.upf) > 1
	if !podReady(u.pod) || (!several && drainTimeout(s.upf) == 0) {
		u.doom(api.UnitTerminating, "the pod is stopping: "+cause)
		return nil
	}
	if u.status.Drain == nil {
		u.status.Drain = &api.UnitDrain{Cause: cause, StartedAt: metav1.NewTime(r.Now())}
		r.Recorder.Eventf(s.upf, corev1.EventTypeNormal, "UnitDraining", "pod %s: %s", u.pod.Name, cause)
	}
	drain := u.status.Drain
	if drain.ReleasedAt == nil {
		left := drain.StartedAt.Add(drainTimeout(s.upf)).Sub(r.Now())
		pod := u.pod.DeepCopy()
		// What was counted before the drain began does not say that nothing came since.
		about := fmt.Sprint(pod.UID, pod.Status.PodIP, drain.StartedAt.Unix())
		answer := ask(ctx, r.asking, s.upf, "sessions of "+pod.Name, about, every[int64](drainPoll), func(ctx context.Context) (int64, error) {
			return r.Sessions(ctx, pod)
		})
		sessions, err := answer.value, answer.err
		switch {
		case err != nil || !answer.known:
			drain.Sessions = nil
		default:
			drain.Sessions = ptr.To(sessions)
		}
		if left > 0 && (err != nil || !answer.known || sessions > 0) {
			state := fmt.Sprintf("%d PDU sessions", sessions)
			switch {
			case err != nil:
				state = "PDU sessions that it does not tell: " + err.Error()
			case !answer.known:
				state = "PDU sessions, which are counted"
			}
			u.note(api.UnitDraining, fmt.Sprintf("%s: waits until %s for %s", cause, drain.StartedAt.Add(drainTimeout(s.upf)).UTC().Format(time.TimeOnly), state))
			s.again(min(left, drainPoll))
			return nil
		}
		drain.ReleasedAt = ptr.To(metav1.NewTime(r.Now()))
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
		if left := since.Add(smfReleaseTimeout).Sub(r.Now()); slice != "" && left > 0 {
			u.note(api.UnitDraining, fmt.Sprintf("%s: waits for the SMF of Slice %s to take it out of its user plane", cause, slice))
			s.again(min(left, drainPoll))
			return nil
		} else if slice != "" {
			r.Recorder.Eventf(s.upf, corev1.EventTypeWarning, "UnitNotReleased",
				"the SMF of Slice %s has not taken %s out within %s; the unit stops without it", slice, u.status.Name, smfReleaseTimeout)
		}
	}
	u.doom(api.UnitTerminating, "the pod is stopping: "+cause)
	return nil
}

// sliceWith names a Slice whose SMF has the unit in its user plane.
func (r *UPFReconciler) sliceWith(ctx context.Context, upf *api.UPFInstance, unit string) (string, error) {
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
func (s *upfScope) mayDisturb(u *unitScope) bool {
	for _, other := range s.units {
		if other == u || !other.wanted || other.unplaced != "" || other.problem != "" {
			continue
		}
		if other.pod == nil || !other.pod.DeletionTimestamp.IsZero() || !podReady(other.pod) || other.doomed || other.status.Drain != nil {
			return false
		}
	}
	return true
}

// ScrapeSessions counts the PFCP sessions of a unit from its metrics.
func ScrapeSessions(ctx context.Context, pod *corev1.Pod) (sessions int64, err error) {
	err = scrape(ctx, pod, "/metrics", func(r io.Reader) (err error) {
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
