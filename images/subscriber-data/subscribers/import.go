package subscribers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriberdatabase"
)

const (
	// perBatch are written together, and writers write at a time: the database works while the next are read.
	perBatch = 5000
	writers  = 2
	// progressEvery is how often a person hears how far it is.
	progressEvery = 2 * time.Second
	// maxNamed is how many that are left out are named each; the others are counted.
	maxNamed = 1000
)

// errLeftOut ends an import that has left something out, and has said what.
var errLeftOut = errors.New("some were left out: mend them and import again, what is there already stays")

// importAll writes what standard input has. It is safe to repeat: what is as it was is not written again.
func (c *Command) importAll(ctx context.Context, d *postgresql.Database, _ []string) error {
	in, err := newReader(c.In)
	if err != nil {
		return err
	}
	i := &importing{command: c, database: d, in: in, begun: c.Now(), seen: make(map[uint64]int32)}
	i.said = i.begun
	i.claims = newClaims(func(digits uint64) bool { _, read := i.seen[digits]; return read })
	c.readObjects(ctx, i.claims)
	err = i.run(ctx)
	i.claims.around.say(c.Err)
	if len(i.objects) > 0 {
		_, _ = fmt.Fprintln(c.Err, alsoObjects(i.objects))
	}
	i.say(c.Out, "")
	switch {
	case err != nil:
		return err
	case i.leftOut > 0:
		return errLeftOut
	}
	return nil
}

// importing is one import.
type importing struct {
	command  *Command
	database *postgresql.Database
	in       reader
	begun    time.Time
	// seen are the places of SUPIs, whose digits they are, with a 1 in front.
	seen map[uint64]int32
	// claims are whose addresses are, and objects names of Subscribers whose SUPIs were read.
	claims  *claims
	objects []string

	mu            sync.Mutex
	read, leftOut int
	done          postgresql.Written
	said          time.Time
}

func (i *importing) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for more := true; more && ctx.Err() == nil; {
		var batch []entry
		var err error
		if batch, more, err = i.batch(ctx); err != nil {
			return errors.Join(fmt.Errorf("behind %s %d: %w", i.in.places(), i.read, err), group.Wait())
		}
		group.Go(func() error {
			if err := i.write(ctx, batch); err != nil {
				return errors.New(subscriberdatabase.Explain(err))
			}
			return nil
		})
	}
	return group.Wait()
}

// batch reads the next entries.
func (i *importing) batch(ctx context.Context) (out []entry, more bool, err error) {
	for len(out) < perBatch {
		e, err := i.in.next()
		if errors.Is(err, io.EOF) {
			return out, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		i.mu.Lock()
		i.read++
		i.mu.Unlock()
		if e.problem == nil {
			e.problem = i.first(ctx, &e)
		}
		if e.problem != nil {
			i.leaveOut(e.place, e.spec.SUPI, e.problem)
			continue
		}
		out = append(out, e)
	}
	return out, true, nil
}

// first says where a SUPI has been read before, and what another one has.
func (i *importing) first(ctx context.Context, e *entry) error {
	if err := postgresql.CheckSpec(&e.spec); err != nil {
		return err
	}
	digits := digitsOf(e.spec.SUPI)
	if place, twice := i.seen[digits]; twice {
		return fmt.Errorf("the SUPI stands in %s %d already: keep one of them", i.in.places(), place)
	}
	if err := i.claims.around.refuse(&e.spec); err != nil {
		return err
	}
	if err := i.claims.check(ctx, i.database, &e.spec); err != nil {
		return err
	}
	i.claims.around.note(&e.spec)
	i.seen[digits] = int32(e.place)
	if name, is := i.claims.objects[digits]; is {
		i.objects = append(i.objects, name)
	}
	return nil
}

// write a batch.
func (i *importing) write(ctx context.Context, batch []entry) error {
	var keyless []string
	for _, e := range batch {
		if e.keys == nil {
			keyless = append(keyless, e.spec.SUPI)
		}
	}
	there := map[string]postgresql.Subscriber{}
	if len(keyless) > 0 {
		var err error
		if there, err = i.database.Get(ctx, keyless...); err != nil {
			return err
		}
	}
	list := make([]postgresql.Subscriber, 0, len(batch))
	places := make([]int, 0, len(batch))
	for _, e := range batch {
		s := postgresql.Subscriber{Spec: e.spec}
		if e.keys == nil {
			was, known := there[e.spec.SUPI]
			if !known {
				i.leaveOut(e.place, e.spec.SUPI, errors.New("it has no keys, and is not in the database yet: give k and opc, or op"))
				continue
			}
			s.Keys = was.Keys
		} else {
			var err error
			if s.Keys, err = postgresql.NewKeys(*e.keys); err != nil {
				i.leaveOut(e.place, e.spec.SUPI, err)
				continue
			}
		}
		list, places = append(list, s), append(places, e.place)
	}
	if i.command.Check || len(list) == 0 {
		return nil
	}
	done, refused, err := i.database.Write(ctx, list)
	if err != nil {
		return err
	}
	for _, r := range refused {
		i.leaveOut(places[r.At], r.SUPI, r.Why)
	}
	i.mu.Lock()
	i.done = postgresql.Written{New: i.done.New + done.New, Changed: i.done.Changed + done.Changed, Same: i.done.Same + done.Same}
	now := i.command.Now()
	due := now.Sub(i.said) >= progressEvery
	if due {
		i.said = now
	}
	i.mu.Unlock()
	if due {
		i.say(i.command.Err, " …")
	}
	return nil
}

// leaveOut names what is not imported.
func (i *importing) leaveOut(place int, supi string, why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.leftOut++
	switch {
	case i.leftOut <= maxNamed:
		if supi != "" {
			supi += ": "
		}
		_, _ = fmt.Fprintf(i.command.Err, "%s %d: %s%v: left out\n", i.in.places(), place, supi, why)
	case i.leftOut == maxNamed+1:
		_, _ = fmt.Fprintln(i.command.Err, "what else is left out is counted")
	}
}

// say how far it is.
func (i *importing) say(out io.Writer, more string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	checked := ""
	if i.command.Check {
		checked = ", nothing was written (-check)"
	}
	_, _ = fmt.Fprintf(out, "%d read: %d new, %d changed, %d as they were, %d left out, %.0f s%s%s\n",
		i.read, i.done.New, i.done.Changed, i.done.Same, i.leftOut, i.command.Now().Sub(i.begun).Seconds(), checked, more)
}
