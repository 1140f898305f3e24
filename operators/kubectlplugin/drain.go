package kubectlplugin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	// drainPoll is how often the units are looked at.
	drainPoll = time.Second
	// drainGrace is what a drain may take beside the wait for PDU sessions.
	drainGrace = 3 * time.Minute
)

// drain ends units in the two ways that a UPFInstance has for it: Locked ends all of them, fewer units end
// the last. The operator does the rest; this waits for it.
func (p *Plugin) drain(ctx context.Context, args []string) error {
	upf, err := p.upfInstance(ctx, args[0])
	if err != nil {
		return err
	}
	ending := map[string]bool{}
	before := upf.DeepCopy()
	var done, undo string
	if len(args) == 1 {
		for _, u := range upf.Status.UnitStatuses {
			ending[u.Name] = true
		}
		upf.Spec.AdministrativeState = api.StateLocked
		done = "administrativeState is Locked"
		undo = fmt.Sprintf(`kubectl -n %s patch upfinstance %s --type merge -p '{"spec":{"administrativeState":"Unlocked"}}'`, upf.Namespace, upf.Name)
	} else {
		number, err := unitNumber(upf, args[1])
		if err != nil {
			return err
		}
		ending[fmt.Sprintf("%s-%d", upf.Name, number)] = true
		upf.Spec.Units = ptr.To(int32(number))
		done = fmt.Sprintf("units is %d", number)
		undo = fmt.Sprintf("kubectl -n %s scale upfinstance %s --replicas %d", upf.Namespace, upf.Name, number+1)
	}
	if upf.Spec.Drain == nil {
		fmt.Fprintf(p.Err, "warning: %s has no spec.drain: PDU sessions are ended, not waited for\n", upf.Name)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, upf, patch); apierrors.IsConflict(err) {
		return fmt.Errorf("UPFInstance %s was changed in the meantime: try again", upf.Name)
	} else if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "%s: %s; back with:\n  %s\n", upf.Name, done, undo)
	if !p.wait {
		return nil
	}
	return p.waitForEnd(ctx, upf, ending)
}

func (p *Plugin) upfInstance(ctx context.Context, name string) (*api.UPFInstance, error) {
	var upf api.UPFInstance
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, &upf)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no UPFInstance %s in namespace %s: `kubectl -n %s get upfinstances` lists them", name, p.Namespace, p.Namespace)
	}
	if err != nil {
		return nil, explain(err)
	}
	return &upf, nil
}

// unitNumber reads upf-1 or 1. Units have their addresses by number, so that only the last can end by
// itself; another one moves when its node is cordoned.
func unitNumber(upf *api.UPFInstance, unit string) (int, error) {
	units := int(ptr.Deref(upf.Spec.Units, 1))
	number, err := strconv.Atoi(strings.TrimPrefix(unit, upf.Name+"-"))
	switch {
	case err != nil || number < 0 || number >= units:
		return 0, fmt.Errorf("UPFInstance %s has no unit %q: it has %d, from %s-0", upf.Name, unit, units, upf.Name)
	case upf.Spec.AdministrativeState == api.StateLocked:
		return 0, fmt.Errorf("UPFInstance %s is Locked: all of its units are drained", upf.Name)
	case number != units-1:
		node := ""
		if i := slices.IndexFunc(upf.Status.UnitStatuses, func(u api.UnitStatus) bool { return u.Name == fmt.Sprintf("%s-%d", upf.Name, number) }); i >= 0 {
			node = upf.Status.UnitStatuses[i].Node
		}
		return 0, fmt.Errorf("only the last unit, %s-%d, can be drained by itself; to move %s-%d elsewhere: kubectl cordon %s", upf.Name, units-1, upf.Name, number, or(node, "its node"))
	}
	return number, nil
}

// waitForEnd prints how the units fare until they have ended.
func (p *Plugin) waitForEnd(ctx context.Context, upf *api.UPFInstance, ending map[string]bool) error {
	limit := p.timeout
	if limit == 0 {
		limit = drainGrace
		if upf.Spec.Drain != nil {
			limit += upf.Spec.Drain.Timeout.Duration
		}
	}
	deadline := p.Now().Add(limit)
	generation := upf.Generation
	said := map[string]string{}
	left := map[string]*int64{} // PDU sessions by unit, nil where it did not tell
	for {
		now, err := p.upfInstance(ctx, upf.Name)
		if err != nil {
			return err
		}
		running := 0
		if now.Status.ObservedGeneration < generation {
			running = len(ending) // the status does not speak of the change yet
		} else {
			for _, u := range now.Status.UnitStatuses {
				if !ending[u.Name] {
					continue
				}
				if u.Drain != nil {
					left[u.Name] = u.Drain.Sessions
				}
				text := string(u.State)
				if u.Message != "" {
					text += ": " + u.Message
				}
				if said[u.Name] != text {
					said[u.Name] = text
					fmt.Fprintf(p.Out, "%s %s\n", u.Name, text)
				}
				if u.State != api.UnitStopped {
					running++
				}
			}
		}
		if running == 0 {
			fmt.Fprintln(p.Out, ended(ending, left))
			return nil
		}
		if !p.Now().Before(deadline) {
			return fmt.Errorf("%d units have not ended within %s: the drain goes on; `kubectl core5g status` shows it", running, limit)
		}
		if err := p.Sleep(ctx, drainPoll); err != nil {
			return err
		}
	}
}

// ended says what has become of the PDU sessions of units that have ended, by what was left when each was last asked.
func ended(ending map[string]bool, left map[string]*int64) string {
	var sessions int64
	known := true
	for unit := range ending {
		switch last, asked := left[unit]; {
		case !asked || last == nil:
			known = false
		default:
			sessions += *last
		}
	}
	switch {
	case sessions > 0:
		return fmt.Sprintf("ended with %s, which were not waited for any longer", counted(sessions))
	case !known:
		return "ended; how many PDU sessions were left, nobody told"
	default:
		return "drained"
	}
}
