package inspection

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/onlookers"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/signalling"
)

// Shard is one of the set that is shown.
type Shard struct {
	Number uint16
	Name   string
}

// Inspection of the sessions of a set of pods.
type Inspection struct {
	Store  sessionstore.Store
	Sealer runner.Sealer
	Shards []Shard
	// Configuration in force; nil until it is read.
	Configuration func() *configuration.Snapshot
	// Tracer of signalling; nil: it cannot be traced.
	Tracer *signalling.Tracer
}

// Query says which sessions: of a Slice, of a unit by name or Node ID, of a UE; "" for all.
type Query struct {
	Slice, Unit, SUPI string
	// Limit is about how many; 0 for MostListed, which it cannot exceed. Cursor is a Page's Next, "" at first.
	Limit  int
	Cursor string
}

// Page of sessions. Next is "" behind the last; a page may be empty before. What is in the store all the time comes at least once.
type Page struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty"`
}

// MostListed is how many sessions a page has, about.
const MostListed = onlookers.MostListed

// mostIDs are the PDU session identities of a UE (TS 24.501 9.4).
const mostIDs = 15

// The errors of List and One, beside those of the store.
var (
	ErrQuery         = onlookers.ErrQuery
	ErrNotConfigured = onlookers.ErrNotConfigured
	ErrNotFound      = &onlookers.NotFoundError{What: "session"}
)

// List a page of sessions.
func (i *Inspection) List(ctx context.Context, q Query) (Page, error) {
	config := i.Configuration()
	if config == nil {
		return Page{}, ErrNotConfigured
	}
	limit, err := onlookers.Limit(q.Limit)
	if err != nil {
		return Page{}, err
	}
	unit := nodeID(config, q.Unit)
	fits := func(s *record.Session) bool {
		return (q.Slice == "" || s.Slice == q.Slice) && (unit == "" || s.Unit.NodeID == unit)
	}
	if q.SUPI != "" {
		return i.ofUE(ctx, onlookers.SUPI(q.SUPI), fits)
	}
	page := Page{}
	page.Sessions, page.Next, err = i.records(fits).Walk(ctx, i.sections(config, q.Slice, unit), q.Cursor, limit)
	return page, err
}

// nodeID of a unit by its name, or by its Node ID itself.
func nodeID(config *configuration.Snapshot, unit string) string {
	for _, u := range config.Units() {
		if unit != "" && u.Name == unit {
			return u.NodeID
		}
	}
	return strings.ToLower(unit)
}

// sections by unit where one is asked for, else by Slice.
func (i *Inspection) sections(config *configuration.Snapshot, slice, unit string) (out []onlookers.Section) {
	for _, shard := range i.Shards {
		switch {
		case unit != "":
			out = append(out, onlookers.Section{Shard: shard.Number, Name: unit, Group: runner.UnitGroup(shard.Number, unit)})
		case slice != "": // whether it is configured or not: one that was deleted may still have sessions
			out = append(out, onlookers.Section{Shard: shard.Number, Name: slice, Group: runner.SliceGroup(shard.Number, slice)})
		default:
			for _, s := range config.Slices() {
				out = append(out, onlookers.Section{Shard: shard.Number, Name: s.Name, Group: runner.SliceGroup(shard.Number, s.Name)})
			}
		}
	}
	return out
}

// ofUE are a UE's sessions, by their keys.
func (i *Inspection) ofUE(ctx context.Context, supi string, fits func(*record.Session) bool) (Page, error) {
	var keys []string
	for id := 1; id <= mostIDs; id++ {
		keys = append(keys, record.Key(supi, uint8(id)))
	}
	found, err := i.records(fits).Read(ctx, keys)
	return Page{Sessions: append([]Session{}, found...)}, err
}

// records that fit. What cannot be read is named.
func (i *Inspection) records(fits func(*record.Session) bool) onlookers.Records[Session] {
	return onlookers.Records[Session]{Store: i.Store, Show: func(key string, value []byte) *Session {
		s, err := onlookers.Open(i.Sealer, record.Decode, key, value)
		switch {
		case err != nil:
			bad := &Session{Problem: err.Error()}
			bad.SUPI, bad.ID = nameOf(key)
			return bad
		case !fits(s):
			return nil
		}
		shown := i.sessionOf(s)
		return &shown
	}}
}

// nameOf the session of a key.
func nameOf(key string) (supi string, id uint8) {
	_, name, _ := strings.Cut(key, "/")
	supi, number, _ := onlookers.CutSession(name)
	n, _ := strconv.ParseUint(number, 10, 8) // what is no number shows as 0
	return supi, uint8(n)
}

// One session in full: ErrNotFound where there is none.
func (i *Inspection) One(ctx context.Context, supi string, id uint8) (Story, error) {
	if i.Configuration() == nil {
		return Story{}, ErrNotConfigured
	}
	s, err := onlookers.ReadOne(ctx, i.Store, i.Sealer, record.Decode, record.Key(onlookers.SUPI(supi), id))
	if errors.Is(err, sessionstore.ErrNotFound) {
		return Story{}, ErrNotFound
	}
	if err != nil {
		return Story{}, err
	}
	story := i.storyOf(s)
	holder, _, err := i.Store.Holder(ctx, story.Shard)
	if err != nil {
		return Story{}, err
	}
	story.Holder = holder
	return story, nil
}
