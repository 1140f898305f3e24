package inspection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/onlookers"
	"core5g.dev/core5g/images/signalling"
)

// Inspection of the UEs of a set of workers.
type Inspection struct {
	Store  sessionstore.Store
	Sealer onlookers.Sealer
	// Shards are so many, numbered from 1, and Name is what one is called in leases.
	Shards uint16
	Name   func(shard uint16) string
	// Settings in force; nil until they are read.
	Settings func() *procedure.Settings
	// GNB of an association, as this pod knows it; nil: it does not.
	GNB func(terminator string, association uint64) *record.GNB
	// Tracer of signalling; nil: it cannot be traced.
	Tracer *signalling.Tracer
}

// The states of connection management, in queries and answers.
const (
	Connected = "connected"
	Idle      = "idle"
)

// Query says which UEs: of an S-NSSAI (1-010203) that they are allowed, at a gNB by its ID or its name, in a tracking area (six hexadecimal digits), connected or
// idle, of a SUPI; "" for all.
type Query struct {
	Slice, GNB, TAC, State, SUPI string
	// Limit is about how many; 0 for onlookers.MostListed, which it cannot exceed. Cursor is a Page's Next, "" at first.
	Limit  int
	Cursor string
}

// Page of UEs. Next is "" behind the last; a page may be empty before. What is in the store all the time comes at least once.
type Page struct {
	UEs  []UE   `json:"ues"`
	Next string `json:"next,omitempty"`
}

// errNotFound is what One says of a UE that is not there.
var errNotFound = &onlookers.NotFoundError{What: "UE"}

// List a page of UEs.
func (i *Inspection) List(ctx context.Context, q Query) (Page, error) {
	if i.Settings() == nil {
		return Page{}, onlookers.ErrNotConfigured
	}
	if q.State != "" && q.State != Connected && q.State != Idle {
		return Page{}, fmt.Errorf("%w: state %.40q: write %s or %s", onlookers.ErrQuery, q.State, Connected, Idle)
	}
	limit, err := onlookers.Limit(q.Limit)
	if err != nil {
		return Page{}, err
	}
	holders, err := i.holders(ctx)
	if err != nil {
		return Page{}, err
	}
	records := i.records(q, holders)
	if q.SUPI != "" {
		found, err := records.Read(ctx, []string{record.Key(onlookers.SUPI(q.SUPI))})
		return Page{UEs: append([]UE{}, found...)}, err
	}
	page := Page{}
	page.UEs, page.Next, err = records.Walk(ctx, i.sections(q), q.Cursor, limit)
	return page, err
}

// sections are the smallest groups that have all of them.
func (i *Inspection) sections(q Query) (out []onlookers.Section) {
	for n := range i.Shards {
		shard := n + 1
		s := onlookers.Section{Shard: shard, Group: runner.UEGroup(shard)}
		switch {
		case q.State == Connected || q.GNB != "":
			s.Name, s.Group = Connected, runner.ConnectedGroup(shard)
		case q.Slice != "":
			s.Name, s.Group = q.Slice, runner.SliceGroup(shard, strings.ToLower(q.Slice))
		}
		out = append(out, s)
	}
	return out
}

// records that fit. What cannot be read is named.
func (i *Inspection) records(q Query, holders map[uint16]string) onlookers.Records[UE] {
	return onlookers.Records[UE]{Store: i.Store, Show: func(key string, value []byte) *UE {
		u, err := onlookers.Open(i.Sealer, record.Decode, key, value)
		if err != nil {
			_, supi, _ := strings.Cut(key, "/")
			return &UE{SUPI: supi, Problem: err.Error()}
		}
		shown := i.ueOf(u, holders)
		if !shown.fits(q) {
			return nil
		}
		return &shown
	}}
}

func (u *UE) fits(q Query) bool {
	has := q.Slice == ""
	for _, s := range u.Slices {
		has = has || strings.EqualFold(s, q.Slice)
	}
	return has && (q.State == "" || u.CM == q.State) && (q.TAC == "" || strings.EqualFold(u.TAC, q.TAC)) &&
		(q.GNB == "" || u.GNB == q.GNB || u.GNBName != "" && u.GNBName == q.GNB)
}

// holders of the shards, by their numbers.
func (i *Inspection) holders(ctx context.Context) (map[uint16]string, error) {
	out := map[uint16]string{}
	for n := range i.Shards {
		holder, _, err := i.Store.Holder(ctx, i.Name(n+1))
		if err != nil {
			return nil, err
		}
		out[n+1] = holder
	}
	return out, nil
}

// One UE in full; an *onlookers.NotFoundError where there is none.
func (i *Inspection) One(ctx context.Context, supi string) (Story, error) {
	if i.Settings() == nil {
		return Story{}, onlookers.ErrNotConfigured
	}
	u, err := onlookers.ReadOne(ctx, i.Store, i.Sealer, record.Decode, record.Key(onlookers.SUPI(supi)))
	if errors.Is(err, sessionstore.ErrNotFound) {
		return Story{}, errNotFound
	}
	if err != nil {
		return Story{}, err
	}
	holder, _, err := i.Store.Holder(ctx, i.Name(u.Shard))
	if err != nil {
		return Story{}, err
	}
	return i.storyOf(u, map[uint16]string{u.Shard: holder}), nil
}
