package standby

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// held is what a standby has of a unit.
type held struct {
	estate   store.Estate
	memories map[uint8]*memory
	through  uint64 // the last change that it has
	whole    bool
}

// memory mirrors the counters of one life of upf-u.
type memory struct {
	boot   uint64
	slots  uint32
	counts map[uint32]dataplane.SlotCount
	ms     uint32    // what upf-u's clock said
	at     time.Time // then
}

// memoriesMax is how many lives of upf-u are remembered: sessions refer to the one before the present one until they are replayed.
const memoriesMax = 4

func newHeld(sessions uint32) *held {
	return &held{
		estate:   store.Estate{Sessions: sessions, Entries: map[uint32]store.Entry{}, Deletions: map[uint32]store.Entry{}},
		memories: map[uint8]*memory{},
	}
}

var errOutOfOrder = errors.New("a change does not follow the one before")

// take takes a change over. An error says that the unit's stream makes no sense.
func (h *held) take(f *Frame, now time.Time) error {
	switch f.kind {
	case kindLife:
		if len(h.memories) >= memoriesMax {
			delete(h.memories, f.Memory-memoriesMax)
		}
		h.memories[f.Memory] = &memory{boot: f.Boot, slots: f.Slots, counts: map[uint32]dataplane.SlotCount{}, at: now}
		h.estate.Life, h.estate.Boots[f.Memory] = f.Memory, f.Boot
	case kindSession:
		if f.Index >= h.estate.Sessions {
			return fmt.Errorf("session %d of a unit that has %d", f.Index, h.estate.Sessions)
		}
		return h.change(f, h.estate.Entries)
	case kindDeletion:
		return h.change(f, h.estate.Deletions)
	case kindMeta:
		if err := h.follow(f); err != nil {
			return err
		}
		h.estate.Meta = slices.Clone(f.Blob)
	case kindCounters:
		return h.count(f, now)
	case kindWhole:
		h.whole, h.through = true, max(h.through, f.Number)
	default:
		return fmt.Errorf("a frame of kind %d, which a unit does not send", f.kind)
	}
	return nil
}

// follow notes a change. What there was when the stream began bears the number of that time.
func (h *held) follow(f *Frame) error {
	if f.Number < h.through || h.whole && f.Number != h.through+1 {
		return errOutOfOrder
	}
	h.through = f.Number
	return nil
}

func (h *held) change(f *Frame, of map[uint32]store.Entry) error {
	if err := h.follow(f); err != nil {
		return err
	}
	if f.Blob == nil {
		delete(of, f.Index)
		return nil
	}
	of[f.Index] = store.Entry{Index: f.Index, Life: f.Memory, Blob: slices.Clone(f.Blob)}
	return nil
}

func (h *held) count(f *Frame, now time.Time) error {
	m := h.memories[f.Memory]
	if m == nil {
		return nil // of one that is forgotten
	}
	m.ms, m.at = f.At, now
	for i := range f.Counts {
		c := &f.Counts[i]
		if c.Slot >= m.slots {
			return fmt.Errorf("slot %d of a upf-u that has %d", c.Slot, m.slots)
		}
		var s dataplane.SlotCount
		s.Dir[abi.Ul], s.Dir[abi.Dl] = abi.UrrCounter{Bytes: c.UL, Packets: c.ULPackets}, abi.UrrCounter{Bytes: c.DL, Packets: c.DLPackets}
		s.Times = abi.UrrTimes{FirstMs: c.First, LastMs: c.Last, ActiveMs: c.ActiveTime}
		m.counts[c.Slot] = s
	}
	return nil
}

// leave writes what a upf-c of the unit would have left: its state file, and the last counters of upf-u beside it.
func (h *held) leave(path string, hz uint64, now time.Time) error {
	for _, m := range h.memories {
		ms := m.ms + uint32(min(now.Sub(m.at).Milliseconds(), math.MaxInt32))
		if err := dataplane.SaveMirrored(store.CountersPath(path, m.boot), m.boot, m.counts, m.slots, ms, hz); err != nil {
			return fmt.Errorf("the last counters: %w", err)
		}
	}
	return h.estate.Leave(path, now)
}

// counted are the counters as they are, by memory and slot.
func (h *held) counted() map[uint8]map[uint32]dataplane.SlotCount {
	out := map[uint8]map[uint32]dataplane.SlotCount{}
	for number, m := range h.memories {
		out[number] = maps.Clone(m.counts)
	}
	return out
}

// late is what was counted since; the sessions are as they were then.
func (h *held) late(since map[uint8]map[uint32]dataplane.SlotCount) []usage.Late {
	grown := map[uint32]usage.Counts{}
	for number, m := range h.memories {
		for slot, now := range m.counts {
			more := usage.FromSlot(now.Dir).Minus(usage.FromSlot(since[number][slot].Dir))
			if more != (usage.Counts{}) {
				grown[slot] = grown[slot].Plus(more)
			}
		}
	}
	var out []usage.Late
	if len(grown) == 0 {
		return nil
	}
	for index, e := range h.estate.Entries {
		var s state.Session
		if state.DecodeSession(e.Blob, &s, nil) != nil {
			continue // it was given up
		}
		for id, m := range s.Meters.All() {
			if more, is := grown[m.Slot]; is {
				out = append(out, usage.Late{Index: index, UPSEID: s.UPSEID, URR: id, Counts: more})
			}
		}
	}
	return out
}

// countOf is a slot as it is sent.
func countOf(slot uint32, s dataplane.SlotCount) Count {
	return Count{
		Slot: slot, UL: s.Dir[abi.Ul].Bytes, DL: s.Dir[abi.Dl].Bytes, ULPackets: s.Dir[abi.Ul].Packets, DLPackets: s.Dir[abi.Dl].Packets,
		First: s.Times.FirstMs, Last: s.Times.LastMs, ActiveTime: s.Times.ActiveMs,
	}
}
