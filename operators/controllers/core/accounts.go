package core

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/specs"
)

// accountsAgain is how often accounts are looked at that nobody watches: there are ten objects of a core, and who takes one away does so on purpose.
const accountsAgain = 5 * time.Minute

// accountsKept is when the accounts of a Core5G were looked at last.
type accountsKept struct {
	of types.UID
	at time.Time
}

// keepAccounts makes what functions of the core run as before any of their pods, where the chart has not.
func (r *Reconciler) keepAccounts(ctx context.Context, s *scope) error {
	accounts, bindings := specs.CoreAccounts(s.core, r.Platform)
	if len(accounts) == 0 {
		return nil
	}
	key := client.ObjectKeyFromObject(s.core)
	if last, ok := r.accounts.Load(key); ok && last.(accountsKept).of == s.core.UID && r.Now().Before(last.(accountsKept).at.Add(accountsAgain)) {
		return nil
	}
	var objects []client.Object
	for _, o := range accounts {
		objects = append(objects, o)
	}
	for _, o := range bindings {
		objects = append(objects, o)
	}
	for _, o := range objects { // few of them, and in no cache
		o, err := applying.Uncached(r.Scheme(), o)
		if err != nil {
			return err
		}
		if err := r.applier.Apply(ctx, o); err != nil {
			return err
		}
	}
	r.accounts.Store(key, accountsKept{of: s.core.UID, at: r.Now()})
	return nil
}
