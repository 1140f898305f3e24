package standby

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"

	"strconv"
	"time"

	"core5g.dev/core5g/upf/upfc/fencing"
)

// Arbiter keeps the record of a unit. Its methods return when ctx ends.
type Arbiter interface {
	// Read is the record as it is; the empty version when there is none yet.
	Read(ctx context.Context) (fencing.Seen, error)
	// Write replaces the record if it is of the version that is asked for; an error goes with fencing.Unknown.
	Write(ctx context.Context, w fencing.Write) (fencing.Outcome, fencing.Version, error)
}

// askFor bounds how long the arbiter is waited for.
const askFor = time.Second

// Memory is an arbiter for members in one process.
type Memory struct {
	mu      sync.Mutex
	record  fencing.Record
	version int
}

// Read implements Arbiter.
func (m *Memory) Read(context.Context) (fencing.Seen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fencing.Seen{Record: m.record, Version: m.name()}, nil
}

func (m *Memory) name() fencing.Version {
	if m.version == 0 {
		return ""
	}
	return fencing.Version(strconv.Itoa(m.version))
}

// Write implements Arbiter.
func (m *Memory) Write(_ context.Context, w fencing.Write) (fencing.Outcome, fencing.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.If != m.name() {
		return fencing.Refused, "", nil
	}
	m.record = w.Record
	m.version++
	return fencing.Done, m.name(), nil
}

// Boottime is the machine's clock that goes on while it sleeps, the same in all its processes: upf-u's grants are of it.
func Boottime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}
