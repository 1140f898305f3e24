package postgresql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/images/subscriberdatabase/postgresqltest"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// limit is for what takes 5 s at most on a machine that has nothing else to do.
const limit = 2 * time.Minute

func TestMain(m *testing.M) { postgresqltest.Main(m) }

// files are those of the Secret of a new database.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	return secret(postgresqltest.Database(t))
}

func secret(uri string) map[string][]byte {
	return map[string][]byte{subscriberdatabase.FileURI: []byte(uri + "?connect_timeout=60"), "1": bytes.Repeat([]byte{1}, 32)}
}

func fixed(files map[string][]byte) func() (*subscriberdatabase.Access, error) {
	return func() (*subscriberdatabase.Access, error) { return subscriberdatabase.Parse(files) }
}

func open(t *testing.T, files map[string][]byte) *Database {
	t.Helper()
	d, err := Open(fixed(files))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func prepared(t *testing.T) (*Database, map[string][]byte) {
	t.Helper()
	f := files(t)
	d := open(t, f)
	if err := d.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, f
}

// supi of a number.
func supi(n int) string { return fmt.Sprintf("imsi-20893%010d", n) }

const key = "8baf473f2f8fd09487cccbd7097c6862"

func subscriber(t *testing.T, n int, change ...func(*v1alpha1.SubscriberSpec)) Subscriber {
	t.Helper()
	keys, err := NewKeys(aka.Encoded{K: fmt.Sprintf("%032x", n), OPc: key})
	if err != nil {
		t.Fatal(err)
	}
	s := Subscriber{Keys: keys, Spec: v1alpha1.SubscriberSpec{
		SUPI: supi(n), Slices: []v1alpha1.SubscribedSlice{{Name: "internet"}}, AMBR: v1alpha1.AMBR{Uplink: "1 Gbps", Downlink: "2 Gbps"},
		Authentication: v1alpha1.Authentication{AMF: "8000"},
	}}
	for _, c := range change {
		c(&s.Spec)
	}
	return s
}

func gpsi(text string) func(*v1alpha1.SubscriberSpec) {
	return func(s *v1alpha1.SubscriberSpec) { s.GPSI = text }
}

func barred(s *v1alpha1.SubscriberSpec) { s.Barred = true }

func write(t *testing.T, d *Database, list ...Subscriber) (Written, []string) {
	t.Helper()
	done, refused, err := d.Write(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	for _, r := range refused {
		why = append(why, fmt.Sprintf("%d: %v", r.At, r.Why))
	}
	return done, why
}

func await(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s: %v", limit, what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestKeysCannotBePrinted(t *testing.T) {
	s := subscriber(t, 0x1234)
	if text := fmt.Sprintf("%v %+v %#v %s", s, s, s.Keys, s.Keys); strings.Contains(text, "1234") && strings.Contains(text, "8baf") || strings.Contains(text, "139 175") {
		t.Errorf("keys are printed: %s", text)
	}
}

func TestWrittenSubscribersAreAsTheyWere(t *testing.T) {
	d, _ := prepared(t)
	full := subscriber(t, 2, gpsi("msisdn-33612345678"), barred, func(s *v1alpha1.SubscriberSpec) {
		s.Authentication.AMF = "9001"
		s.Slices = []v1alpha1.SubscribedSlice{{Name: "internet", Default: true}, {
			Name: "ims", DNNs: []v1alpha1.DNN{"ims"}, Flows: []string{"voice"}, Addresses: []v1alpha1.StaticAddress{{DNN: "ims", IPv4: "10.47.0.9", IPv6Prefix: "2001:db8:47:1::/64"}},
			FramedRoutes: []v1alpha1.FramedRoutes{{DNN: "ims", Prefixes: []v1alpha1.FramedRoute{"192.168.7.0/24", "2001:db8:7::/48"}}},
		}}
	})
	want := []Subscriber{subscriber(t, 1), full}
	if done, why := write(t, d, want...); done != (Written{New: 2}) || why != nil {
		t.Fatalf("%+v, refused %q", done, why)
	}
	var got []Subscriber
	if err := d.Walk(t.Context(), func(s *Subscriber) error { got = append(got, *s); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b Keys) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if done, _ := write(t, d, want...); done != (Written{Same: 2}) {
		t.Errorf("written again: %+v", done)
	}
	barred(&want[0].Spec)
	if done, _ := write(t, d, want...); done != (Written{Changed: 1, Same: 1}) {
		t.Errorf("one is barred: %+v", done)
	}
	if n, err := d.Delete(t.Context(), supi(1), supi(7)); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if left, err := d.Get(t.Context(), supi(1), supi(2)); err != nil || !slices.Equal(slices.Collect(maps.Keys(left)), []string{supi(2)}) {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestWhatCannotBeIsNamedAndTheRestIsWritten(t *testing.T) {
	d, _ := prepared(t)
	write(t, d, subscriber(t, 1, gpsi("msisdn-11111")), subscriber(t, 2, gpsi("msisdn-22222")))
	for _, c := range []struct {
		name string
		list []Subscriber
		want Written
		why  []string
	}{
		{"a GPSI that another has", []Subscriber{subscriber(t, 3, gpsi("msisdn-11111")), subscriber(t, 4)}, Written{New: 1}, []string{"0: GPSI msisdn-11111 is that of imsi-208930000000001: write another, or take it from that one first"}},
		{"two that change their GPSIs", []Subscriber{subscriber(t, 1, gpsi("msisdn-22222")), subscriber(t, 2, gpsi("msisdn-11111"))}, Written{Changed: 2}, nil},
		{"a GPSI that is given up", []Subscriber{subscriber(t, 5, gpsi("msisdn-11111")), subscriber(t, 2)}, Written{New: 1, Changed: 1}, nil},
		{"one GPSI twice", []Subscriber{subscriber(t, 6, gpsi("msisdn-66666")), subscriber(t, 7, gpsi("msisdn-66666"))}, Written{New: 1}, []string{"1: GPSI msisdn-66666 is that of imsi-208930000000006: write another, or take it from that one first"}},
		{"one that would give its GPSI up and is refused", []Subscriber{subscriber(t, 6, gpsi("msisdn-11111")), subscriber(t, 8, gpsi("msisdn-66666"))}, Written{}, []string{
			"0: GPSI msisdn-11111 is that of imsi-208930000000005: write another, or take it from that one first",
			"1: GPSI msisdn-66666 is that of imsi-208930000000006: write another, or take it from that one first",
		}},
		{"no slices", []Subscriber{subscriber(t, 9, func(s *v1alpha1.SubscriberSpec) { s.Slices = nil })}, Written{}, []string{"0: 0 slices: write 1 to 8"}},
	} {
		if done, why := write(t, d, c.list...); done != c.want || !slices.Equal(why, c.why) {
			t.Errorf("%s: %+v %q, want %+v %q", c.name, done, why, c.want, c.why)
		}
	}
}

func TestTheRulesOfASubscriber(t *testing.T) {
	slice := func(change func(*v1alpha1.SubscribedSlice)) func(*v1alpha1.SubscriberSpec) {
		return func(s *v1alpha1.SubscriberSpec) { change(&s.Slices[0]) }
	}
	behind := func(prefixes ...v1alpha1.FramedRoute) func(*v1alpha1.SubscriberSpec) {
		return slice(func(s *v1alpha1.SubscribedSlice) {
			s.FramedRoutes = []v1alpha1.FramedRoutes{{DNN: "internet", Prefixes: prefixes}}
		})
	}
	address := func(v4, v6 string) func(*v1alpha1.SubscriberSpec) {
		return slice(func(s *v1alpha1.SubscribedSlice) {
			s.Addresses = []v1alpha1.StaticAddress{{DNN: "internet", IPv4: v1alpha1.IPAddress(v4), IPv6Prefix: v1alpha1.CIDR(v6)}}
		})
	}
	for want, change := range map[string]func(*v1alpha1.SubscriberSpec){
		`"imsi-1" is no SUPI`:                                                      func(s *v1alpha1.SubscriberSpec) { s.SUPI = "imsi-1" },
		`"123" is no GPSI`:                                                         gpsi("123"),
		`amf must be 4 hexadecimal`:                                                func(s *v1alpha1.SubscriberSpec) { s.Authentication.AMF = "80" },
		`ambr.uplink "1Gbps"`:                                                      func(s *v1alpha1.SubscriberSpec) { s.AMBR.Uplink = "1Gbps" },
		`ambr.downlink "5 Tbps" is more`:                                           func(s *v1alpha1.SubscriberSpec) { s.AMBR.Downlink = "5 Tbps" },
		`"32768 Kbps" is more`:                                                     func(s *v1alpha1.SubscriberSpec) { s.AMBR.Downlink = "32768 Kbps" },
		`slice "internet" stands twice`:                                            func(s *v1alpha1.SubscriberSpec) { s.Slices = append(s.Slices, s.Slices[0]) },
		`slice "": write the name`:                                                 slice(func(s *v1alpha1.SubscribedSlice) { s.Name = "" }),
		`"a b" is no data network name`:                                            slice(func(s *v1alpha1.SubscribedSlice) { s.DNNs = []v1alpha1.DNN{"a b"} }),
		`DNN "Internet" stands twice`:                                              slice(func(s *v1alpha1.SubscribedSlice) { s.DNNs = []v1alpha1.DNN{"internet", "Internet"} }),
		`write ipv4, ipv6Prefix or both`:                                           address("", ""),
		`"127.0.0.1" is no IPv4 address`:                                           address("127.0.0.1", ""),
		`"2001:db8::/48" is no IPv6`:                                               address("", "2001:db8::/48"),
		`"2001:db8::1/64" is no IPv6`:                                              address("", "2001:db8::1/64"),
		`framedRoutes of DNN "internet": write 1 to 16 prefixes`:                   behind(),
		`"192.168.7.0" is no CIDR`:                                                 behind("192.168.7.0"),
		`"192.168.7.1/24" has host bits set: write 192.168.7.0/24`:                 behind("192.168.7.1/24"),
		`"11.0.0.0/7" has host bits set: write 10.0.0.0/7`:                         behind("10.0.0.0/24", "11.0.0.0/7"),
		`"0.0.0.0/0" is no network that can be behind a UE`:                        behind("0.0.0.0/0"),
		`"224.0.0.0/8" is no network that can be behind a UE`:                      behind("224.0.0.0/8"),
		`"2001:db8::/72" is no network that can be behind a UE: write one of IPv4`: behind("2001:db8::/72"),
		`"10.7.0.0/16" stands twice`:                                               behind("10.7.0.0/16", "10.7.0.0/16"),
		`"INTERNET" stands twice`: slice(func(s *v1alpha1.SubscribedSlice) {
			s.FramedRoutes = []v1alpha1.FramedRoutes{{DNN: "internet", Prefixes: []v1alpha1.FramedRoute{"10.7.0.0/16"}}, {DNN: "INTERNET", Prefixes: []v1alpha1.FramedRoute{"10.8.0.0/16"}}}
		}),
		`flow "": write the name`: slice(func(s *v1alpha1.SubscribedSlice) { s.Flows = []string{""} }),
	} {
		s := subscriber(t, 1, change)
		if err := CheckSpec(&s.Spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := subscriber(t, 1, address("10.47.0.9", "2001:db8:47:1::/64"), gpsi("extid-a@b"), behind("10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32", "2001:db8:1:2::/64"))
	if err := CheckSpec(&s.Spec); err != nil {
		t.Error(err)
	}
}

func TestKeysAreSealedForTheirSUPI(t *testing.T) {
	d, f := prepared(t)
	write(t, d, subscriber(t, 1), subscriber(t, 2))
	c, err := pgx.Connect(t.Context(), string(f[subscriberdatabase.FileURI]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	var sealed []byte
	if err := c.QueryRow(t.Context(), `SELECT keys FROM core5g.subscribers WHERE supi = $1`, supi(2)).Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	if opc := subscriber(t, 2).Keys.opc; bytes.Contains(sealed, opc[:]) {
		t.Error("the row shows OPc")
	}
	if _, err := c.Exec(t.Context(), `UPDATE core5g.subscribers SET keys = $1 WHERE supi = $2`, sealed, supi(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), supi(1)); err == nil || !strings.Contains(err.Error(), supi(1)+" is damaged") {
		t.Errorf("the keys of another: %v", err)
	}
	if _, err := c.Exec(t.Context(), `UPDATE core5g.subscribers SET supi = 'imsi-99999' WHERE supi = $1`, supi(2)); err == nil || !strings.Contains(err.Error(), "supi cannot change") {
		t.Errorf("another SUPI: %v", err)
	}
}

func TestAnAccountThatMayNotMakeTheSchema(t *testing.T) {
	f := files(t)
	uri := string(f[subscriberdatabase.FileURI])
	owner, err := pgx.Connect(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(context.Background()) }()
	role := "reader" + uri[strings.LastIndex(uri, "/")+1:strings.Index(uri, "?")]
	run := func(sql string) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE ROLE " + role + " LOGIN PASSWORD 'x'")
	f[subscriberdatabase.FileURI] = []byte(strings.Replace(uri, "core5g:p%40ss%2Fword", role+":x", 1))
	d := open(t, f)
	if err := d.Prepare(t.Context()); !errors.Is(err, subscriberdatabase.ErrSchema) || !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") {
		t.Fatalf("%v", err)
	}
	run(subscriberdatabase.Schema())
	run("GRANT USAGE ON SCHEMA core5g TO " + role + "; GRANT ALL ON ALL TABLES IN SCHEMA core5g TO " + role)
	if err := d.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, _ := write(t, d, subscriber(t, 1)); done.New != 1 {
		t.Errorf("%+v", done)
	}
}

func TestManyPrepareADatabaseAtOnce(t *testing.T) {
	f := files(t)
	var group sync.WaitGroup
	for range 4 {
		d := open(t, f)
		group.Go(func() {
			if err := d.Prepare(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// rig is a replica that serves a database.
type rig struct {
	*Served
	registry *prometheus.Registry
	mu       sync.Mutex
	told     []string
}

func serve(t *testing.T, files map[string][]byte, cached int) *rig {
	t.Helper()
	r := &rig{registry: prometheus.NewRegistry()}
	r.Served = NewServed(open(t, files), cached, slog.New(slog.DiscardHandler), r.registry)
	r.readLimit, r.answerLimit = limit, 10*time.Second
	r.OnChange(func(supi string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, supi)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return r
}

func (r *rig) isUp(want bool) func() error {
	return func() error {
		r.Served.mu.Lock()
		defer r.Served.mu.Unlock()
		if r.up != want {
			return fmt.Errorf("up is %v", r.up)
		}
		return nil
	}
}

func (r *rig) wasTold(supi string) func() error {
	return func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Contains(r.told, supi) {
			return fmt.Errorf("told of %q", r.told)
		}
		return nil
	}
}

func (r *rig) forgetTold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = nil
}

// results are how many look-ups had each result.
func (r *rig) results(t *testing.T) map[string]int {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		if f.GetName() == "core5g_subscriber_database_lookups_total" {
			for _, m := range f.GetMetric() {
				if n := int(m.GetCounter().GetValue()); n > 0 {
					out[m.GetLabel()[0].GetValue()] = n
				}
			}
		}
	}
	return out
}

func TestWhatIsServedIsCachedUntilItChanges(t *testing.T) {
	d, f := prepared(t)
	write(t, d, subscriber(t, 1), subscriber(t, 2))
	r := serve(t, f, 100)
	await(t, "it listens", r.isUp(true))
	for range 3 {
		s, err := r.Subscriber(t.Context(), supi(1))
		if err != nil || s.Spec.Slices[0].Name != "internet" || s.Spec.AMBR.Uplink != "1 Gbps" || s.Spec.Barred {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	keys, err := r.Keys(t.Context(), supi(1))
	if want := map[string][]byte{"k": []byte(fmt.Sprintf("%032x", 1)), "opc": []byte(key)}; err != nil || !cmp.Equal(keys, want) {
		t.Errorf("keys %s, %v", keys, err)
	}
	if _, err := r.Subscriber(t.Context(), supi(9)); !errors.Is(err, subscription.ErrUnknownSubscriber) {
		t.Errorf("one that is not there: %v", err)
	}
	if diff := cmp.Diff(map[string]int{"read": 1, "cached": 3, "unknown": 1}, r.results(t)); diff != "" {
		t.Errorf("look-ups -want +got:\n%s", diff)
	}
	changed := time.Now()
	write(t, d, subscriber(t, 1, barred))
	await(t, "it is told", r.wasTold(supi(1)))
	if s, err := r.Subscriber(t.Context(), supi(1)); err != nil || !s.Spec.Barred {
		t.Errorf("after %s: %+v, %v", time.Since(changed), s, err)
	}
	if _, err := d.Delete(t.Context(), supi(2)); err != nil {
		t.Fatal(err)
	}
	await(t, "the deletion is told", r.wasTold(supi(2)))
	write(t, d, subscriber(t, 9))
	await(t, "a new one is told", r.wasTold(supi(9)))
	if _, err := r.Subscriber(t.Context(), supi(9)); err != nil {
		t.Error("one that was not there and is:", err)
	}
	r.forgetTold()
	if _, err := d.pool.Exec(t.Context(), "TRUNCATE core5g.subscribers"); err != nil {
		t.Fatal(err)
	}
	await(t, "everybody is told", r.wasTold(""))
	if _, err := r.Subscriber(t.Context(), supi(1)); !errors.Is(err, subscription.ErrUnknownSubscriber) {
		t.Errorf("after a TRUNCATE: %v", err)
	}
}

func TestAnImportOfManyIsToldOnce(t *testing.T) {
	d, f := prepared(t)
	r := serve(t, f, 100)
	await(t, "it listens", r.isUp(true))
	await(t, "it has told that it begins", r.wasTold(""))
	r.forgetTold()
	var list []Subscriber
	for n := range 5000 {
		list = append(list, subscriber(t, n))
	}
	write(t, d, list...)
	await(t, "it is told", r.wasTold(""))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) > many {
		t.Errorf("told %d times", len(r.told))
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	d, f := prepared(t)
	write(t, d, subscriber(t, 1), subscriber(t, 2), subscriber(t, 3))
	r := serve(t, f, 2)
	await(t, "it listens", r.isUp(true))
	for _, n := range []int{1, 2, 1, 3, 1, 2} { // 3 takes the place of 2
		if _, err := r.Subscriber(t.Context(), supi(n)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"read": 4, "cached": 2}, r.results(t)); diff != "" {
		t.Errorf("look-ups -want +got:\n%s", diff)
	}
	if n := r.cache.len(); n != 2 {
		t.Errorf("%d are cached", n)
	}
}

func TestWhileTheDatabaseIsAway(t *testing.T) {
	for name, away := range map[string]func(*testing.T, *postgresqltest.Server) (back func()){
		"killed": func(t *testing.T, s *postgresqltest.Server) func() {
			s.Stop()
			return func() {
				if err := s.Begin(); err != nil {
					t.Fatal(err)
				}
			}
		},
		"silent": func(_ *testing.T, s *postgresqltest.Server) func() { return s.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			own := postgresqltest.New(t)
			f := secret(own.URI())
			d := open(t, f)
			if err := d.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			write(t, d, subscriber(t, 1), subscriber(t, 2))
			r := serve(t, f, 100)
			await(t, "it listens", r.isUp(true))
			if _, err := r.Subscriber(t.Context(), supi(1)); err != nil {
				t.Fatal(err)
			}
			back := away(t, own)
			await(t, "it notices", r.isUp(false))
			if s, err := r.Subscriber(t.Context(), supi(1)); err != nil || s.Spec.SUPI != supi(1) {
				t.Errorf("what is cached: %v, %v", s, err)
			}
			if _, err := r.Keys(t.Context(), supi(1)); err != nil {
				t.Errorf("its keys: %v", err)
			}
			if _, err := r.Subscriber(t.Context(), supi(2)); !errors.Is(err, ErrAway) {
				t.Errorf("what is not cached: %v", err)
			}
			r.forgetTold()
			back()
			other := open(t, f) // changed while it did not listen
			await(t, "the change is written", func() error {
				_, _, err := other.Write(t.Context(), []Subscriber{subscriber(t, 1, barred)})
				return err
			})
			await(t, "the change is in force", func() error {
				s, err := r.Subscriber(t.Context(), supi(1))
				if err != nil || !s.Spec.Barred {
					return fmt.Errorf("%+v, %v", s, err)
				}
				return nil
			})
			await(t, "it has told that anything may have changed", r.wasTold(""))
			if _, err := r.Subscriber(t.Context(), supi(2)); err != nil {
				t.Errorf("when it is back: %v", err)
			}
		})
	}
}
