package subscription

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// What is not in a cache may be there all the same: its watch is behind, by moments or, where its connection is dead and nobody has noticed, by minutes. A
// UE that is told that nobody knows it does not come back before it is switched on anew (TS 24.501 5.5.1.2.5, cause 3). So before that is said, the API server is asked.
// Not for SUPIs of other networks, which nobody here has; and not more often than confirmations allow, whatever UEs come: the others hear that it is not
// known now, and try again.

// ErrUnsure is what requests are answered where nobody has the SUPI as far as is known here, and whether that is still so cannot be asked now.
var ErrUnsure = sbi.NewProblem(http.StatusServiceUnavailable, "NF_CONGESTION", "no subscriber is known to have this SUPI, and the API server cannot be asked now whether there is one: ask again")

// Confirmations a second that the API server is asked for, and so many at once.
const (
	confirmationsPerSecond = 10
	confirmationsAtOnce    = 20
)

// Confirming are objects that may be behind, and can ask for a Subscriber where it is never old. An error other than ErrUnknownSubscriber: nobody knows.
type Confirming interface {
	Confirm(ctx context.Context, supi string) (*v1alpha1.Subscriber, error)
}

func newConfirmations() flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiter(confirmationsPerSecond, confirmationsAtOnce)
}

// known is the Subscriber of a SUPI. That there is none is certain, else it is ErrUnsure.
func (d *Directory) known(ctx context.Context, supi string) (*v1alpha1.Subscriber, error) {
	o, err := d.objects.Subscriber(ctx, supi)
	if !IsUnknown(err) {
		return o, err
	}
	asks, behind := d.objects.(Confirming)
	if !behind {
		return nil, err
	}
	if core, missing := d.objects.Core5G(ctx); missing == nil && !ofCore(core, supi) {
		return nil, err
	}
	if !d.confirmations.TryAccept() {
		return nil, ErrUnsure
	}
	if o, err = asks.Confirm(ctx, supi); err != nil && !IsUnknown(err) {
		return nil, fmt.Errorf("%w (%w)", ErrUnsure, err)
	}
	return o, err
}

// ofCore says whether a SUPI is of one of the core's PLMNs.
func ofCore(core *v1alpha1.Core5G, supi string) bool {
	return slices.ContainsFunc(core.Spec.PLMNs, func(p v1alpha1.PLMN) bool { return p.HasSUPI(supi) })
}

// Confirm implements Confirming: the API server selects by SUPI. One that cannot (Kubernetes before 1.31), or does not let the functions ask, leaves what is cached.
func (c *Cluster) Confirm(ctx context.Context, supi string) (*v1alpha1.Subscriber, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	var list v1alpha1.SubscriberList
	err := c.api.List(ctx, &list, client.InNamespace(c.namespace), client.MatchingFields{SUPIIndex: supi})
	if apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		return nil, ErrUnknownSubscriber
	}
	if err != nil {
		return nil, err
	}
	return c.first(list.Items)
}

// Confirm implements Confirming: a database is asked each time anyway.
func (j *joined) Confirm(ctx context.Context, supi string) (*v1alpha1.Subscriber, error) {
	if c, behind := j.Objects.(Confirming); behind {
		return c.Confirm(ctx, supi)
	}
	return nil, ErrUnknownSubscriber
}

// Confirmed is the Subscriber of a SUPI, for those who tell a UE that there is none: that is certain, else the error is ErrUnsure.
func (d *Directory) Confirmed(ctx context.Context, supi string) (Subscriber, error) {
	o, err := d.known(ctx, supi)
	if err != nil {
		return Subscriber{}, err
	}
	return d.resolve(ctx, o)
}
