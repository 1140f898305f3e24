package onlookers

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"core5g.dev/core5g/images/nf/sessionstore"

	"golang.org/x/sync/errgroup"
)

// The bounds of one request.
const (
	// MostListed is how many records a page has, about: the store gives groups away in pieces of its own size.
	MostListed = 500
	mostGroups = 64 // that are looked into for a page
	mostReads  = 16 // at a time
)

// limitName is what a page's limit is called in a query.
const limitName = "limit"

// AskedLimit is the limit that a query asks for, for Limit; 0 where it asks for none.
func AskedLimit(query url.Values) (int, error) {
	text := query.Get(limitName)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%w: limit %.40q is no number", ErrQuery, text)
	}
	return n, nil
}

// Limit of a page: that which was asked for, or MostListed.
func Limit(asked int) (int, error) {
	if asked < 0 || asked > MostListed {
		return 0, fmt.Errorf("%w: limit %d: write 1 to %d", ErrQuery, asked, MostListed)
	}
	return cmp.Or(asked, MostListed), nil
}

// Section is a group of records; they are shown one after the other.
type Section struct {
	Shard uint16 `json:"s"`
	Name  string `json:"n"`
	// Inside is the store's cursor in it.
	Inside string `json:"c,omitempty"`
	// Group of the store.
	Group string `json:"-"`
}

func (s Section) compare(o Section) int {
	return cmp.Or(cmp.Compare(s.Shard, o.Shard), cmp.Compare(s.Name, o.Name))
}

func (s Section) cursor() string {
	b, _ := json.Marshal(s) // numbers and strings
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(text string) (s Section, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return Section{}, fmt.Errorf("%w: cursor %.40q is none that was given: begin anew without one", ErrQuery, text)
	}
	return s, nil
}

// Records of a store, as they are shown: a T each. nil leaves one out.
type Records[T any] struct {
	Store sessionstore.Store
	// Show what the store has under a key.
	Show func(key string, value []byte) *T
}

// Walk the sections from a cursor on, "" at first, until there is a page of about limit. next is "" behind the last; a page may be empty before. What is in
// the store all the time comes at least once.
func (r Records[T]) Walk(ctx context.Context, list []Section, cursor string, limit int) (page []T, next string, err error) {
	slices.SortFunc(list, Section.compare)
	from := Section{}
	if cursor != "" {
		if from, err = parseCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	n, _ := slices.BinarySearchFunc(list, from, Section.compare)
	list, page = list[n:], []T{}
	for n := 0; len(list) > 0; n++ {
		at := list[0]
		if at.compare(from) == 0 {
			at.Inside = from.Inside
		}
		if n == mostGroups || len(page) >= limit {
			return page, at.cursor(), nil
		}
		keys, next, err := r.Store.Members(ctx, at.Group, at.Inside, limit-len(page))
		if err != nil {
			return nil, "", err
		}
		found, err := r.Read(ctx, keys)
		if err != nil {
			return nil, "", err
		}
		page = append(page, found...)
		if next == "" {
			list = list[1:]
			continue
		}
		from = Section{Shard: at.Shard, Name: at.Name, Inside: next}
	}
	return page, "", nil
}

// Read the records of keys, in the keys' order. What has gone meanwhile is left out.
func (r Records[T]) Read(ctx context.Context, keys []string) ([]T, error) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	found := make([]*T, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostReads)
	for n, key := range keys {
		group.Go(func() error {
			record, err := r.Store.Read(ctx, key)
			switch {
			case errors.Is(err, sessionstore.ErrNotFound):
			case err != nil:
				return err
			default:
				found[n] = r.Show(key, record.Value)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []T
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}

// Sealer opens records; a *sessionstore.Sealer, or one whose keys follow a Secret.
type Sealer interface {
	Open(key string, sealed []byte) ([]byte, error)
}

// Open a record; its error is an *UnreadableError.
func Open[T any](sealer Sealer, decode func([]byte) (T, error), key string, value []byte) (record T, err error) {
	octets, err := sealer.Open(key, value)
	if err == nil {
		record, err = decode(octets)
	}
	if err != nil {
		return record, &UnreadableError{err}
	}
	return record, nil
}

// ReadOne record.
func ReadOne[T any](ctx context.Context, store sessionstore.Store, sealer Sealer, decode func([]byte) (T, error), key string) (record T, err error) {
	found, err := store.Read(ctx, key)
	if err != nil {
		return record, err
	}
	return Open(sealer, decode, key, found.Value)
}
