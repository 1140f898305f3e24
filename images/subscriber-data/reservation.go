package subscriberdata

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	// openLimit is how long one attempt to read the reservation may take, and openPause the time between two.
	openLimit = 5 * time.Second
	openPause = time.Second
)

// reservation keeps in a Lease up to which tick sequence numbers are reserved: its renewTime is the time of the tick. The
// core owns it. Of all kinds of objects it is the one that gives the account the least to write to.
type reservation struct {
	api             client.Client
	core            func(context.Context) (*v1alpha1.Core5G, error)
	namespace, name string
}

// load returns the last tick that is reserved, 0 where none is.
func (r *reservation) load(ctx context.Context) (uint64, error) {
	var lease coordinationv1.Lease
	err := r.api.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: r.name}, &lease)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return reservedBy(&lease), err
}

func reservedBy(lease *coordinationv1.Lease) uint64 {
	if lease.Spec.RenewTime == nil {
		return 0
	}
	return aka.TickAt(lease.Spec.RenewTime.Time)
}

// reserve implements aka.Reserve. What is reserved never becomes less.
func (r *reservation) reserve(ctx context.Context, tick uint64) error {
	return retry.OnError(retry.DefaultRetry, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}}
		err := r.api.Get(ctx, client.ObjectKeyFromObject(lease), lease)
		absent := apierrors.IsNotFound(err)
		if err != nil && !absent {
			return err
		}
		holder := "subscriber-data"
		lease.Spec.HolderIdentity = &holder
		lease.Spec.RenewTime = &metav1.MicroTime{Time: aka.TimeOf(max(tick, reservedBy(lease)))}
		if !absent {
			return r.api.Update(ctx, lease)
		}
		core, err := r.core(ctx)
		if err != nil {
			return err
		}
		lease.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Core5G", Name: core.Name, UID: core.UID,
		}}
		return r.api.Create(ctx, lease)
	})
}

// openSequences begins behind what processes before have reserved. It waits until that is known: whoever may not ask gets
// a generator that reserves nothing. Where numbers are kept in the store nothing is reserved: what was before there was one counts still.
func openSequences(ctx context.Context, r *reservation, kept bool, now func() time.Time, log *slog.Logger) (*aka.Sequences, error) {
	none := func() *aka.Sequences {
		if kept {
			return aka.KeptSequences(now, 0)
		}
		return aka.NewSequences(now, 0, nil)
	}
	if r == nil {
		return none(), nil
	}
	var reserved uint64
	for complained := false; ; {
		attempt, cancel := context.WithTimeout(ctx, openLimit)
		var err error
		reserved, err = r.load(attempt)
		cancel()
		if err == nil {
			break
		}
		if apierrors.IsForbidden(err) {
			if !kept {
				log.Error("sequence numbers cannot be reserved: challenges of one subscriber wait for the clock, ten a second", "error", err)
			}
			return none(), nil
		}
		if !complained {
			log.Warn("the reservation of sequence numbers cannot be read yet, trying on", "lease", r.name, "error", err)
			complained = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("stopped before the reservation of sequence numbers was read: %w", ctx.Err())
		case <-time.After(openPause):
		}
	}
	if kept {
		return aka.KeptSequences(now, reserved), nil
	}
	reserve := func(ctx context.Context, tick uint64) error {
		err := r.reserve(ctx, tick)
		if err != nil {
			log.Warn("sequence numbers cannot be reserved, trying on", "lease", r.name, "error", err)
			return err
		}
		log.Debug("sequence numbers reserved", "lease", r.name, "until", aka.TimeOf(tick))
		return nil
	}
	sequences := aka.NewSequences(now, reserved, reserve)
	attempt, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	_ = sequences.Prepare(attempt) // it has been logged, and is tried again with the first challenge
	return sequences, nil
}
