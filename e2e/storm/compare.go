package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/figures"
)

// Comparison is what Compare does with each of the layouts in its turn.
type Comparison struct {
	// Layouts are Distributed, Fused, or Free5GC, where AMF and SMF are free5GC's.
	Layouts []string
	// Rounds: so often each of them, in turns, so that what else the machine does meets all of them.
	Rounds int
	// Starts of the phone, and UEs of a storm; 0: without.
	Starts, UEs int
	// Limit is how long the last UE of a storm may take.
	Limit time.Duration
}

// servings are the layouts as a core has them.
func (c Comparison) servings() (out []cluster.Serving, err error) {
	for _, name := range c.Layouts {
		switch name {
		case figures.Distributed, figures.Fused:
			out = append(out, cluster.Serving{Plane: cluster.Core5G, Layout: name})
		case cluster.Free5GC:
			out = append(out, cluster.Serving{Plane: cluster.Free5GC, Layout: cluster.Distributed})
		default:
			return nil, fmt.Errorf("%q is no layout: write some of %s, %s and %s", name, figures.Distributed, figures.Fused, cluster.Free5GC)
		}
	}
	if len(out) == 0 || c.Rounds < 1 || c.Starts < 0 || c.UEs < 0 || c.Starts+c.UEs == 0 {
		return nil, errors.New("there is nothing to compare: name layouts, a round or more, and starts or UEs")
	}
	return out, nil
}

// Compare has the core of `make up` served in one layout after the other, and prints what Start and Register find of each. Then the core is as it was, also where
// that has failed.
func Compare(ctx context.Context, k *cluster.Cluster, c Comparison, out io.Writer) (err error) {
	servings, err := c.servings()
	if err != nil {
		return err
	}
	supi, err := phone(ctx, k)
	if err != nil {
		return err
	}
	before, err := k.Serves(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
		defer cancel()
		err = errors.Join(err, k.Serve(ctx, before, "slice/"+slice))
	}()
	for range c.Rounds {
		for _, serving := range servings {
			if err := k.Serve(ctx, serving, "slice/"+slice); err != nil {
				return fmt.Errorf("%s, %s: %w", serving.Plane, serving.Layout, err)
			}
			if _, err := k.WaitAttached(ctx, supi, 3*time.Minute); err != nil {
				return err
			}
			if c.Starts > 0 {
				if err := Start(ctx, k, c.Starts, out); err != nil {
					return err
				}
			}
			if c.UEs > 0 {
				if err := Register(ctx, k, c.UEs, c.Limit, out); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
