package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/redis/go-redis/v9"
)

// held passes on what a replica and its primary say to each other, the primary's a little later.
func held(t *testing.T, to string, later time.Duration) (port int) {
	l := serveEach(t, func(c net.Conn) {
		up, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		go func() { _, _ = io.Copy(up, c) }()
		b := make([]byte, 1<<16)
		for {
			n, err := up.Read(b)
			if err != nil {
				return
			}
			time.Sleep(later) // it is what is late, nobody waits for anything
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
	})
	return l.Addr().(*net.TCPAddr).Port
}

// A write that was answered is at every replica that follows, not only at as many as it must be at: which of them is the primary next is for Sentinels that
// know how far they were a while ago.
func TestEveryReplicaHasWhatWasAnswered(t *testing.T) {
	redisServer(t)
	primary := start(t)
	near := start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.port))
	far := start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(held(t, primary.address(), othersTime/5)))
	linked(t, near)
	linked(t, far)
	s := open(t, Options{Addresses: []string{primary.address()}, Prefix: "core5g:", Replicas: 1})
	ctx := context.Background()
	l, err := s.Acquire(ctx, "0", "a", 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	followed := func() error {
		s.following.mu.Lock()
		defer s.following.mu.Unlock()
		if s.following.count != 2 {
			return fmt.Errorf("%d follow", s.following.count)
		}
		return nil
	}
	was := sessionstore.Revision{}
	commit := func(count uint64) error {
		c := change("one", count)
		c.Was = was
		err := s.Commit(ctx, l, c)
		if err == nil {
			was = c.Is
		}
		return err
	}
	count := uint64(0)
	await(t, "both replicas are known to follow", func() error { // who does is told with a write, and may be asked before the far one is online
		count++
		return errors.Join(commit(count), followed())
	})
	c := far.client()
	defer func() { _ = c.Close() }()
	behind := 0
	await(t, "it was known all the time", func() error {
		behind = 0
		for range 10 {
			count++
			if err := commit(count); err != nil {
				return err
			}
			counted, err := c.Get(ctx, "core5g:writes:"+s.name).Uint64()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			if counted < s.acknowledged {
				behind++
			}
		}
		return followed()
	})
	if behind > 0 {
		t.Errorf("the farther replica lacked %d of 10 writes when they were answered", behind)
	}
}

// One that does not answer any more holds up one write, until it is looked at again.
func TestAReplicaThatStandsStill(t *testing.T) {
	redisServer(t)
	primary := start(t)
	for range 2 {
		linked(t, start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.port)))
	}
	s := open(t, Options{Addresses: []string{primary.address()}, Replicas: 1})
	now := time.Now()
	s.now = func() time.Time { return now } // who follows is asked once
	s.following.count, s.following.asked = 3, now
	l, err := s.Acquire(context.Background(), "0", "a", 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.following.count > 2 {
		t.Errorf("%d are waited for behind a write that two have at most", s.following.count)
	}
	if err := s.Commit(context.Background(), l, change("one", 1)); err != nil {
		t.Error(err)
	}
}

func TestFollow(t *testing.T) {
	for info, want := range map[string]int{
		"role:master\r\nconnected_slaves:2\r\nslave0:ip=10.1.0.2,port=6379,state=online,offset=14,lag=0\r\nslave1:ip=10.1.0.3,port=6379,state=online,offset=14,lag=2\r\n":     2,
		"role:master\r\nconnected_slaves:2\r\nslave0:ip=10.1.0.2,port=6379,state=wait_bgsave,offset=0,lag=0\r\nslave1:ip=10.1.0.3,port=6379,state=online,offset=14,lag=3\r\n": 0,
		"role:master\r\nconnected_slaves:0\r\nmaster_replid:8371445ee38f8a16\r\n":                                                                                             0,
		"role:slave\r\nslave_repl_offset:14\r\nslave_read_only:1\r\nconnected_slaves:1\r\nslave0:ip=2001:db8::1,port=6379,state=online,offset=14,lag=1,io-thread=0\r\n":       1,
		"": 0,
	} {
		if got := follow(info); got != want {
			t.Errorf("%d follow, want %d, by\n%s", got, want, info)
		}
	}
}
