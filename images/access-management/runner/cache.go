package runner

// cache is the order in which UEs in memory were used, the one that was used longest ago first. What is at rest may go: the store has it.
type cache struct {
	oldest, newest *ue
	size, most     int
}

// defaultCached UEs take about 4 KiB each.
const defaultCached = 1 << 15

func (c *cache) use(u *ue) {
	if c.newest == u {
		return
	}
	c.remove(u)
	c.size++
	u.in = true
	u.older = c.newest
	if c.newest != nil {
		c.newest.newer = u
	} else {
		c.oldest = u
	}
	c.newest = u
}

func (c *cache) remove(u *ue) {
	if !u.in {
		return
	}
	c.size--
	u.in = false
	if u.older != nil {
		u.older.newer = u.newer
	} else {
		c.oldest = u.newer
	}
	if u.newer != nil {
		u.newer.older = u.older
	} else {
		c.newest = u.older
	}
	u.older, u.newer = nil, nil
}

// all UEs in memory that are like this, those used longest ago first.
func (c *cache) all(like func(*ue) bool) (out []*ue) {
	for u := c.oldest; u != nil; u = u.newer {
		if like(u) {
			out = append(out, u)
		}
	}
	return out
}

// looked bounds how many UEs are asked whether they can go, so that many that are busy cost nothing.
const looked = 8

// evict what is over the bound.
func (r *Runner) evict() {
	u := r.cache.oldest
	for n := 0; n < looked && u != nil && r.cache.size > r.cache.most; n++ {
		newer := u.newer
		if u.atRest() {
			r.forget(u, nil)
			r.counts.Evicted++
		} else { // it stands in the way of others no longer
			r.cache.use(u)
		}
		u = newer
	}
}
