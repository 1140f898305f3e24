package inspection

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"golang.org/x/sync/errgroup"
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

// The bounds of one request.
const (
	// MostListed is how many sessions a page has, about: the store gives groups away in pieces of its own size.
	MostListed = 500
	mostGroups = 64 // that are looked into for a page
	mostReads  = 16 // at a time
	mostIDs    = 15 // PDU session identities of a UE (TS 24.501 9.4)
)

// The errors of List and One, beside those of the store.
var (
	ErrQuery         = errors.New("the query cannot be understood")
	ErrNotFound      = errors.New("there is no such session")
	ErrNotConfigured = errors.New("the configuration was not read yet: ask again in a moment")
)

// section is a group of sessions; they are shown one after the other.
type section struct {
	Shard uint16 `json:"s"`
	Name  string `json:"n"`
	// Inside is the store's cursor in it.
	Inside string `json:"c,omitempty"`
	group  string
}

func (s section) compare(o section) int {
	return cmp.Or(cmp.Compare(s.Shard, o.Shard), cmp.Compare(s.Name, o.Name))
}

func (s section) cursor() string {
	b, _ := json.Marshal(s) // numbers and strings
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(text string) (s section, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return section{}, fmt.Errorf("%w: cursor %.40q is none that was given: begin anew without one", ErrQuery, text)
	}
	return s, nil
}

// List a page of sessions.
func (i *Inspection) List(ctx context.Context, q Query) (Page, error) {
	config := i.Configuration()
	if config == nil {
		return Page{}, ErrNotConfigured
	}
	if q.Limit < 0 || q.Limit > MostListed {
		return Page{}, fmt.Errorf("%w: limit %d: write 1 to %d", ErrQuery, q.Limit, MostListed)
	}
	limit := cmp.Or(q.Limit, MostListed)
	unit := nodeID(config, q.Unit)
	fits := func(s *record.Session) bool {
		return (q.Slice == "" || s.Slice == q.Slice) && (unit == "" || s.Unit.NodeID == unit)
	}
	if q.SUPI != "" {
		return i.ofUE(ctx, SUPI(q.SUPI), fits)
	}
	return i.walk(ctx, i.sections(config, q.Slice, unit), q.Cursor, limit, fits)
}

// SUPI of what people write: digits alone are those of an IMSI.
func SUPI(text string) string {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		return "imsi-" + text
	}
	return text
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
func (i *Inspection) sections(config *configuration.Snapshot, slice, unit string) (out []section) {
	for _, shard := range i.Shards {
		switch {
		case unit != "":
			out = append(out, section{Shard: shard.Number, Name: unit, group: runner.UnitGroup(shard.Number, unit)})
		case slice != "": // whether it is configured or not: one that was deleted may still have sessions
			out = append(out, section{Shard: shard.Number, Name: slice, group: runner.SliceGroup(shard.Number, slice)})
		default:
			for _, s := range config.Slices() {
				out = append(out, section{Shard: shard.Number, Name: s.Name, group: runner.SliceGroup(shard.Number, s.Name)})
			}
		}
	}
	slices.SortFunc(out, section.compare)
	return out
}

// walk from a cursor on until there is a page.
func (i *Inspection) walk(ctx context.Context, list []section, cursor string, limit int, fits func(*record.Session) bool) (Page, error) {
	from := section{}
	if cursor != "" {
		var err error
		if from, err = parseCursor(cursor); err != nil {
			return Page{}, err
		}
	}
	list = list[sectionsBefore(list, from):]
	page := Page{Sessions: []Session{}}
	for n := 0; len(list) > 0; n++ {
		at := list[0]
		if at.compare(from) == 0 {
			at.Inside = from.Inside
		}
		if n == mostGroups || len(page.Sessions) >= limit {
			page.Next = at.cursor()
			return page, nil
		}
		keys, next, err := i.Store.Members(ctx, at.group, at.Inside, limit-len(page.Sessions))
		if err != nil {
			return Page{}, err
		}
		found, err := i.read(ctx, keys, fits)
		if err != nil {
			return Page{}, err
		}
		page.Sessions = append(page.Sessions, found...)
		if next == "" {
			list = list[1:]
			continue
		}
		from = section{Shard: at.Shard, Name: at.Name, Inside: next}
	}
	return page, nil
}

func sectionsBefore(list []section, from section) int {
	n, _ := slices.BinarySearchFunc(list, from, section.compare)
	return n
}

// ofUE are a UE's sessions, by their keys.
func (i *Inspection) ofUE(ctx context.Context, supi string, fits func(*record.Session) bool) (Page, error) {
	var keys []string
	for id := 1; id <= mostIDs; id++ {
		keys = append(keys, record.Key(supi, uint8(id)))
	}
	found, err := i.read(ctx, keys, fits)
	return Page{Sessions: append([]Session{}, found...)}, err
}

// read the records of keys, in their order. What has gone meanwhile is left out; what cannot be read is named.
func (i *Inspection) read(ctx context.Context, keys []string, fits func(*record.Session) bool) ([]Session, error) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	found := make([]*Session, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostReads)
	for n, key := range keys {
		group.Go(func() error {
			s, err := i.record(ctx, key)
			var bad *unreadableError
			switch {
			case errors.Is(err, sessionstore.ErrNotFound):
			case errors.As(err, &bad):
				found[n] = &Session{Problem: bad.Error()}
				found[n].SUPI, found[n].ID = nameOf(key)
			case err != nil:
				return err
			case fits(s):
				shown := i.sessionOf(s)
				found[n] = &shown
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []Session
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}

// unreadableError: a record that this program cannot read. It says why, and nothing of the content.
type unreadableError struct{ why error }

func (e *unreadableError) Error() string { return e.why.Error() }
func (e *unreadableError) Unwrap() error { return e.why }

func (i *Inspection) record(ctx context.Context, key string) (*record.Session, error) {
	found, err := i.Store.Read(ctx, key)
	if err != nil {
		return nil, err
	}
	octets, err := i.Sealer.Open(key, found.Value)
	if err != nil {
		return nil, &unreadableError{err}
	}
	s, err := record.Decode(octets)
	if err != nil {
		return nil, &unreadableError{err}
	}
	return s, nil
}

// nameOf the session of a key.
func nameOf(key string) (supi string, id uint8) {
	_, name, _ := strings.Cut(key, "/")
	supi, number, _ := strings.Cut(name, "/")
	n, _ := strconv.ParseUint(number, 10, 8) // what is no number shows as 0
	return supi, uint8(n)
}

// One session in full: ErrNotFound where there is none.
func (i *Inspection) One(ctx context.Context, supi string, id uint8) (Story, error) {
	if i.Configuration() == nil {
		return Story{}, ErrNotConfigured
	}
	s, err := i.record(ctx, record.Key(SUPI(supi), id))
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
