package registrations

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
)

var storeDeaths = flag.Int("store-deaths", 3, "how often the session store is killed under load")

// redis is a redis-server of the story's own, as the embedded store is: what it has answered is in its file.
type redis struct {
	t       *testing.T
	dir     string
	port    int
	command *exec.Cmd
}

func startRedis(t *testing.T) *redis {
	t.Helper()
	r := &redis{t: t, dir: t.TempDir(), port: loopback.Port(t)}
	r.run()
	t.Cleanup(r.kill)
	return r
}

func (r *redis) run() {
	r.t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		r.t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	r.command = exec.Command(path, "--bind", "127.0.0.1", "--port", strconv.Itoa(r.port), "--dir", r.dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", "always", "--maxmemory-policy", "noeviction")
	if err := r.command.Start(); err != nil {
		r.t.Fatal(err)
	}
}

// kill it without a word.
func (r *redis) kill() {
	if r.command != nil {
		_ = r.command.Process.Kill()
		_ = r.command.Wait()
		r.command = nil
	}
}

// open a connection of a pod's own.
func (r *redis) open(prefix string) func() sessionstore.Store {
	return func() sessionstore.Store {
		r.t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			s, err := redisstore.Open(context.Background(), redisstore.Options{Addresses: []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port))}, Prefix: prefix})
			switch {
			case err == nil:
				r.t.Cleanup(func() { _ = s.Close() })
				return s
			case time.Now().After(end):
				r.t.Fatal(err)
			}
		}
	}
}

// The SMF's session store is away when a UE asks for a PDU session, until the SMF has been asked three times: the UE is told nothing, and has its session then.
func TestASessionWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	kept := memory.New(time.Now)
	var away atomic.Bool
	kept.Away = away.Load
	s := beginOn(t, stores{amf: inMemory().amf, smf: func() sessionstore.Store { return kept }}, gnb.Keep, 2*time.Minute)
	p := s.switchOn(1, func(c *ue.Config) { c.Timers.T3580 = patience })
	was := p.ready()
	var asked atomic.Int32
	count := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/sm-contexts") && asked.Add(1) == 3 {
			away.Store(false)
		}
		return false
	}
	s.refuse.Store(&count)
	away.Store(true)
	p.must(p.Establish(s.ctx, ue.SessionConfig{PSI: 2, Slice: slice, DNN: "internet"}))
	if is := p.Status().Counters; asked.Load() < 3 || is.Rejects != was.Counters.Rejects || is.Registrations != was.Counters.Registrations {
		t.Errorf("the SMF was asked %d times, the UE has heard %+v, %+v before", asked.Load(), is, was.Counters)
	}
}

// The session store dies, again and again, while UEs come, go, and ask for sessions. When it is back, each gets what it asks for.
func TestTheStoreDies(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute: make e2e-sessions")
	}
	t.Parallel()
	server := startRedis(t)
	s := beginOn(t, stores{amf: server.open("amf:"), smf: server.open("smf:")}, gnb.Keep, time.Minute+time.Duration(*storeDeaths)*time.Minute)
	s.startWorker()
	var phones []*phone
	for n := range 4 {
		phones = append(phones, s.attach(n+1))
	}
	second := ue.SessionConfig{PSI: 2, Slice: slice, DNN: "internet"}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) //nolint:gosec // no secret
	t.Cleanup(func() {
		for n := range phones {
			if rec := s.kept(n + 1); t.Failed() && rec != nil {
				t.Logf("UE %d: at %+v, left %+v, procedure %+v, command %+v, paging %+v, sessions %+v", n+1, rec.N2, rec.Left, rec.Procedure, rec.Command, rec.Paging, rec.Sessions)
			}
		}
	})
	for death := range *storeDeaths {
		busy, calm := context.WithCancel(s.ctx)
		var load sync.WaitGroup
		for _, p := range phones {
			load.Go(func() {
				for busy.Err() == nil { // what is refused meanwhile is
					_ = p.Idle(busy)
					_ = p.ServiceRequest(busy)
					if p.Establish(busy, second) == nil {
						_ = p.Release(busy, second.PSI)
					}
				}
			})
		}
		wait := func(most time.Duration) {
			select {
			case <-s.ctx.Done():
			case <-time.After(time.Duration(random.Int64N(int64(most)))):
			}
		}
		wait(time.Second)
		server.kill()
		wait(7 * time.Second)
		server.run()
		back := time.Now()
		wait(time.Second)
		calm()
		load.Wait()
		for n, p := range phones {
			s.until("a new session for UE "+strconv.Itoa(n+1), func() bool {
				trying, cancel := context.WithTimeout(s.ctx, patience)
				defer cancel()
				if p.Status().State != "registered" {
					_ = p.Register(trying)
				}
				err := p.Establish(trying, second)
				if err == nil {
					err = p.Release(trying, second.PSI)
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Logf("death %d, %s after: UE %d: %v", death+1, time.Since(back).Round(time.Millisecond), n+1, err)
				}
				return err == nil
			})
		}
		t.Logf("death %d: all have new sessions %s after the store was back", death+1, time.Since(back).Round(time.Millisecond))
	}
}
