package ausf

// What an authentication leaves behind: of each subscriber the sequence number that was issued last, and the challenges that
// wait for their confirmation, in one record. A challenge commits both in one write before it leaves; so the number is used
// once, and whichever replica is asked for the confirmation has it.

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/records"
)

const (
	// contextLifetime covers five transmissions of the Authentication Request, 6 s apart (T3560,
	// TS 24.501 10.2), and mostOpen what an AMF, or two that a UE goes to and fro between, may have begun in that time.
	contextLifetime = 60 * time.Second
	mostOpen        = 6

	// groupOfAll has the records of all subscribers, and keyPrefix is what these begin with.
	groupOfAll = "auth"
	keyPrefix  = "auth:"
	// identifierKey is what the identifiers of contexts are sealed for.
	identifierKey = "auth-id"
	nonceSize     = 16
)

// remembered is what is kept of a subscriber.
type remembered struct {
	aka.Sequence
	Open []opened `json:"open,omitempty"`
}

// opened is a challenge that waits for its confirmation.
type opened struct {
	Nonce    []byte    `json:"n"`
	RAND     []byte    `json:"r"`
	XRESStar []byte    `json:"x"`
	KSEAF    []byte    `json:"k"`
	Until    time.Time `json:"t"`

	// SUPI is not part of it: the record is one's own.
	SUPI string `json:"-"`
}

// challenged reports whether RAND was sent to the subscriber in a challenge that is still open.
func (m *remembered) challenged(rnd [16]byte) bool {
	return slices.ContainsFunc(m.Open, func(o opened) bool { return bytes.Equal(o.RAND, rnd[:]) })
}

// context is where that of a nonce is among those that are open; -1: it is not.
func (m *remembered) context(nonce []byte) int {
	return slices.IndexFunc(m.Open, func(o opened) bool { return bytes.Equal(o.Nonce, nonce) })
}

type memory struct {
	records *records.Records
	now     func() time.Time
}

func newMemory(kept *records.Records, now func() time.Time) *memory { return &memory{kept, now} }

// parse a record, without what has expired.
func (y *memory) parse(value []byte) (*remembered, error) {
	m := new(remembered)
	if value == nil {
		return m, nil
	}
	if err := json.Unmarshal(value, m); err != nil {
		return nil, err
	}
	now := y.now()
	m.Open = slices.DeleteFunc(m.Open, func(o opened) bool { return !now.Before(o.Until) })
	return m, nil
}

// add a challenge that open makes, and returns its identifier. open may be called more than once; what it says last counts.
func (y *memory) add(ctx context.Context, supi string, open func(*remembered) (opened, error)) (id string, err error) {
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // never fails
	err = y.records.Change(ctx, keyPrefix+supi, true, func(was []byte) (records.Becomes, error) {
		m, err := y.parse(was)
		if err != nil {
			return records.Becomes{}, err
		}
		o, err := open(m)
		if err != nil {
			return records.Becomes{}, err
		}
		// What is made again may have been written: another replica has changed the record since.
		m.Open = slices.DeleteFunc(m.Open, func(o opened) bool { return bytes.Equal(o.Nonce, nonce) })
		o.Nonce, o.Until = nonce, y.now().Add(contextLifetime)
		m.Open = append(m.Open, o)
		m.Open = m.Open[max(0, len(m.Open)-mostOpen):]
		value, err := json.Marshal(m)
		return records.Becomes{Value: value, Join: []string{groupOfAll}, Random: true}, err
	})
	if err != nil {
		return "", err
	}
	return y.identifier(supi, nonce), nil
}

// identifier of a context: it says whose it is, and only here (TS 33.501 6.1.3.2.0: the SEAF gets the SUPI with the
// confirmation).
func (y *memory) identifier(supi string, nonce []byte) string {
	return base64.RawURLEncoding.EncodeToString(y.records.Sealer().Seal(identifierKey, append(slices.Clone(nonce), supi...)))
}

func (y *memory) identified(id string) (supi string, nonce []byte, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return "", nil, false
	}
	plain, err := y.records.Sealer().Open(identifierKey, sealed)
	if err != nil || len(plain) < nonceSize {
		return "", nil, false
	}
	return string(plain[nonceSize:]), plain[:nonceSize], true
}

// find a context, which stays.
func (y *memory) find(ctx context.Context, id string) (found opened, ok bool, err error) {
	supi, nonce, ok := y.identified(id)
	if !ok {
		return opened{}, false, nil
	}
	in := func(value []byte) (opened, bool, error) {
		m, err := y.parse(value)
		if err != nil {
			return opened{}, false, err
		}
		at := m.context(nonce)
		if at < 0 {
			return opened{}, false, nil
		}
		o := m.Open[at]
		o.SUPI = supi
		return o, true, nil
	}
	key := keyPrefix + supi
	if found, ok, err = in(y.records.Recall(key)); ok && err == nil {
		return found, true, nil
	}
	value, err := y.records.Read(ctx, key)
	if err != nil {
		return opened{}, false, err
	}
	return in(value)
}

// take removes a context and returns it.
func (y *memory) take(ctx context.Context, id string, sequences *aka.Sequences) (taken opened, ok bool, err error) {
	supi, nonce, ok := y.identified(id)
	if !ok {
		return opened{}, false, nil
	}
	err = y.records.Change(ctx, keyPrefix+supi, false, func(was []byte) (records.Becomes, error) {
		ok = false
		m, err := y.parse(was)
		if err != nil {
			return records.Becomes{}, err
		}
		at := m.context(nonce)
		if at < 0 {
			return records.Becomes{}, records.ErrKeep
		}
		taken, ok = m.Open[at], true
		m.Open = slices.Delete(m.Open, at, at+1)
		return y.becomes(m, sequences)
	})
	taken.SUPI = supi
	return taken, ok && err == nil, err
}

// becomes nothing where nothing need be remembered.
func (y *memory) becomes(m *remembered, sequences *aka.Sequences) (records.Becomes, error) {
	if len(m.Open) == 0 && sequences.Needless(m.Sequence) {
		return records.Becomes{Leave: []string{groupOfAll}}, nil
	}
	value, err := json.Marshal(m)
	return records.Becomes{Value: value, Random: true}, err
}

// tidy drops what need not be remembered any more: a phone that does not answer leaves its challenge behind.
func (y *memory) tidy(ctx context.Context, sequences *aka.Sequences) error {
	var failed error
	err := y.records.Members(ctx, groupOfAll, func(key string) bool {
		if !strings.HasPrefix(key, keyPrefix) {
			return true
		}
		failed = y.records.Change(ctx, key, false, func(was []byte) (records.Becomes, error) {
			m, err := y.parse(was)
			if err != nil {
				return records.Becomes{}, records.ErrKeep
			}
			if len(m.Open) > 0 || !sequences.Needless(m.Sequence) {
				return records.Becomes{}, records.ErrKeep
			}
			return records.Becomes{Leave: []string{groupOfAll}}, nil
		})
		return failed == nil && ctx.Err() == nil
	})
	if err == nil {
		err = failed
	}
	return err
}
