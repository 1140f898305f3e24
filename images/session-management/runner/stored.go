package runner

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// stored is what the store has of a session.
type stored struct {
	revision sessionstore.Revision // zero: it has none
	record   *record.Session
	octets   []byte // as encoded, before sealing
}

// IndexSEID names a session by its CP SEID: SM context references and N4 reports have no other name.
const IndexSEID = "seid"

// IndexAddress names a session by an address of its UE's, or by its prefix: "<Slice>/<DNN>/<address>", for in another network instance of N6 it is another
// UE's, and within one no two data networks have an address in common. No other session has it, whatever a unit
// chooses: where every unit has routes to all addresses, a session that has moved has taken its along, and the unit that it left knows nothing of that.
const IndexAddress = "address"

func indexes(s *record.Session) []sessionstore.Index {
	if s == nil {
		return nil
	}
	var out []sessionstore.Index
	for _, id := range s.CPSEIDs() {
		if id != 0 {
			out = append(out, sessionstore.Index{Kind: IndexSEID, Value: record.Ref(id)})
		}
	}
	if s.Phase == record.Releasing && s.UPSEID == 0 { // it is deleted in its unit, which may give the address to the next
		return out
	}
	address := func(a fmt.Stringer) {
		out = append(out, sessionstore.Index{Kind: IndexAddress, Value: s.Slice + "/" + s.DNN + "/" + a.String()})
	}
	if s.IPv4.IsValid() {
		address(s.IPv4)
	}
	if s.IPv6.IsValid() {
		address(s.IPv6)
	}
	return out
}

// addressTaken says whether a record was refused because an address in it is another session's.
func addressTaken(err error) bool {
	var taken *sessionstore.TakenError
	return errors.As(err, &taken) && taken.Index.Kind == IndexAddress
}

// UnitGroup lists the sessions that a shard has on a unit.
func UnitGroup(shard uint16, nodeID string) string {
	return "shard/" + strconv.Itoa(int(shard)) + "/unit/" + nodeID
}

// SliceGroup lists the sessions of a shard in a Slice.
func SliceGroup(shard uint16, name string) string {
	return "shard/" + strconv.Itoa(int(shard)) + "/slice/" + name
}

// nodes are the units that have the session, or may have it.
func nodes(s *record.Session) []string {
	out := []string{s.Unit.NodeID}
	if s.Branch != nil {
		out = append(out, s.Branch.NodeID)
	}
	if s.Left != nil && s.Left.NodeID != "" && !slices.Contains(out, s.Left.NodeID) {
		out = append(out, s.Left.NodeID)
	}
	return out
}

func groups(s *record.Session) []string {
	if s == nil {
		return nil
	}
	shard := record.ShardOf(s.CPSEID)
	out := []string{SliceGroup(shard, s.Slice)}
	for _, node := range nodes(s) {
		out = append(out, UnitGroup(shard, node))
	}
	return out
}

// differences between what a record was found by, or in, and is: nearly always none.
func differences[T comparable](was, is []T) (added, removed []T) {
	if slices.Equal(was, is) {
		return nil, nil
	}
	return without(is, was), without(was, is)
}

// without returns what of a is not in b.
func without[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return slices.Contains(b, x) })
}

// encoded is a record as the store is to have it; nil: none.
func encoded(key string, rec *record.Session) (stored, error) {
	is := stored{record: rec}
	if rec == nil {
		return is, nil
	}
	var err error
	if is.octets, err = rec.Encode(); err != nil {
		return stored{}, fmt.Errorf("the record of %s cannot be written: %w", key, err)
	}
	return is, nil
}

// change from what the store has to what it is to have, with these times; nil where that is the same.
func (r *Runner) change(key string, was, is stored, due map[string]time.Time) (*sessionstore.Change, stored) {
	exists := was.revision != sessionstore.Revision{}
	switch {
	case is.record == nil && !exists, is.record != nil && exists && len(due) == 0 && slices.Equal(was.octets, is.octets):
		return nil, was
	}
	r.writes++
	is.revision = sessionstore.Revision{Writer: r.writer, Count: r.writes}
	c := &sessionstore.Change{Key: key, Was: was.revision, Is: is.revision}
	c.AddIndexes, c.RemoveIndexes = differences(indexes(was.record), indexes(is.record))
	c.JoinGroups, c.LeaveGroups = differences(groups(was.record), groups(is.record))
	if is.record == nil {
		is.revision = sessionstore.Revision{}
		c.Due = map[string]time.Time{}
		for _, name := range procedure.DueNames {
			c.Due[name] = time.Time{}
		}
		return c, is
	}
	c.Value = r.sealer.Seal(key, is.octets)
	c.Due = dueOf(due, exists)
	// Whoever takes over goes on with what was begun, and finds out what a unit has that did not answer.
	c.OpenIntent = is.record.Procedure != nil || is.record.Told != nil
	c.CloseIntent = exists && !c.OpenIntent
	return c, is
}

// dueOf leaves out times to be taken away from a record that is not there.
func dueOf(due map[string]time.Time, exists bool) map[string]time.Time {
	if exists {
		return due
	}
	out := map[string]time.Time{}
	for name, at := range due {
		if !at.IsZero() {
			out[name] = at
		}
	}
	return out
}
