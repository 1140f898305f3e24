package storemember

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const (
	// Primary is the name that the Sentinels know it by, and PrimaryAddress stands for its address in SentinelFile.
	Primary, PrimaryAddress = "core5g", "PRIMARY"
	// SentinelFile is what the operator has written for the Sentinel.
	SentinelFile = "sentinel.conf"

	// ServerPort and SentinelPort are where a member's server listens, and the Sentinel beside it.
	ServerPort, SentinelPort = 6379, 26379
	// StoreUser is who keeps records in the server, and may look how much there is.
	StoreUser = "core5g"
	// SentinelUser is who a Sentinel is to a server.
	SentinelUser = "sentinel"
	// askLimit is how long a Sentinel is waited for, and rounds are how often all are asked while none answers.
	askLimit = 2 * time.Second
	rounds   = 3
	// dataDirectory is what a server has made that has begun once.
	dataDirectory = "appendonlydir"
	// directory has the files that are written, below the member's data.
	directory = "sentinel"
)

// SentinelConfig is the file of the Sentinel, which it changes, and ServerConfig what the server's file includes.
func SentinelConfig(data string) string { return filepath.Join(data, directory, SentinelFile) }

// ServerConfig says whom the server follows.
func ServerConfig(data string) string { return filepath.Join(data, directory, "server.conf") }

// Word is what a Sentinel says.
type Word struct {
	Primary string
	Epoch   uint64
}

// Options of Prepare.
type Options struct {
	// Data is the member's, and Configuration where SentinelFile is.
	Data, Configuration string
	// Member is the number of this one among Members, which are addresses.
	Member  int
	Members []string
	// Ask the Sentinel of a member, and whether its server has nothing; nil: their ports.
	Ask   func(ctx context.Context, address, password string) (Word, error)
	Empty func(ctx context.Context, address, password string) (bool, error)
	// Pause before what did not answer is asked again; 0 is a second.
	Pause time.Duration
	Out   io.Writer
}

// Parse the command line.
func Parse(args []string, out io.Writer) (Options, error) {
	o := Options{Out: out}
	var members string
	f := flag.NewFlagSet("store-member", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.Data, "directory", "/data", "where the member has its data")
	f.StringVar(&o.Configuration, "configuration", "/etc/redis", "where "+SentinelFile+" is")
	f.IntVar(&o.Member, "member", 0, "number of this member, from 0")
	f.StringVar(&members, "members", "", "addresses of all of them, with commas")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for text := range strings.SplitSeq(members, ",") {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return o, fmt.Errorf("-members: %q is no address: write those of the members' Services, with commas", text)
		}
		o.Members = append(o.Members, address.String())
	}
	if o.Member < 0 || o.Member >= len(o.Members) {
		return o, fmt.Errorf("-member %d: write a number from 0 to %d", o.Member, len(o.Members)-1)
	}
	return o, nil
}

// Prepare writes the files.
func Prepare(ctx context.Context, o Options) error {
	logging.Disable() // the library logs for itself what it also returns
	template, err := os.ReadFile(filepath.Join(o.Configuration, SentinelFile))
	if err != nil {
		return err
	}
	before, err := os.ReadFile(SentinelConfig(o.Data))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	left := read(string(before))
	word, err := o.settle(ctx, passwordIn(string(template)), left)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.Out, "member %d of %v begins; the primary is %s, by epoch %d\n", o.Member, o.Members, word.Primary, word.Epoch)
	if err := os.MkdirAll(filepath.Dir(SentinelConfig(o.Data)), 0o700); err != nil {
		return err
	}
	follows := ""
	if word.Primary != o.Members[o.Member] {
		follows = fmt.Sprintf("replicaof %s %d\n", word.Primary, ServerPort)
	}
	return errors.Join(
		os.WriteFile(ServerConfig(o.Data), []byte(follows), 0o600),
		os.WriteFile(SentinelConfig(o.Data), []byte(o.sentinel(string(template), word, left)), 0o600),
	)
}

// settle who the primary is. A member without data does not begin as the primary before it has seen that the others have none either: they would follow it, and
// have nothing any more. Those that have something choose another one while it waits.
func (o *Options) settle(ctx context.Context, password string, left remains) (Word, error) {
	_, err := os.Stat(filepath.Join(o.Data, dataDirectory))
	hasData := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Word{}, err
	}
	for round := 1; ; round++ {
		said := o.words(ctx, password)
		word := o.decide(said, left)
		heard := slices.ContainsFunc(said, func(w Word) bool { return w.Primary != "" })
		switch itself := word.Primary == o.Members[o.Member]; {
		case itself && !hasData:
			if o.allEmpty(ctx, password) {
				return word, nil
			}
		case heard || round == rounds:
			return word, nil
		}
		select {
		case <-ctx.Done():
			return Word{}, fmt.Errorf("who the primary is: %w", ctx.Err())
		case <-time.After(cmp.Or(o.Pause, time.Second)):
		}
	}
}

// allEmpty says whether all other servers answer, and have nothing.
func (o *Options) allEmpty(ctx context.Context, password string) bool {
	ask := o.Empty
	if ask == nil {
		ask = isEmpty
	}
	for n, address := range o.Members {
		if n == o.Member {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		empty, err := ask(ctx, address, password)
		cancel()
		switch {
		case err != nil:
			_, _ = fmt.Fprintf(o.Out, "this member has no data, and waits for the server at %s, which may have some: %v\n", address, err)
			return false
		case !empty:
			_, _ = fmt.Fprintf(o.Out, "this member has no data, and the server at %s has: another one has to be the primary\n", address)
			return false
		}
	}
	return true
}

// words of the other members' Sentinels, as far as they answer.
func (o *Options) words(ctx context.Context, password string) []Word {
	ask := o.Ask
	if ask == nil {
		ask = Ask
	}
	said, failed := make([]Word, len(o.Members)), make([]error, len(o.Members))
	var all sync.WaitGroup
	for n, address := range o.Members {
		if n == o.Member {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askLimit)
			defer cancel()
			said[n], failed[n] = ask(ctx, address, password)
		})
	}
	all.Wait()
	for n, err := range failed {
		if err != nil {
			said[n] = Word{}
			_, _ = fmt.Fprintf(o.Out, "the Sentinel at %s says nothing: %v\n", o.Members[n], err)
		}
	}
	return said
}

// decide by the latest word about a member that there is. Those of others are later than one's own of the same epoch.
func (o *Options) decide(said []Word, left remains) Word {
	best := Word{}
	for _, w := range append(said, Word{left.primary, left.configEpoch}) {
		if slices.Contains(o.Members, w.Primary) && (best.Primary == "" || w.Epoch > best.Epoch) {
			best = w
		}
	}
	if best.Primary == "" {
		best.Primary = o.Members[0]
	}
	return best
}

// remains is what a Sentinel has left in its file.
type remains struct {
	primary                                string
	configEpoch, leaderEpoch, currentEpoch uint64
}

func read(config string) (s remains) {
	for line := range strings.Lines(config) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "sentinel" {
			continue
		}
		number, _ := strconv.ParseUint(f[len(f)-1], 10, 64)
		switch {
		case f[1] == "monitor" && len(f) > 4:
			s.primary = f[3]
		case f[1] == "config-epoch":
			s.configEpoch = number
		case f[1] == "leader-epoch":
			s.leaderEpoch = number
		case f[1] == "current-epoch":
			s.currentEpoch = number
		}
	}
	return s
}

// sentinel is the file that the Sentinel begins with.
func (o *Options) sentinel(template string, word Word, left remains) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("dir %s", filepath.Dir(SentinelConfig(o.Data)))
	say("sentinel myid %s", identity(o.Members[o.Member]))
	out.WriteString(strings.ReplaceAll(template, PrimaryAddress, word.Primary))
	say("sentinel config-epoch %s %d", Primary, word.Epoch)
	say("sentinel leader-epoch %s %d", Primary, left.leaderEpoch)
	for n, address := range o.Members {
		if address != word.Primary {
			say("sentinel known-replica %s %s %d", Primary, address, ServerPort)
		}
		if n != o.Member {
			say("sentinel known-sentinel %s %s %d %s", Primary, address, SentinelPort, identity(address))
		}
	}
	say("sentinel current-epoch %d", max(left.currentEpoch, word.Epoch))
	return out.String()
}

// identity of the Sentinel at an address, by which others know it.
func identity(address string) string {
	sum := sha1.Sum([]byte("session store " + address))
	return hex.EncodeToString(sum[:])
}

func passwordIn(config string) string {
	lines := bufio.NewScanner(strings.NewReader(config))
	for lines.Scan() {
		if password, is := strings.CutPrefix(lines.Text(), "requirepass "); is {
			return password
		}
	}
	return ""
}

// Ask the Sentinel at an address who the primary is.
func Ask(ctx context.Context, address, password string) (Word, error) {
	c := redis.NewSentinelClient(&redis.Options{
		Addr: net.JoinHostPort(address, strconv.Itoa(SentinelPort)), Password: password, MaxRetries: -1, DialTimeout: askLimit, ReadTimeout: askLimit,
		ContextTimeoutEnabled: true, Protocol: 2, DisableIdentity: true,
	})
	defer func() { _ = c.Close() }()
	said, err := c.Master(ctx, Primary).Result()
	if err != nil {
		return Word{}, err
	}
	epoch, err := strconv.ParseUint(said["config-epoch"], 10, 64)
	return Word{said["ip"], epoch}, err
}

// isEmpty says whether the server at an address has nothing.
func isEmpty(ctx context.Context, address, password string) (bool, error) {
	c := serverAt(address, StoreUser, password)
	defer func() { _ = c.Close() }()
	n, err := c.DBSize(ctx).Result()
	return n == 0, err
}

// Synced says whether the server at an address has what the primary has: it is the primary, or follows it and has been given everything.
func Synced(ctx context.Context, address, password string) (bool, error) {
	c := serverAt(address, SentinelUser, password)
	defer func() { _ = c.Close() }()
	said, err := c.Info(ctx, "replication").Result()
	return strings.Contains(said, "role:master") || strings.Contains(said, "master_link_status:up"), err
}

func serverAt(address, user, password string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort(address, strconv.Itoa(ServerPort)), Username: user, Password: password, MaxRetries: -1, DialTimeout: askLimit, ReadTimeout: askLimit,
		ContextTimeoutEnabled: true, Protocol: 2, DisableIdentity: true,
	})
}
