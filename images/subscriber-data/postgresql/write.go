package postgresql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"k8s.io/utils/ptr"

	"core5g.dev/core5g/images/subscriberdatabase"
)

// Written says what became of subscribers that were to be written.
type Written struct{ New, Changed, Same int }

// Refused says why one of those was not: At is its place among them.
type Refused struct {
	At   int
	SUPI string
	Why  error
}

// attempts of a batch, where somebody else has written what it was judged by.
const attempts = 5

// Write has subscribers be as they are given, and leaves the others of the database alone. What is so already is not written, and nobody is told
// of it; what cannot be is refused, and the rest is written, all or nothing. Of two with one SUPI the last counts.
func (d *Database) Write(ctx context.Context, list []Subscriber) (Written, []Refused, error) {
	for attempt := 1; ; attempt++ {
		done, refused, err := d.write(ctx, list)
		var answer *pgconn.PgError
		// 23505: between the look and the write another has taken a GPSI; 40P01: two that write the same have met.
		again := errors.As(err, &answer) && (answer.Code == "23505" || answer.Code == "40P01")
		switch {
		case again && attempt < attempts:
		case again && len(list) > 1:
			return d.writeSingly(ctx, list)
		default:
			return done, refused, err
		}
	}
}

// writeSingly writes one after the other what cannot be written together: one that is refused keeps the GPSI that another was to have.
func (d *Database) writeSingly(ctx context.Context, list []Subscriber) (Written, []Refused, error) {
	var done Written
	var refused []Refused
	for i := range list {
		one, no, err := d.Write(ctx, list[i:i+1])
		var answer *pgconn.PgError
		switch {
		case err != nil && errors.As(err, &answer) && answer.Code == "23505":
			no = []Refused{{0, list[i].Spec.SUPI, fmt.Errorf("GPSI %s is another's", list[i].Spec.GPSI)}}
			one = Written{}
		case err != nil:
			return done, refused, err
		}
		for _, r := range no {
			refused = append(refused, Refused{i, r.SUPI, r.Why})
		}
		done = Written{done.New + one.New, done.Changed + one.Changed, done.Same + one.Same}
	}
	return done, refused, nil
}

func (d *Database) write(ctx context.Context, list []Subscriber) (Written, []Refused, error) {
	var done Written
	place := make(map[string]int, len(list))
	var refused []Refused
	for i := range list {
		if err := CheckSpec(&list[i].Spec); err != nil {
			refused = append(refused, Refused{i, list[i].Spec.SUPI, err})
			continue
		}
		place[list[i].Spec.SUPI] = i
	}
	supis := make([]string, 0, len(place))
	for i := range list {
		if at, there := place[list[i].Spec.SUPI]; there && at == i {
			supis = append(supis, list[i].Spec.SUPI)
		}
	}
	taken, err := d.takenGPSIs(ctx, list, place)
	if err != nil {
		return done, nil, err
	}
	was, err := d.readable(ctx, supis)
	if err != nil {
		return done, nil, err
	}
	batch := newBatch(len(supis))
	for _, supi := range supis {
		at := place[supi]
		s := &list[at]
		if owner, is := taken[s.Spec.GPSI]; is && owner != supi {
			refused = append(refused, Refused{at, supi, fmt.Errorf("GPSI %s is that of %s: write another, or take it from that one first", s.Spec.GPSI, owner)})
			continue
		}
		before, there := was[supi]
		if there && before != nil && same(before, s) {
			done.Same++
			continue
		}
		if there {
			done.Changed++
		} else {
			done.New++
		}
		if s.Spec.GPSI != "" {
			taken[s.Spec.GPSI] = supi
		}
		if err := batch.add(d, s); err != nil {
			return done, nil, err
		}
	}
	if len(batch.supi) == 0 {
		return done, refused, nil
	}
	return done, refused, pgx.BeginFunc(ctx, d.pool, batch.write(ctx))
}

// takenGPSIs are those that subscribers have who are not written now.
func (d *Database) takenGPSIs(ctx context.Context, list []Subscriber, place map[string]int) (map[string]string, error) {
	taken := make(map[string]string)
	var wanted []string
	for _, at := range place {
		if gpsi := list[at].Spec.GPSI; gpsi != "" {
			wanted = append(wanted, gpsi)
		}
	}
	if len(wanted) == 0 {
		return taken, nil
	}
	rows, err := d.pool.Query(ctx, `SELECT gpsi, supi FROM core5g.subscribers WHERE gpsi = ANY($1)`, wanted)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var gpsi, supi string
		if err := rows.Scan(&gpsi, &supi); err != nil {
			return nil, err
		}
		if at, written := place[supi]; written && list[at].Spec.GPSI != gpsi {
			continue // who has it gives it up with the same write
		}
		taken[gpsi] = supi
	}
	return taken, rows.Err()
}

// readable are those that are there; nil is one whose keys cannot be opened, which is written anew.
func (d *Database) readable(ctx context.Context, supis []string) (map[string]*Subscriber, error) {
	rows, err := d.rows(ctx, supis)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Subscriber, len(rows))
	for supi, r := range rows {
		out[supi] = nil
		if s, err := d.subscriber(r); err == nil {
			out[supi] = &s
		}
	}
	return out, nil
}

// same says whether two are, as the database would have them.
func same(a, b *Subscriber) bool {
	if a.Keys != b.Keys {
		return false
	}
	one, err1 := rowOf(&a.Spec)
	two, err2 := rowOf(&b.Spec)
	return err1 == nil && err2 == nil && one.barred == two.barred && one.amf == two.amf && ptr.Equal(one.gpsi, two.gpsi) &&
		sameJSON(one.slices, two.slices) && sameJSON(one.ambr, two.ambr)
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// batch is what one statement writes, a slice for each column.
type batch struct {
	supi, slices, ambr, amf []string
	gpsi                    []*string
	barred                  []bool
	keys                    [][]byte
}

func newBatch(n int) *batch {
	return &batch{
		make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]*string, 0, n), make([]bool, 0, n), make([][]byte, 0, n),
	}
}

func (b *batch) add(d *Database, s *Subscriber) error {
	r, err := rowOf(&s.Spec)
	if err != nil {
		return err
	}
	b.supi, b.slices, b.ambr, b.amf = append(b.supi, r.supi), append(b.slices, r.slices), append(b.ambr, r.ambr), append(b.amf, r.amf)
	b.gpsi, b.barred, b.keys = append(b.gpsi, r.gpsi), append(b.barred, r.barred), append(b.keys, s.Keys.seal(d.sealer.Load(), r.supi))
	return nil
}

const upsert = `
INSERT INTO core5g.subscribers (supi, gpsi, barred, slices, ambr, amf, keys)
SELECT supi, gpsi, barred, slices::jsonb, ambr::jsonb, amf, keys
FROM unnest($1::text[], $2::text[], $3::boolean[], $4::text[], $5::text[], $6::text[], $7::bytea[]) AS given (supi, gpsi, barred, slices, ambr, amf, keys)
ORDER BY supi
ON CONFLICT (supi) DO UPDATE SET gpsi = excluded.gpsi, barred = excluded.barred, slices = excluded.slices, ambr = excluded.ambr,
	amf = excluded.amf, keys = excluded.keys, changed = now()`

func (b *batch) write(ctx context.Context) func(pgx.Tx) error {
	return func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, upsert, b.supi, b.gpsi, b.barred, b.slices, b.ambr, b.amf, b.keys)
		return err
	}
}

// Reseal seals the keys of all with the key that new ones are sealed with, and says how many it has changed. progress is told now and then.
func (d *Database) Reseal(ctx context.Context, progress func(n int)) (int, error) {
	n := 0
	var supis []string
	flush := func() error {
		if len(supis) == 0 {
			return nil
		}
		changed, err := d.reseal(ctx, supis)
		n, supis = n+changed, supis[:0]
		progress(n)
		return err
	}
	err := d.Walk(ctx, func(s *Subscriber) error {
		if supis = append(supis, s.Spec.SUPI); len(supis) < page {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return n, err
	}
	_, err = d.pool.Exec(ctx, `UPDATE core5g.sealing SET sealed = $1`, subscriberdatabase.Sealing(d.sealer.Load()))
	return n, err
}

// reseal those, as they are now: nobody changes them meanwhile.
func (d *Database) reseal(ctx context.Context, supis []string) (n int, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT supi, keys FROM core5g.subscribers WHERE supi = ANY($1) ORDER BY supi FOR UPDATE`, supis)
		if err != nil {
			return err
		}
		var whose []string
		var sealed [][]byte
		var supi string
		var was []byte
		_, err = pgx.ForEachRow(rows, []any{&supi, &was}, func() error {
			keys, err := openKeys(d.sealer.Load(), supi, was)
			if err == nil {
				whose, sealed = append(whose, supi), append(sealed, keys.seal(d.sealer.Load(), supi))
			}
			return err
		})
		if err != nil {
			return err
		}
		n = len(whose)
		_, err = tx.Exec(ctx, `UPDATE core5g.subscribers AS s SET keys = given.keys FROM unnest($1::text[], $2::bytea[]) AS given (supi, keys) WHERE s.supi = given.supi`, whose, sealed)
		return err
	})
	return n, err
}
