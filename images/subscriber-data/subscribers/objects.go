package subscribers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	// perList are read at a time, each within listTime.
	perList  = 500
	listTime = 10 * time.Second
	// maxObjects are named; the others are counted.
	maxObjects = 5
)

// objectsOf the Core5G, NAMESPACE/NAME, read with the pod's account.
func objectsOf(core string) func(context.Context, func(*v1alpha1.Subscriber)) error {
	return func(ctx context.Context, each func(*v1alpha1.Subscriber)) error {
		namespace, name, is := strings.Cut(core, "/")
		if !is {
			return errors.New("the pod does not say of which core it is: its operator is of before")
		}
		config, err := rest.InClusterConfig()
		if err != nil {
			return err
		}
		config.Timeout = listTime
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			return err
		}
		c, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		return objectsIn(ctx, c, namespace, name, each)
	}
}

func objectsIn(ctx context.Context, c client.Reader, namespace, core string, each func(*v1alpha1.Subscriber)) error {
	for next := ""; ; {
		var list v1alpha1.SubscriberList
		if err := c.List(ctx, &list, client.InNamespace(namespace), client.Limit(perList), client.Continue(next)); err != nil {
			return err
		}
		for i := range list.Items {
			if s := &list.Items[i]; s.DeletionTimestamp.IsZero() && s.Spec.CoreRef.NameOrDefault() == core {
				each(s)
			}
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

// readObjects into claims. Where they cannot be had, rows are written all the same: nobody works on a database the less for an API server that is away.
func (c *Command) readObjects(ctx context.Context, into *claims) {
	if c.Objects == nil {
		return
	}
	if err := c.Objects(ctx, into.addObject); err != nil {
		_, _ = fmt.Fprintf(c.Err, "Subscriber objects cannot be read, and are not compared with: %v\n", err)
	}
}

// alsoObjects says that others count, by the names of Subscribers.
func alsoObjects(names []string) string {
	more := ""
	if n := len(names) - maxObjects; n > 0 {
		names, more = names[:maxObjects], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("as long as they are there, these Subscriber objects count, and not the rows of their SUPIs: %s%s", strings.Join(names, ", "), more)
}
