package kubectlplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/fencing"
)

const (
	// switchPoll is how often a unit's Lease is looked at.
	switchPoll = 200 * time.Millisecond
	// switchTimeout is how long a takeover is waited for.
	switchTimeout = time.Minute
)

// switchUnit has the standby of a unit take it over: the pod that serves is deleted, and hands the unit over when it hears that it is to
// end. The operator makes it anew, as the standby.
func (p *Plugin) switchUnit(ctx context.Context, args []string) error {
	unit, err := p.redundantUnit(ctx, args[0])
	if err != nil {
		return err
	}
	record, err := p.unitRecord(ctx, unit.Name)
	if err != nil {
		return err
	}
	serves, stands, err := p.members(ctx, unit, record)
	if err != nil {
		return err
	}
	if err := p.Client.Delete(ctx, serves, client.Preconditions{UID: &serves.UID}); err != nil {
		return explain(err)
	}
	began := p.Now()
	fmt.Fprintf(p.Out, "%s: pod %s on %s, which serves in epoch %d, is deleted; %s on %s takes over\n",
		unit.Name, serves.Name, or(serves.Spec.NodeName, "no node"), record.Epoch, stands.Name, or(stands.Spec.NodeName, "no node"))
	if !p.wait {
		return nil
	}
	return p.waitForSwitch(ctx, unit.Name, serves, stands, began)
}

// redundantUnit finds the unit in the status of its UPFInstance.
func (p *Plugin) redundantUnit(ctx context.Context, name string) (*api.UnitStatus, error) {
	var list api.UPFInstanceList
	if err := p.Client.List(ctx, &list, client.InNamespace(p.Namespace)); err != nil {
		return nil, explain(err)
	}
	for i := range list.Items {
		upf := &list.Items[i]
		for j := range upf.Status.UnitStatuses {
			u := &upf.Status.UnitStatuses[j]
			switch {
			case u.Name != name:
			case u.Standby == nil:
				return nil, fmt.Errorf("unit %s has no standby: write spec.redundancy: {standbys: 1} in UPFInstance %s", name, upf.Name)
			default:
				return u, nil
			}
		}
	}
	return nil, fmt.Errorf("there is no UPF unit %s in namespace %s: `kubectl core5g status` lists them", name, p.Namespace)
}

// unitRecord is what the unit's Lease says now: the status may be of before.
func (p *Plugin) unitRecord(ctx context.Context, unit string) (fencing.Record, error) {
	var lease coordinationv1.Lease
	var record fencing.Record
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: unit}, &lease); err != nil {
		return record, explain(err)
	}
	if err := json.Unmarshal([]byte(lease.Annotations[fencing.RecordAnnotation]), &record); err != nil {
		return record, fmt.Errorf("Lease %s says not who serves the unit: annotation %s: %w", unit, fencing.RecordAnnotation, err)
	}
	return record, nil
}

// members are the pods that the record names.
func (p *Plugin) members(ctx context.Context, unit *api.UnitStatus, record fencing.Record) (serves, stands *corev1.Pod, err error) {
	for _, name := range []string{unit.Pod, unit.Standby.Pod} {
		pod := &corev1.Pod{}
		if err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, pod); apierrors.IsNotFound(err) || name == "" {
			continue
		} else if err != nil {
			return nil, nil, explain(err)
		}
		switch string(pod.UID) {
		case fencing.Member(record.Holder):
			serves = pod
		case fencing.Member(record.Standby):
			stands = pod
		}
	}
	switch {
	case serves == nil:
		return nil, nil, fmt.Errorf("no pod serves unit %s now: `kubectl core5g status` shows how it is", unit.Name)
	case stands == nil || !stands.DeletionTimestamp.IsZero():
		return nil, nil, fmt.Errorf("no standby has all sessions of %s, so they would be lost (%s: %s): wait for condition StandbyInSync of its UPFInstance",
			unit.Name, or(unit.Standby.Pod, "no pod"), or(unit.Standby.Message, string(unit.Standby.State)))
	}
	return serves, stands, nil
}

// waitForSwitch says when the standby has the unit, and when it is ready.
func (p *Plugin) waitForSwitch(ctx context.Context, unit string, before, after *corev1.Pod, began time.Time) error {
	limit := p.timeout
	if limit == 0 {
		limit = switchTimeout
	}
	took := false
	for {
		record, err := p.unitRecord(ctx, unit)
		if err != nil {
			return err
		}
		if !took && fencing.Member(record.Holder) == string(after.UID) {
			took = true
			fmt.Fprintf(p.Out, "%s: %s serves in epoch %d, seen after %s\n", unit, after.Name, record.Epoch, p.Now().Sub(began).Round(switchPoll))
		}
		if took {
			now := &corev1.Pod{}
			if err := p.Client.Get(ctx, client.ObjectKeyFromObject(after), now); err != nil {
				return explain(err)
			}
			if unready(now) == 0 {
				fmt.Fprintf(p.Out, "%s: %s is ready; %s is made anew, and stands by when it has all sessions\n", unit, after.Name, before.Name)
				return nil
			}
		}
		if p.Now().Sub(began) >= limit {
			what := "has not taken the unit over"
			if took {
				what = "has the unit, and is not ready"
			}
			return fmt.Errorf("%s %s within %s: kubectl -n %s logs -c upf-c %s", after.Name, what, limit, p.Namespace, after.Name)
		}
		if err := p.Sleep(ctx, switchPoll); err != nil {
			return err
		}
	}
}
