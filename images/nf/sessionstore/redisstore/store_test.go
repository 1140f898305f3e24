package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/conformance"
)

func subject(t *testing.T, s *Store, forget func()) *conformance.Subject {
	return &conformance.Subject{Store: s, Pass: time.Sleep, Short: 150 * time.Millisecond, Forget: forget}
}

func TestConformance(t *testing.T) {
	redisServer(t)
	conformance.Run(t, func(t *testing.T) *conformance.Subject {
		srv := start(t)
		forget := srv.keep()
		return subject(t, open(t, Options{Addresses: []string{srv.address()}}), func() {
			forget()
		})
	})
}

// With WAIT for a replica all of it holds, too.
func TestConformanceWithReplicas(t *testing.T) {
	redisServer(t)
	primary := start(t, "--min-replicas-to-write", "1")
	replica := start(t, "--replicaof", "127.0.0.1 "+primary.address()[strings.LastIndex(primary.address(), ":")+1:])
	linked(t, replica)
	conformance.Run(t, func(t *testing.T) *conformance.Subject {
		s := open(t, Options{Addresses: []string{primary.address()}, Replicas: 1, ReplicaTimeout: limit})
		return subject(t, s, func() { t.Skip("what a server has forgotten is tested with one, in TestConformance") })
	})
}

// A user with the rights that ACLRules gives can do all of it, and touches nothing of others.
func TestConformanceWithTheLeastRights(t *testing.T) {
	redisServer(t)
	conformance.Run(t, func(t *testing.T) *conformance.Subject {
		srv := start(t)
		c := srv.client()
		defer func() { _ = c.Close() }()
		ctx := context.Background()
		rules := append([]string{"core5g", "on", ">secret"}, strings.Fields(ACLRules("core5g:a/b:"))...)
		if err := c.ACLSetUser(ctx, rules[0], rules[1:]...).Err(); err != nil {
			t.Fatal(err)
		}
		if err := c.Set(ctx, "core5g:a/c:r:k", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s := open(t, Options{Addresses: []string{srv.address()}, Prefix: "core5g:a/b:", Username: "core5g", Password: "secret"})
		if err := s.Check(ctx); err != nil {
			t.Error(err)
		}
		for name, command := range map[string]error{
			"read another's":  s.client.Get(ctx, "core5g:a/c:r:k").Err(),
			"empty the store": s.client.FlushDB(ctx).Err(),
			"list its keys":   s.client.Keys(ctx, "*").Err(),
			"configure it":    s.client.ConfigSet(ctx, "appendonly", "no").Err(),
		} {
			if command == nil || !strings.HasPrefix(command.Error(), "NOPERM") {
				t.Errorf("%s: %v", name, command)
			}
		}
		return subject(t, s, func() {
			t.Skip("what a server has forgotten is tested with one that is killed, in TestConformance")
		})
	})
}

// linked waits until the replica has all of its primary.
func linked(t *testing.T, replica *server) {
	c := replica.client()
	defer func() { _ = c.Close() }()
	await(t, "the replica is linked", func() error {
		info, err := c.Info(context.Background(), "replication").Result()
		if err == nil && infoField(info, "master_link_status") != "up" {
			err = errors.New("master_link_status is not up")
		}
		return err
	})
}

func change(key string, count uint64) sessionstore.Change {
	return sessionstore.Change{Key: key, Is: sessionstore.Revision{Writer: 1, Count: count}, Value: []byte("x")}
}

// A server that is killed and comes back has every write that it answered: the same generation, the same leases.
func TestAKilledServerForgetsNothing(t *testing.T) {
	redisServer(t)
	srv := start(t)
	s := open(t, Options{Addresses: []string{srv.address()}})
	ctx := context.Background()
	l, err := s.Acquire(ctx, "0", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, l, change("one", 1)); err != nil {
		t.Fatal(err)
	}
	srv.kill()
	if err := s.Commit(ctx, l, change("two", 2)); !errors.Is(err, sessionstore.ErrUnavailable) && !errors.Is(err, sessionstore.ErrUnknown) {
		t.Errorf("Commit to a server that is gone: %v", err)
	}
	if _, err := s.Read(ctx, "one"); !errors.Is(err, sessionstore.ErrUnavailable) {
		t.Errorf("Read from a server that is gone: %v", err)
	}
	srv.run()
	await(t, "the change is committed", func() error { return s.Commit(ctx, l, change("two", 2)) })
	for _, key := range []string{"one", "two"} {
		if _, err := s.Read(ctx, key); err != nil {
			t.Errorf("Read %s: %v", key, err)
		}
	}
}

// relay passes octets between the store and its server until it is told to lose answers.
type relay struct {
	listener net.Listener
	to       string
	mute     atomic.Bool
}

func newRelay(t *testing.T, to string) *relay {
	r := &relay{to: to}
	r.listener = serveEach(t, r.pass)
	return r
}

// serveEach connection, until the test ends.
func serveEach(t *testing.T, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l
}

func (r *relay) pass(c net.Conn) {
	defer func() { _ = c.Close() }()
	s, err := net.Dial("tcp4", r.to)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	go func() {
		defer func() { _ = s.Close() }()
		b := make([]byte, 1<<16)
		for {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			if _, err := s.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1<<16)
	for {
		n, err := s.Read(b)
		if err != nil {
			return
		}
		if r.mute.Load() {
			return // the answer is lost, and the connection with it
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}

// A write whose answer is lost is unknown, and known when it is repeated.
func TestALostAnswerIsUnknown(t *testing.T) {
	redisServer(t)
	srv := start(t)
	r := newRelay(t, srv.address())
	s := open(t, Options{Addresses: []string{r.listener.Addr().String()}})
	ctx := context.Background()
	l, err := s.Acquire(ctx, "0", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, l, change("one", 1)); err != nil { // the script is loaded
		t.Fatal(err)
	}
	r.mute.Store(true)
	if err := s.Commit(ctx, l, change("two", 2)); !errors.Is(err, sessionstore.ErrUnknown) {
		t.Errorf("Commit whose answer is lost: %v", err)
	}
	r.mute.Store(false)
	await(t, "the repetition is answered", func() error { return s.Commit(ctx, l, change("two", 2)) })
}

// What no replica has is not answered as written.
func TestWithoutReplicasAWriteIsUnknown(t *testing.T) {
	redisServer(t)
	srv := start(t)
	s := open(t, Options{Addresses: []string{srv.address()}, Replicas: 1, ReplicaTimeout: 10 * time.Millisecond})
	if _, err := s.Acquire(context.Background(), "0", "a", time.Minute); !errors.Is(err, sessionstore.ErrUnknown) {
		t.Errorf("Acquire without a replica: %v", err)
	}
}

// A server that refuses writes for want of replicas has executed nothing.
func TestARefusedWriteIsUnavailable(t *testing.T) {
	redisServer(t)
	srv := start(t)
	s := open(t, Options{Addresses: []string{srv.address()}})
	l, err := s.Acquire(context.Background(), "0", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c := srv.client()
	defer func() { _ = c.Close() }()
	if err := c.ConfigSet(context.Background(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(context.Background(), l, change("one", 1)); !errors.Is(err, sessionstore.ErrUnavailable) {
		t.Errorf("Commit: %v", err)
	}
}

func TestAServerThatWouldLoseRecordsIsRefused(t *testing.T) {
	redisServer(t)
	for setting, value := range map[string]string{"appendonly": "no", "maxmemory-policy": "allkeys-lru"} {
		srv := start(t, "--"+setting, value)
		_, err := Open(context.Background(), Options{Addresses: []string{srv.address()}})
		if err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s %s: %v", setting, value, err)
		}
	}
}

// A primary that dies is followed by a replica that has all that was answered, and the store goes on by itself.
func TestSentinelFailover(t *testing.T) {
	redisServer(t)
	if testing.Short() {
		t.Skip("three servers and three Sentinels: not with -short")
	}
	primary := start(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2")
	replicaOf := "127.0.0.1 " + primary.address()[strings.LastIndex(primary.address(), ":")+1:]
	for range 2 {
		linked(t, start(t, "--replicaof", replicaOf, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"))
	}
	var sentinels []string
	for range 3 {
		sentinels = append(sentinels, startSentinel(t, primary).address())
	}
	s := open(t, Options{Addresses: sentinels, Primary: "core5g", Replicas: 1})
	ctx := context.Background()
	var l sessionstore.Lease
	await(t, "a lease", func() (err error) { l, err = s.Acquire(ctx, "0", "a", 5*time.Minute); return err })
	const before = 50
	for n := range uint64(before) {
		c := change("one", n+1)
		if n > 0 {
			c.Was = sessionstore.Revision{Writer: 1, Count: n}
		}
		await(t, "the change is committed", func() error { return s.Commit(ctx, l, c) })
	}
	primary.kill()
	next := change("one", before+1)
	next.Was = sessionstore.Revision{Writer: 1, Count: before}
	// Its lease and the last revision are there, or this would be ErrFenced or ErrConflict for ever.
	await(t, "a replica has taken over", func() error { return s.Commit(ctx, l, next) })
	got, err := s.Read(ctx, "one")
	if err != nil || got.Revision != next.Is {
		t.Errorf("Read = %+v, %v, want revision %v", got, err, next.Is)
	}
}

// A server that comes back without its last writes, but with the lease that they were made under: nobody may go on as
// if they were there, also not one who has lost none.
func TestAServerThatLostItsLastWritesVoidsLeases(t *testing.T) {
	redisServer(t)
	srv := start(t)
	options := Options{Addresses: []string{srv.address()}, Prefix: "core5g:"}
	loser, other := open(t, options), open(t, options)
	ctx := context.Background()
	var leases [2]sessionstore.Lease
	for n, s := range []*Store{loser, other} {
		l, err := s.Acquire(ctx, string(rune('0'+n)), "a", 5*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		leases[n] = l
	}
	loseTheRest := srv.keep()
	if err := loser.Commit(ctx, leases[0], change("one", 1)); err != nil {
		t.Fatal(err)
	}
	loseTheRest()
	fenced := func(s *Store, l sessionstore.Lease) func() error {
		return func() error {
			err := s.Commit(ctx, l, change("two", 2))
			if errors.Is(err, sessionstore.ErrFenced) {
				return nil
			}
			if err == nil {
				t.Fatal("a commit under a lease of the generation before was answered")
			}
			return err
		}
	}
	await(t, "the loser is told", fenced(loser, leases[0]))
	await(t, "the other is told", fenced(other, leases[1]))
	// Both begin anew, in the same generation.
	first, err := loser.Acquire(ctx, "0", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.Acquire(ctx, "1", "a", time.Minute)
	if err != nil || second.Generation != first.Generation || first.Generation == leases[0].Generation || first.Epoch <= leases[0].Epoch {
		t.Errorf("the leases after the loss are %+v and %+v, %v", first, second, err)
	}
}
