package runner

// cache is the order in which sessions in memory were used, the one that was used longest ago first. What is at rest may go: the store has it.
type cache struct {
	oldest, newest *session
	most           int
}

// defaultCached sessions take about 4 KiB each.
const defaultCached = 1 << 15

func (c *cache) use(s *session) {
	if c.newest == s {
		return
	}
	c.remove(s)
	s.older = c.newest
	if c.newest != nil {
		c.newest.newer = s
	} else {
		c.oldest = s
	}
	c.newest = s
}

func (c *cache) remove(s *session) {
	if s.older != nil {
		s.older.newer = s.newer
	} else if c.oldest == s {
		c.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else if c.newest == s {
		c.newest = s.older
	}
	s.older, s.newer = nil, nil
}

// looked bounds how many sessions are asked whether they can go, so that many that are busy cost nothing.
const looked = 8

// evict what is over the bound.
func (r *Runner) evict() {
	s := r.cache.oldest
	for n := 0; n < looked && s != nil && len(r.sessions) > r.cache.most; n++ {
		newer := s.newer
		switch {
		case !s.atRest() || s.owed != nil: // it stands in the way of others no longer
			r.cache.use(s)
		default:
			r.drop(s, nil)
			r.counts.Evicted++
		}
		s = newer
	}
}
