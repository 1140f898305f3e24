// Package redisstore is the session store in Redis 7 or Valkey: one server, or a primary with replicas that Sentinel
// watches. scripts.go says what lies under which key.
//
// Durability. The server must write an append-only file and evict nothing (maxmemory-policy noeviction); Open looks.
// With Options.Replicas a write counts when so many replicas have it (WAIT on the connection of the write); with fewer
// it is ErrUnknown. following.go says why it waits for the others, too, for a moment.
//
// Whether the server has forgotten is asked at every new connection to another server process (run_id, replication
// id): the server counts this client's writes, and the client knows how many were acknowledged. Redis keeps and
// replicates a prefix of what it executed, so that a count that is too small is a loss, and one that is not says that
// everything before this client's last write is there.
package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Options of a connection.
type Options struct {
	// Addresses of the server, or of the Sentinels where Primary is set; host:port.
	Addresses []string
	// Primary is the name that the Sentinels know the primary by.
	Primary string
	// Username and Password of the ACL user, SentinelUsername and SentinelPassword of the Sentinels'.
	Username, Password                 string
	SentinelUsername, SentinelPassword string
	// Credentials, where it is set, is asked at every new connection instead of Username and Password, and so is TLS:
	// both change while a program runs. TLS is nil for clear text; an empty ServerName is the host of the address.
	Credentials func() (username, password string)
	TLS         func() *tls.Config
	// Prefix of all keys: cores that share a server have one each.
	Prefix string
	// Replicas that must have a write before it is answered, within ReplicaTimeout (default 500 ms).
	Replicas       int
	ReplicaTimeout time.Duration
	// Timeout of one exchange with the server, default 1 s.
	Timeout time.Duration
	// Connections at most, default 16.
	Connections int
}

// Store is a sessionstore.Store.
type Store struct {
	options Options
	client  redis.UniversalClient
	now     func() time.Time
	// name of the client in the server's count of its writes.
	name string

	mu sync.Mutex
	// server is the process that answered last, generation the one it told.
	server, generation string
	// acknowledged is the highest count of this client's writes that was answered.
	acknowledged uint64

	batches   batches
	following following
}

var _ sessionstore.Store = (*Store)(nil)

// quiet: the library logs for itself what it also returns.
var quiet sync.Once

// Open connects, and refuses a server that would lose records by its configuration.
func Open(ctx context.Context, o Options) (*Store, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("session store: no address")
	}
	if o.ReplicaTimeout == 0 {
		o.ReplicaTimeout = 500 * time.Millisecond
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Connections == 0 {
		o.Connections = 16
	}
	s := &Store{options: o, now: time.Now, name: randomName()}
	quiet.Do(logging.Disable)
	s.client = redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: o.Addresses, MasterName: o.Primary,
		Username: o.Username, Password: o.Password,
		SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
		Dialer: s.dial, CredentialsProvider: o.Credentials, PoolSize: o.Connections,
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout + othersTime + o.ReplicaTimeout, WriteTimeout: o.Timeout,
		ContextTimeoutEnabled: true,
		// A repetition is the caller's: it alone knows what an unknown outcome means.
		MaxRetries: -1,
		OnConnect:  s.connected,
		// Replies as maps and push messages are of no use here.
		Protocol: 2, DisableIdentity: true,
	})
	if err := s.inspect(ctx); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	return s, nil
}

// ACLRules are what the store's user needs of a server, for ACL SETUSER or a configuration file: keys with that prefix,
// and the commands that the store uses.
func ACLRules(prefix string) string {
	return "resetkeys ~" + prefix + "* resetchannels -@all +@read +@write +@scripting -@dangerous +ping +info +wait +time +config|get"
}

// Close ends the connections. Leases stay until they end, or are released before.
func (s *Store) Close() error { return s.client.Close() }

func randomName() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func (s *Store) key(parts ...string) string { return s.options.Prefix + strings.Join(parts, "") }

// dial connects, with TLS as it is now. What fails here was not sent.
func (s *Store) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil || s.options.TLS == nil {
		return c, err
	}
	config := s.options.TLS().Clone()
	if config.ServerName == "" {
		if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	encrypted := tls.Client(c, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("TLS with %s: %w", address, err)}
	}
	return encrypted, nil
}

// Check says what keeps the server from taking writes that last, as far as it tells, or nil.
func (s *Store) Check(ctx context.Context) error {
	if err := s.inspect(ctx); err != nil {
		return err
	}
	info, err := s.client.Info(ctx, "replication").Result()
	if err != nil {
		return readError(err)
	}
	if n, _ := strconv.Atoi(infoField(info, "connected_slaves")); n < s.options.Replicas {
		return fmt.Errorf("%w: %d of %d", ErrReplicas, n, s.options.Replicas)
	}
	return nil
}

// ErrCredentials: the server refuses the user or its password. ErrSettings: its configuration would lose records.
// ErrReplicas: fewer replicas follow than each write waits for.
var (
	ErrCredentials = errors.New("session store: user or password refused")
	ErrSettings    = errors.New("session store")
	ErrReplicas    = errors.New("session store: too few replicas follow the primary")
)

// inspect reads the server's configuration. One that does not show it (managed services) is believed.
func (s *Store) inspect(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		for _, r := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "ERR AUTH"} {
			if redis.HasErrorPrefix(err, r) {
				return fmt.Errorf("%w: %w", ErrCredentials, err)
			}
		}
		return readError(err)
	}
	for _, want := range []struct{ name, value, why string }{
		{"appendonly", "yes", "a restart would lose every record: set appendonly yes"},
		{"maxmemory-policy", "noeviction", "it would throw records away when memory is short: set maxmemory-policy noeviction"},
	} {
		got, err := s.client.ConfigGet(ctx, want.name).Result()
		if err == nil && got[want.name] != "" && got[want.name] != want.value {
			return fmt.Errorf("%w: %s of the server is %q: %s", ErrSettings, want.name, got[want.name], want.why)
		}
	}
	return nil
}

// connected runs on every new connection, before anything else does.
func (s *Store) connected(ctx context.Context, c *redis.Conn) error {
	info, err := c.Info(ctx).Result()
	if err != nil {
		return err
	}
	if infoField(info, "redis_mode") == "sentinel" {
		return nil // it is asked where the primary is, no more
	}
	server := infoField(info, "run_id") + "/" + infoField(info, "master_replid")
	if role := infoField(info, "role"); role != "master" {
		return fmt.Errorf("session store: the server is a %s, records are written to the primary", role)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if server == s.server {
		return nil
	}
	count, err := c.Get(ctx, s.key("writes:", s.name)).Uint64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if count < s.acknowledged {
		err = forgotten.Run(ctx, c, []string{s.key("generation")}, s.generation, randomName()).Err()
	} else {
		err = c.SetNX(ctx, s.key("generation"), randomName(), 0).Err()
	}
	if err != nil {
		return err
	}
	generation, err := c.Get(ctx, s.key("generation")).Result()
	if err != nil {
		return err
	}
	s.server, s.generation, s.acknowledged = server, generation, count
	return nil
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// ---- leases --------------------------------------------------------------------------------------------

func leaseValue(l sessionstore.Lease) string {
	return strconv.FormatUint(l.Epoch, 10) + "|" + l.Generation + "|" + l.Holder
}

// Acquire implements sessionstore.Store.
func (s *Store) Acquire(ctx context.Context, shard, holder string, ttl time.Duration) (sessionstore.Lease, error) {
	asked := s.now()
	keys := []string{s.key("lease:", shard), s.key("epoch:", shard), s.key("generation")}
	answer, err := s.write(ctx, acquire, keys, holder, ttl.Milliseconds(), randomName())
	if err != nil {
		return sessionstore.Lease{}, err
	}
	if answer[0] == "HELD" && len(answer) == 4 {
		left, _ := answer[2].(int64)
		epoch, err := strconv.ParseUint(text(answer[3]), 10, 64)
		if err != nil {
			return sessionstore.Lease{}, fmt.Errorf("session store: the epoch of shard %s: %w", shard, err)
		}
		return sessionstore.Lease{}, &sessionstore.HeldError{
			Shard: shard, Holder: text(answer[1]), Epoch: epoch, Remaining: time.Duration(left) * time.Millisecond,
		}
	}
	epoch, err := strconv.ParseUint(text(answer[1]), 10, 64)
	if err != nil {
		return sessionstore.Lease{}, fmt.Errorf("session store: the epoch of shard %s: %w", shard, err)
	}
	return sessionstore.Lease{
		Shard: shard, Holder: holder, Epoch: epoch, Generation: text(answer[2]), Until: asked.Add(ttl),
	}, nil
}

// Renew implements sessionstore.Store.
func (s *Store) Renew(ctx context.Context, l sessionstore.Lease, ttl time.Duration) (sessionstore.Lease, error) {
	asked := s.now()
	if _, err := s.write(ctx, renew, s.fence(l), leaseValue(l), l.Generation, ttl.Milliseconds()); err != nil {
		return l, err
	}
	l.Until = asked.Add(ttl)
	return l, nil
}

// Release implements sessionstore.Store.
func (s *Store) Release(ctx context.Context, l sessionstore.Lease) error {
	_, err := s.write(ctx, release, []string{s.key("lease:", l.Shard)}, leaseValue(l))
	return err
}

// Holder implements sessionstore.Store.
func (s *Store) Holder(ctx context.Context, shard string) (string, uint64, error) {
	value, err := s.client.Get(ctx, s.key("lease:", shard)).Result()
	if errors.Is(err, redis.Nil) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, readError(err)
	}
	fields := strings.SplitN(value, "|", 3)
	epoch, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil || len(fields) != 3 {
		return "", 0, fmt.Errorf("session store: the lease of shard %s reads %q", shard, value)
	}
	return fields[2], epoch, nil
}

func (s *Store) fence(l sessionstore.Lease) []string {
	return []string{s.key("lease:", l.Shard), s.key("generation"), s.key("writes:", s.name)}
}

// ---- writes --------------------------------------------------------------------------------------------

// Commit implements sessionstore.Store.
func (s *Store) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	if err := c.Check(); err != nil {
		return err
	}
	keys := append(s.fence(l), s.key("r:", c.Key), s.key("intents:", l.Shard), s.key("due:", l.Shard))
	for _, i := range slices.Concat(c.AddIndexes, c.RemoveIndexes) {
		keys = append(keys, s.index(i))
	}
	for _, g := range slices.Concat(c.JoinGroups, c.LeaveGroups) {
		keys = append(keys, s.key("g:", g))
	}
	if c.From != "" {
		keys = append(keys, s.key("intents:", c.From), s.key("due:", c.From))
	}
	intent := ""
	switch {
	case c.OpenIntent:
		intent = "open"
	case c.CloseIntent:
		intent = "close"
	}
	args := []any{
		leaseValue(l), l.Generation, c.Key, revision(c.Was), revision(c.Is), flag(c.Value == nil), c.Value,
		intent, s.now().UnixMilli(), len(c.AddIndexes), len(c.RemoveIndexes), len(c.JoinGroups), len(c.LeaveGroups),
		len(c.Gone),
	}
	for _, name := range c.Gone {
		args = append(args, name)
	}
	for name, at := range c.Due {
		if at.IsZero() {
			args = append(args, name, "")
		} else {
			args = append(args, name, at.UnixMilli())
		}
	}
	answer, err := s.batched(ctx, keys, args)
	if err == nil {
		_, err = s.said(answer)
	}
	return err
}

// Reserve implements sessionstore.Store.
func (s *Store) Reserve(ctx context.Context, l sessionstore.Lease, name string, n uint64) (uint64, error) {
	answer, err := s.write(ctx, reserve, append(s.fence(l), s.key("block:", name)), leaseValue(l), l.Generation, n)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text(answer[2]), 10, 64)
}

func revision(r sessionstore.Revision) []byte {
	b := make([]byte, 16)
	binary.BigEndian.PutUint64(b, r.Writer)
	binary.BigEndian.PutUint64(b[8:], r.Count)
	return b
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// write runs a script and, where replicas are asked for, waits for them on the same connection. The first element of
// what it returns is a word of the scripts.
func (s *Store) write(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]any, error) {
	answer, err := s.once(ctx, func(p redis.Pipeliner) *redis.Cmd { return script.EvalSha(ctx, p, keys, args...) })
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = s.once(ctx, func(p redis.Pipeliner) *redis.Cmd { return script.Eval(ctx, p, keys, args...) })
	}
	if err != nil {
		return nil, err
	}
	return s.said(answer)
}

// said is what a script's first word means.
func (s *Store) said(answer []any) ([]any, error) {
	switch answer[0] {
	case "OK", "HELD":
		return answer, nil
	case "FENCED":
		return nil, sessionstore.ErrFenced
	case "CONFLICT":
		return nil, sessionstore.ErrConflict
	case "TAKEN":
		kind, value, _ := strings.Cut(strings.TrimPrefix(text(answer[1]), s.key("i:")), ":")
		return nil, &sessionstore.TakenError{Index: sessionstore.Index{Kind: kind, Value: value}}
	}
	return nil, fmt.Errorf("session store: a script answered %v", answer)
}

func (s *Store) once(ctx context.Context, eval func(redis.Pipeliner) *redis.Cmd) ([]any, error) {
	p := s.client.Pipeline()
	evaluated := eval(p)
	return s.answered(evaluated, s.exec(ctx, p))
}

// answered is what a script has said, once the replicas have it.
func (s *Store) answered(evaluated *redis.Cmd, w *waits) ([]any, error) {
	answer, err := evaluated.Slice()
	switch {
	case err != nil:
		return nil, writeError(err)
	case len(answer) == 0:
		return nil, errors.New("session store: a script answered nothing")
	}
	if answer[0] == "OK" {
		if w != nil {
			n, err := w.enough.Int()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", sessionstore.ErrUnknown, err)
			}
			if n < s.options.Replicas {
				return nil, fmt.Errorf("%w: %d of %d replicas have it", sessionstore.ErrUnknown, n, s.options.Replicas)
			}
		}
		s.acknowledge(answer)
	}
	return answer, nil
}

// acknowledge notes the count of writes where a script tells it.
func (s *Store) acknowledge(answer []any) {
	if len(answer) < 2 {
		return
	}
	n, ok := answer[1].(int64)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acknowledged = max(s.acknowledged, uint64(n))
}

// refusals are errors with which the server says that it has executed nothing.
var refusals = []string{"NOSCRIPT", "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "OOM", "MISCONF", "NOAUTH", "NOPERM", "BUSY", "CLUSTERDOWN"}

// writeError tells a write that was not executed from one of which nobody knows.
func writeError(err error) error {
	for _, r := range refusals {
		if redis.HasErrorPrefix(err, r) {
			return fmt.Errorf("%w: %w", sessionstore.ErrUnavailable, err)
		}
	}
	var server redis.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &server):
		return fmt.Errorf("session store: %w", err)
	case errors.As(err, &dial) && dial.Op == "dial", errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w: %w", sessionstore.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", sessionstore.ErrUnknown, err)
}

// ---- reads ---------------------------------------------------------------------------------------------

func readError(err error) error {
	if errors.Is(err, redis.Nil) {
		return sessionstore.ErrNotFound
	}
	return fmt.Errorf("%w: %w", sessionstore.ErrUnavailable, err)
}

func (s *Store) index(i sessionstore.Index) string { return s.key("i:", i.Kind, ":", i.Value) }

func record(key, value string) (sessionstore.Record, error) {
	if len(value) < 16 {
		return sessionstore.Record{}, fmt.Errorf("%w: %s has %d octets, fewer than its revision", sessionstore.ErrUnreadable, key, len(value))
	}
	return sessionstore.Record{
		Key: key,
		Revision: sessionstore.Revision{
			Writer: binary.BigEndian.Uint64([]byte(value[:8])), Count: binary.BigEndian.Uint64([]byte(value[8:16])),
		},
		Value: []byte(value[16:]),
	}, nil
}

// Read implements sessionstore.Store.
func (s *Store) Read(ctx context.Context, key string) (sessionstore.Record, error) {
	value, err := s.client.Get(ctx, s.key("r:", key)).Result()
	if err != nil {
		return sessionstore.Record{}, readError(err)
	}
	return record(key, value)
}

// Find implements sessionstore.Store.
func (s *Store) Find(ctx context.Context, i sessionstore.Index) (sessionstore.Record, error) {
	answer, err := find.Run(ctx, s.client, []string{s.index(i)}, s.key("r:")).Slice()
	if err != nil {
		return sessionstore.Record{}, readError(err)
	}
	if len(answer) != 2 {
		return sessionstore.Record{}, fmt.Errorf("session store: a script answered %v", answer)
	}
	return record(text(answer[0]), text(answer[1]))
}

// Members implements sessionstore.Store.
func (s *Store) Members(ctx context.Context, group, cursor string, max int) ([]string, string, error) {
	at := uint64(0)
	if cursor != "" {
		var err error
		if at, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, "", fmt.Errorf("session store: the cursor %q is none of Members: %w", cursor, err)
		}
	}
	keys, next, err := s.client.SScan(ctx, s.key("g:", group), at, "", int64(max)).Result()
	if err != nil {
		return nil, "", readError(err)
	}
	if next == 0 {
		return keys, "", nil
	}
	return keys, strconv.FormatUint(next, 10), nil
}

// Count implements sessionstore.Store.
func (s *Store) Count(ctx context.Context, group string) (int, error) {
	n, err := s.client.SCard(ctx, s.key("g:", group)).Result()
	if err != nil {
		return 0, readError(err)
	}
	return int(n), nil
}

// Intents implements sessionstore.Store.
func (s *Store) Intents(ctx context.Context, shard string, max int) ([]string, error) {
	if max <= 0 {
		return nil, nil
	}
	keys, err := s.client.ZRange(ctx, s.key("intents:", shard), 0, int64(max)-1).Result()
	if err != nil {
		return nil, readError(err)
	}
	return keys, nil
}

// Due implements sessionstore.Store.
func (s *Store) Due(ctx context.Context, shard string, at time.Time, max int) ([]sessionstore.Due, error) {
	found, err := s.client.ZRangeByScoreWithScores(ctx, s.key("due:", shard), &redis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatInt(at.UnixMilli(), 10), Count: int64(max),
	}).Result()
	if err != nil {
		return nil, readError(err)
	}
	due := make([]sessionstore.Due, 0, len(found))
	for _, z := range found {
		member, _ := z.Member.(string)
		name, key, _ := strings.Cut(member, " ")
		due = append(due, sessionstore.Due{Key: key, Name: name, At: time.UnixMilli(int64(z.Score))})
	}
	return due, nil
}

// Generation implements sessionstore.Store.
func (s *Store) Generation(ctx context.Context) (string, error) {
	generation, err := s.client.Get(ctx, s.key("generation")).Result()
	if err != nil {
		return "", readError(err)
	}
	return generation, nil
}
