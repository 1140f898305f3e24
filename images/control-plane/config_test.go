package controlplane

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"core5g.dev/core5g/images/nf/pod"
	"github.com/google/go-cmp/cmp"
)

// good is a command line, without the flags that are named.
func good(without ...string) []string {
	all := map[string]string{
		"-pod": "cp-0", "-namespace": "n", "-core": "edge", "-address": "10.1.2.3", "-set": "7", "-scheme": "https", "-amf-shards": "8",
		"-smf-shards": "edge-smf-shard-1=10.96.7.1,edge-smf-shard-2=10.96.7.2",
	}
	var out []string
	for flag, value := range all {
		if !slices.Contains(without, flag) {
			out = append(out, flag, value)
		}
	}
	return out
}

// Each part is configured as its own program is.
func TestThePartsHaveTheirConfiguration(t *testing.T) {
	c, err := ParseConfig(append(good(), "-log-level", "warn", "-n2-listen", "127.0.0.1:38412"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		c.Terminator.Set, c.Terminator.Shards, c.Terminator.N2.String(), c.AccessManagement.Shards, c.AccessManagement.Service, c.AccessManagement.Namespace, c.AccessManagement.Holder(),
		c.AccessManagement.Has("PCF"), c.AccessManagement.Has("SMF"), c.AccessManagement.NRF, len(c.SessionManagement.Shards), c.SessionManagement.Has("PCF"),
		c.SessionManagement.Has("CHF"), c.SessionManagement.Has("UDM"), c.SubscriberData.UDM, c.SubscriberData.NRF, c.SubscriberData.Withdraw, c.SubscriberData.Core, c.SubscriberData.Pod, c.Scheme,
	}
	want := []any{
		uint16(7), uint16(8), "127.0.0.1:38412", uint16(8), "edge-amf", "n", "cp-0/10.1.2.3", false, true, "", 2, false, false, true, "https://edge-udm:8000", "", true, "edge", "cp-0", "https",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, level := range map[string]slog.Level{"N2": c.Terminator.LogLevel, "AMF": c.AccessManagement.LogLevel, "SMF": c.SessionManagement.LogLevel, "data": c.SubscriberData.LogLevel} {
		if level != slog.LevelWarn {
			t.Errorf("%s logs from %s on", name, level)
		}
	}
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	for name, x := range map[string]struct{ flag, value, want string }{
		"no pod":               {"-pod", "", "POD_NAME"},
		"no set":               {"-set", "", "N2: -set is missing"},
		"no address":           {"-address", "", "AMF: -address"},
		"no shards of the SMF": {"-smf-shards", "", "SMF: -shards"},
		"no shards of the AMF": {"-amf-shards", "0", "write one from 1 to 255"},
		"no namespace":         {"-namespace", "", "POD_NAMESPACE"},
		"a scheme of its own":  {"-scheme", "memory", "write http or https"},
		"a port that is none":  {"-n4-ports", "0", "SMF: "},
	} {
		if _, err := ParseConfig(append(good(x.flag), x.flag, x.value), io.Discard); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want something with %q", name, err, x.want)
		}
	}
}

// Parts end one after the other, in their order; and one that ends by itself ends all of them.
func TestPartsEndInOrder(t *testing.T) {
	failure := errors.New("it fails")
	for name, x := range map[string]struct {
		asked bool
		fails error
		want  error
	}{
		"when it is asked": {asked: true},
		"when one fails":   {fails: failure, want: failure},
		"when one ends":    {want: errEnded},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var ended []string
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun := make(chan struct{}, 3)
			patient := func(name string) part {
				return part{name, func(ctx context.Context, around *pod.Around) error {
					begun <- struct{}{}
					<-ctx.Done()
					mu.Lock()
					defer mu.Unlock()
					ended = append(ended, name)
					return ctx.Err()
				}}
			}
			last := patient("c")
			if !x.asked {
				last.run = func(context.Context, *pod.Around) error {
					<-begun
					<-begun
					return x.fails
				}
			} else {
				go func() {
					for range 3 {
						<-begun
					}
					cancel()
				}()
			}
			err := (&Config{Scheme: "http"}).run(ctx, slog.New(slog.DiscardHandler), []part{patient("a"), patient("b"), last})
			if !errors.Is(err, x.want) {
				t.Errorf("it ends with %v, want %v", err, x.want)
			}
			if want := []string{"a", "b", "c"}[:len(ended)]; len(ended) < 2 || !slices.Equal(ended, want) {
				t.Errorf("ended: %q", ended)
			}
		})
	}
}
