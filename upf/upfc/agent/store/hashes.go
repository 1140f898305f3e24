package store

// hashes leads from a hash to the sessions that have it: a hash table of numbers with open addressing, 8 octets an
// entry: 32 bits of hash, then the session index + 1. Two things can share a hash, so whoever finds a session
// looks at the session, too.
type hashes struct {
	entries []uint64
	n       int
}

func (t *hashes) at(hash uint32) int { return int(uint64(hash) * uint64(len(t.entries)) >> 32) }

func (t *hashes) next(i int) int {
	if i++; i == len(t.entries) {
		return 0
	}
	return i
}

func (t *hashes) add(hash, index uint32) {
	if (t.n+1)*4 > len(t.entries)*3 {
		old := t.entries
		t.entries = make([]uint64, max(64, len(old)*3/2))
		for _, e := range old {
			if e != 0 {
				t.put(e)
			}
		}
	}
	t.put(uint64(hash)<<32 | uint64(index+1))
	t.n++
}

func (t *hashes) put(e uint64) {
	i := t.at(uint32(e >> 32))
	for t.entries[i] != 0 {
		i = t.next(i)
	}
	t.entries[i] = e
}

// remove takes one entry out, and moves up those behind it that would not be found any more.
func (t *hashes) remove(hash, index uint32) {
	if len(t.entries) == 0 {
		return
	}
	want := uint64(hash)<<32 | uint64(index+1)
	i := t.at(hash)
	for t.entries[i] != want {
		if t.entries[i] == 0 {
			return
		}
		i = t.next(i)
	}
	t.n--
	hole := i
	for {
		i = t.next(i)
		e := t.entries[i]
		if e == 0 {
			t.entries[hole] = 0
			return
		}
		home := t.at(uint32(e >> 32))
		// It may fill the hole unless its home lies behind the hole, on the way to where it is.
		if (hole < i && hole < home && home <= i) || (hole > i && (home > hole || home <= i)) {
			continue
		}
		t.entries[hole] = e
		hole = i
	}
}

// find lists the sessions that may have a hash.
func (t *hashes) find(hash uint32) []uint32 {
	if len(t.entries) == 0 {
		return nil
	}
	var out []uint32
	for i := t.at(hash); t.entries[i] != 0; i = t.next(i) {
		if uint32(t.entries[i]>>32) == hash {
			out = append(out, uint32(t.entries[i])-1)
		}
	}
	return out
}
