package subscribers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

const (
	// perList are read at a time, each within listTime.
	perList  = 500
	listTime = 10 * time.Second
	// maxObjects are named, and sentences about them said; the others are counted.
	maxObjects = 5
)

// clusterOf is the API server that a core, NAMESPACE/NAME, has its objects in, read with the pod's account.
func clusterOf(core string) func() (client.Reader, types.NamespacedName, error) {
	return func() (client.Reader, types.NamespacedName, error) {
		namespace, name, is := strings.Cut(core, "/")
		if !is {
			return nil, types.NamespacedName{}, errors.New("the pod does not say of which core it is: its operator is of before")
		}
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, types.NamespacedName{}, err
		}
		config.Timeout = listTime
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			return nil, types.NamespacedName{}, err
		}
		c, err := client.New(config, client.Options{Scheme: scheme})
		return c, types.NamespacedName{Namespace: namespace, Name: name}, err
	}
}

// subscribersOf a core.
func subscribersOf(ctx context.Context, c client.Reader, core types.NamespacedName, each func(*v1alpha1.Subscriber)) error {
	for next := ""; ; {
		var list v1alpha1.SubscriberList
		if err := c.List(ctx, &list, client.InNamespace(core.Namespace), client.Limit(perList), client.Continue(next)); err != nil {
			return err
		}
		for i := range list.Items {
			if s := &list.Items[i]; s.DeletionTimestamp.IsZero() && s.Spec.CoreRef.NameOrDefault() == core.Name {
				each(s)
			}
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

// around is what rows are judged by as objects are: the core, and its namespace's Slices by name.
type around struct {
	core   *v1alpha1.Core5G
	slices map[string]*v1alpha1.Slice
	// missing are sentences about what may come later, each with how many subscribers it is said of, in the order in which they were found.
	missing map[string]int
	order   []string
}

func aroundOf(ctx context.Context, c client.Reader, core types.NamespacedName) (*around, error) {
	a := &around{core: &v1alpha1.Core5G{}, slices: map[string]*v1alpha1.Slice{}, missing: map[string]int{}}
	if err := c.Get(ctx, core, a.core); err != nil {
		return nil, err
	}
	var list v1alpha1.SliceList
	if err := c.List(ctx, &list, client.InNamespace(core.Namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		a.slices[list.Items[i].Name] = &list.Items[i]
	}
	return a, nil
}

// refuse says what no later object can heal; nil: it was not read, and judges nothing.
func (a *around) refuse(spec *v1alpha1.SubscriberSpec) error {
	if a == nil {
		return nil
	}
	if problem := specs.HomeProblem(&v1alpha1.Subscriber{Spec: *spec}, a.core); problem != nil {
		return errors.New(problem.Message)
	}
	for _, subscribed := range spec.Slices {
		if problem := specs.SubscriptionProblem(subscribed, a.core); problem != nil {
			return errors.New(problem.Message)
		}
	}
	return nil
}

// note what Slices have not (yet) of what a row names.
func (a *around) note(spec *v1alpha1.SubscriberSpec) {
	if a == nil {
		return
	}
	row := &v1alpha1.Subscriber{Spec: *spec}
	row.Spec.CoreRef.Name = a.core.Name
	for _, subscribed := range spec.Slices {
		slice := a.slices[subscribed.Name]
		problem := specs.SubscribedSliceProblem(row, subscribed, slice)
		if problem == nil && slice != nil {
			problem = specs.FlowsProblem(subscribed, slice)
		}
		if problem == nil {
			continue
		}
		if a.missing[problem.Message] == 0 {
			a.order = append(a.order, problem.Message)
		}
		a.missing[problem.Message]++
	}
}

// say what was noted, for people.
func (a *around) say(out io.Writer) {
	if a == nil {
		return
	}
	for i, sentence := range a.order {
		if i == maxObjects {
			_, _ = fmt.Fprintf(out, "%d more of what is named and is not there\n", len(a.order)-i)
			return
		}
		_, _ = fmt.Fprintf(out, "%s (named by %d)\n", sentence, a.missing[sentence])
	}
}

// readObjects into claims. Where they cannot be had, rows are written all the same: nobody works on a database the less for an API server that is away.
func (c *Command) readObjects(ctx context.Context, into *claims) {
	if c.Cluster == nil {
		return
	}
	if err := c.readCluster(ctx, into); err != nil {
		_, _ = fmt.Fprintf(c.Err, "the core's objects cannot be read, and are not compared with: %v\n", err)
	}
}

func (c *Command) readCluster(ctx context.Context, into *claims) error {
	reader, core, err := c.Cluster()
	if err != nil {
		return err
	}
	if into.around, err = aroundOf(ctx, reader, core); err != nil {
		return err
	}
	return subscribersOf(ctx, reader, core, into.addObject)
}

// alsoObjects says that others count, by the names of Subscribers.
func alsoObjects(names []string) string {
	more := ""
	if n := len(names) - maxObjects; n > 0 {
		names, more = names[:maxObjects], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("as long as they are there, these Subscriber objects count, and not the rows of their SUPIs: %s%s", strings.Join(names, ", "), more)
}
