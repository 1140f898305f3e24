package rules

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
)

// ByID is what a session has of one sort, rules or what belongs to them, in the order of their IDs. It is few: a row of
// them is looked through, written and copied faster than a map, and always in the same order.
type ByID[K cmp.Ordered, V any] []WithID[K, V]

// WithID is one of them.
type WithID[K cmp.Ordered, V any] struct {
	ID    K
	Value V
}

// Place is where an ID stands, or would have to.
func (l ByID[K, V]) Place(id K) (int, bool) {
	first, end := 0, len(l)
	if end == 0 || l[end-1].ID < id { // as those come that are new
		return end, false
	}
	for first < end {
		if middle := int(uint(first+end) >> 1); l[middle].ID < id {
			first = middle + 1
		} else {
			end = middle
		}
	}
	return first, l[first].ID == id
}

// Get is what has an ID; nothing where none has.
func (l ByID[K, V]) Get(id K) (v V) {
	if i, ok := l.Place(id); ok {
		v = l[i].Value
	}
	return v
}

// Find is Get that says whether there is one.
func (l ByID[K, V]) Find(id K) (v V, ok bool) {
	i, ok := l.Place(id)
	if ok {
		v = l[i].Value
	}
	return v, ok
}

// Has says whether something has an ID.
func (l ByID[K, V]) Has(id K) bool {
	_, ok := l.Place(id)
	return ok
}

// Put gives something an ID, in place of what has it.
func (l *ByID[K, V]) Put(id K, v V) {
	i, ok := l.Place(id)
	if !ok {
		*l = slices.Insert(*l, i, WithID[K, V]{ID: id})
	}
	(*l)[i].Value = v
}

// Delete takes away what has an ID.
func (l *ByID[K, V]) Delete(id K) {
	if i, ok := l.Place(id); ok {
		*l = slices.Delete(*l, i, i+1)
	}
}

// DeleteFunc takes away what drop holds for.
func (l *ByID[K, V]) DeleteFunc(drop func(id K, v V) bool) {
	*l = slices.DeleteFunc(*l, func(x WithID[K, V]) bool { return drop(x.ID, x.Value) })
}

// Clone is one that can be changed without the original noticing.
func (l ByID[K, V]) Clone() ByID[K, V] { return slices.Clone(l) }

// CloneFor is Clone with room for n.
func (l ByID[K, V]) CloneFor(n int) ByID[K, V] {
	if n = max(n, len(l)); n == 0 {
		return nil
	}
	return append(make(ByID[K, V], 0, n), l...)
}

// All are the IDs and what has them, in order. What is put in place of another meanwhile is seen.
func (l ByID[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range l {
			if !yield(l[i].ID, l[i].Value) {
				return
			}
		}
	}
}

// IDs are all of them.
func (l ByID[K, V]) IDs() iter.Seq[K] {
	return func(yield func(K) bool) {
		for i := range l {
			if !yield(l[i].ID) {
				return
			}
		}
	}
}

// MarshalJSON writes an object, whose names are the IDs.
func (l ByID[K, V]) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(l.All())) }
