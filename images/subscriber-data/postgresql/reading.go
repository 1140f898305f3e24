package postgresql

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// readLimit is for one row: a UE's T3510 is 15 s (TS 24.501 table 10.2.1), and the AMF asks more than once.
	readLimit = 2 * time.Second
	// readers ask at a time, each for all that are wanted by then: in a storm what each question costs is shared by many. A second one goes on while
	// the first gets no answer.
	readers = 2
	// perRead rows are asked for together.
	perRead = 256
)

// read is a row that is asked for; whoever else wants it meanwhile waits for it.
type read struct {
	supi  string
	epoch uint64
	since time.Time
	done  chan struct{}
	row   *row
	err   error
	// changed while it was under way: what it finds may be what was before.
	changed bool
}

// ask for a row, where nobody has yet. The lock is held.
func (s *Served) ask(supi string) *read {
	if asked := s.reads[supi]; asked != nil {
		return asked
	}
	asked := &read{supi: supi, epoch: s.epoch, since: time.Now(), done: make(chan struct{})}
	s.reads[supi] = asked
	s.waiting = append(s.waiting, asked)
	if s.readers < readers {
		s.readers++
		go s.read()
	}
	return asked
}

// read until nobody waits. Nobody's request ends a read: others wait for it, too.
func (s *Served) read() {
	for {
		batch := s.take()
		if batch == nil {
			return
		}
		supis := make([]string, len(batch))
		for i, asked := range batch {
			supis[i] = asked.supi
		}
		ctx, cancel := context.WithDeadline(context.Background(), batch[0].since.Add(s.readLimit))
		rows, err := s.find(ctx, supis)
		cancel()
		s.settle(batch, rows, err)
	}
}

// take those that have waited longest; none ends the reader.
func (s *Served) take() (batch []*read) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.waiting), perRead)
	if n == 0 {
		s.readers--
		return nil
	}
	batch = s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return batch
}

// settle what was read: rows has those that there are.
func (s *Served) settle(batch []*read, rows map[string]*row, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range batch {
		if s.reads[asked.supi] == asked {
			delete(s.reads, asked.supi)
		}
		asked.row, asked.err = rows[asked.supi], err
		if err == nil && asked.row == nil {
			asked.err = pgx.ErrNoRows
		}
		switch {
		case asked.changed || asked.epoch != s.epoch:
		case asked.err == nil:
			s.cache.put(asked.row, asked.epoch)
		case errors.Is(asked.err, pgx.ErrNoRows):
			s.cache.remove(asked.supi)
		}
		close(asked.done)
	}
}
