package storemember

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const template = `port 26379
requirepass secret
sentinel monitor core5g PRIMARY 6379 2
`

// left is what a Sentinel leaves in its file.
func left(primary, epochs string) string {
	return "port 26379\nsentinel myid 0123\nsentinel monitor core5g " + primary + " 6379 2\n" + epochs
}

func TestWhoIsThePrimary(t *testing.T) {
	const a, b, c, stranger = "10.96.0.1", "10.96.0.2", "10.96.0.3", "10.96.9.9"
	members := []string{a, b, c}
	for name, x := range map[string]struct {
		member int
		left   string // the file of before; "" for none
		said   map[string]Word
		want   Word
	}{
		"all are new":                                     {0, "", nil, Word{a, 0}},
		"the others follow the first one":                 {2, "", nil, Word{a, 0}},
		"the Sentinels say":                               {0, "", map[string]Word{b: {c, 4}, c: {c, 4}}, Word{c, 4}},
		"one of them, later":                              {0, left(a, "sentinel config-epoch core5g 3\n"), map[string]Word{b: {a, 3}, c: {b, 4}}, Word{b, 4}},
		"they, rather than a file of the same epoch":      {1, left(b, "sentinel config-epoch core5g 4\n"), map[string]Word{a: {c, 4}}, Word{c, 4}},
		"a file that is later than what one of them says": {1, left(b, "sentinel config-epoch core5g 5\n"), map[string]Word{a: {a, 4}}, Word{b, 5}},
		"nobody answers, and the file does":               {0, left(c, "sentinel config-epoch core5g 2\n"), nil, Word{c, 2}},
		"the file is of another place":                    {1, left(stranger, "sentinel config-epoch core5g 9\n"), nil, Word{a, 0}},
		"somebody says who is no member":                  {1, "", map[string]Word{a: {stranger, 9}, c: {c, 1}}, Word{c, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			data, configuration := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(configuration, SentinelFile), []byte(template), 0o600); err != nil {
				t.Fatal(err)
			}
			if x.left != "" {
				if err := os.MkdirAll(filepath.Dir(SentinelConfig(data)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(SentinelConfig(data), []byte(x.left), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			err := Prepare(t.Context(), Options{
				Data: data, Configuration: configuration, Member: x.member, Members: members, Out: &out, Pause: time.Microsecond,
				Empty: func(context.Context, string, string) (bool, error) { return true, nil },
				Ask: func(_ context.Context, address, password string) (Word, error) {
					word, is := x.said[address]
					if !is || password != "secret" || address == members[x.member] {
						return Word{}, errors.New("connection refused")
					}
					return word, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			server, errServer := os.ReadFile(ServerConfig(data))
			sentinel, errSentinel := os.ReadFile(SentinelConfig(data))
			if err := errors.Join(errServer, errSentinel); err != nil {
				t.Fatal(err)
			}
			want := "replicaof " + x.want.Primary + " 6379\n"
			if x.want.Primary == members[x.member] {
				want = ""
			}
			if string(server) != want {
				t.Errorf("the server is told %q, want %q; it said\n%s", server, want, out.String())
			}
			if s := read(string(sentinel)); s.primary != x.want.Primary || s.configEpoch != x.want.Epoch || s.currentEpoch < s.configEpoch {
				t.Errorf("the Sentinel begins with %+v, want %+v", s, x.want)
			}
			for _, address := range members {
				if knows := strings.Contains(string(sentinel), "known-replica core5g "+address+" 6379\n"); knows == (address == x.want.Primary) {
					t.Errorf("of %s as a replica: %t\n%s", address, knows, sentinel)
				}
				if knows := strings.Contains(string(sentinel), "known-sentinel core5g "+address+" 26379 "+identity(address)); knows == (address == members[x.member]) {
					t.Errorf("of the Sentinel at %s: %t\n%s", address, knows, sentinel)
				}
			}
			if !strings.Contains(string(sentinel), "sentinel myid "+identity(members[x.member])+"\n") || !strings.Contains(string(sentinel), "sentinel monitor core5g "+x.want.Primary+" 6379 2\n") {
				t.Errorf("the Sentinel begins with\n%s", sentinel)
			}
		})
	}
}

// A member with an empty disk that would be the primary waits until it is seen that the others have nothing, or until there is another one.
func TestAMemberWithoutDataIsFollowedByNobodyWhoHasSome(t *testing.T) {
	const a, b, c = "10.96.0.1", "10.96.0.2", "10.96.0.3"
	away := errors.New("i/o timeout")
	for name, x := range map[string]struct {
		hasData bool
		// sentinels and servers say nothing for so many rounds; then the Sentinels say that, and the servers have data or not.
		away  int
		said  string
		empty bool
		want  string // "" to wait on
		asked int    // rounds
	}{
		"all are new, and slow":                         {false, 5, a, true, a, 6},
		"the others have data, and still hope for it":   {false, 2, a, false, "", 0},
		"the others have data, and have chosen":         {false, 2, b, false, b, 3},
		"it has data, and nobody answers":               {true, 99, "", false, a, rounds},
		"it has data, and they still hope for it":       {true, 1, a, false, a, 2},
		"nobody answers a member that has nothing ever": {false, 1 << 30, "", false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			data, configuration := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(configuration, SentinelFile), []byte(template), 0o600); err != nil {
				t.Fatal(err)
			}
			if x.hasData {
				if err := os.Mkdir(filepath.Join(data, dataDirectory), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var asked atomic.Int64
			round := func() int { return int(asked.Load()+1) / 2 } // two others are asked each time
			err := Prepare(ctx, Options{
				Data: data, Configuration: configuration, Members: []string{a, b, c}, Out: io.Discard, Pause: time.Microsecond,
				Ask: func(context.Context, string, string) (Word, error) {
					asked.Add(1)
					if round() > 200 {
						cancel()
					}
					if round() <= x.away {
						return Word{}, away
					}
					return Word{x.said, 1}, nil
				},
				Empty: func(context.Context, string, string) (bool, error) {
					if round() <= x.away {
						return false, away
					}
					return x.empty, nil
				},
			})
			if x.want == "" {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("it begins: %v", err)
				}
				return
			}
			config, errRead := os.ReadFile(SentinelConfig(data))
			if err != nil || errRead != nil || read(string(config)).primary != x.want || round() != x.asked {
				t.Errorf("%v, %v: after %d rounds the primary is %s, want %s after %d", err, errRead, round(), read(string(config)).primary, x.want, x.asked)
			}
		})
	}
}

// Epochs are never taken back: a Sentinel that has voted does not vote anew.
func TestEpochsStay(t *testing.T) {
	s := read(left("10.96.0.1", "sentinel config-epoch core5g 3\nsentinel leader-epoch core5g 6\nsentinel current-epoch 7\n"))
	o := Options{Member: 0, Members: []string{"10.96.0.1", "10.96.0.2"}}
	again := read(o.sentinel(template, Word{"10.96.0.1", 3}, s))
	if again != s || s != (remains{"10.96.0.1", 3, 6, 7}) {
		t.Errorf("%+v becomes %+v", s, again)
	}
}

func TestCommandLine(t *testing.T) {
	var out bytes.Buffer
	o, err := Parse([]string{"-directory", "/d", "-configuration", "/c", "-member", "1", "-members", "10.96.0.1,fd00:96::2"}, &out)
	if err != nil || o.Data != "/d" || o.Configuration != "/c" || o.Member != 1 || len(o.Members) != 2 || o.Members[1] != "fd00:96::2" {
		t.Errorf("%+v, %v", o, err)
	}
	for want, args := range map[string][]string{
		"is no address":    {"-members", "10.96.0.1,core5g-session-store-1"},
		`"" is no address`: {},
		"from 0 to 0":      {"-members", "10.96.0.1", "-member", "1"},
		`argument "x"`:     {"-members", "10.96.0.1", "x"},
	} {
		if _, err := Parse(args, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	if err := Prepare(t.Context(), Options{Data: t.TempDir(), Configuration: t.TempDir(), Members: []string{"10.96.0.1"}, Out: &out}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file of the operator's: %v", err)
	}
}
