package inspection

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/onlookers"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// rig is a store with sessions of two shards and two Slices on two units.
type rig struct {
	*Inspection
	t      *testing.T
	store  *counting
	leases []sessionstore.Lease
	config *configuration.Snapshot
}

// counting counts what is read.
type counting struct {
	sessionstore.Store
	reads int
}

func (c *counting) Members(ctx context.Context, group, cursor string, most int) ([]string, string, error) {
	c.reads++
	return c.Store.Members(ctx, group, cursor, most)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: &counting{Store: memory.New(func() time.Time { return noon })}}
	var slices []configuration.Slice
	for n, name := range []string{"internet", "games"} {
		slices = append(slices, configuration.Slice{Name: name, SST: 1, SD: &[3]byte{0, 0, byte(n + 1)}, DataNetworks: []configuration.DataNetwork{{
			DNN: name, Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8},
			Flows: []configuration.Flow{{Name: "voice", FiveQI: 1, ARP: configuration.ARP{Priority: 2}, Precedence: 10,
				Filters: []n1.Filter{{Direction: n1.Bidirectional, Protocol: 17, Remote: netip.MustParsePrefix("192.0.2.0/24")}}}},
			Units: []configuration.Serving{{NodeID: "10.96.0.10", Pools: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/24", 45+n))}}},
		}}})
	}
	r.config, err = configuration.New(slices, []configuration.Unit{{NodeID: "10.96.0.10", Name: "upf-0"}, {NodeID: "10.96.0.11", Name: "upf-1"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Inspection = &Inspection{
		Store: r.store, Sealer: sealer, Shards: []Shard{{1, "smf/1"}, {2, "smf/2"}}, Configuration: func() *configuration.Snapshot { return r.config },
	}
	for _, s := range r.Shards {
		l, err := r.store.Acquire(t.Context(), s.Name, "pod-a/10.1.2.3", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		r.leases = append(r.leases, l)
	}
	return r
}

// session n, of shard 1 or 2.
func session(n uint64, shard uint16, slice, unit string) *record.Session {
	return &record.Session{
		SUPI: fmt.Sprintf("imsi-20893%010d", n), ID: 1, DNN: slice, SST: 1, SD: &[3]byte{0, 0, 1}, Slice: slice, Phase: record.Active, Type: n1.IPv4,
		IPv4: netip.AddrFrom4([4]byte{10, 45, 0, byte(n)}), Flows: []record.Flow{{QFI: 1, FiveQI: 9, Priority: 8}},
		Unit: record.Unit{NodeID: unit}, CPSEID: record.SEID(shard, n), UPSEID: 7, Since: noon.UnixMilli(), AMBR: record.AMBR{Uplink: 1e9, Downlink: 2e9},
		Uplink:   record.Tunnel{TEID: 0x10, IPv4: netip.MustParseAddr("172.30.3.16")},
		Downlink: record.Tunnel{TEID: 0x100, IPv4: netip.MustParseAddr("172.30.3.100")},
	}
}

func (r *rig) keep(list ...*record.Session) {
	r.t.Helper()
	for _, s := range list {
		b, err := s.Encode()
		if err != nil {
			r.t.Fatal(err)
		}
		shard := record.ShardOf(s.CPSEID)
		key := record.Key(s.SUPI, s.ID)
		r.commit(shard, sessionstore.Change{
			Key: key, Value: r.Sealer.Seal(key, b), Is: sessionstore.Revision{Writer: 1, Count: s.CPSEID},
			JoinGroups: []string{runner.UnitGroup(shard, s.Unit.NodeID), runner.SliceGroup(shard, s.Slice)},
		})
	}
}

func (r *rig) commit(shard uint16, c sessionstore.Change) {
	r.t.Helper()
	if err := r.store.Commit(r.t.Context(), r.leases[shard-1], c); err != nil {
		r.t.Fatal(err)
	}
}

// all pages of a query, each of that limit.
func (r *rig) all(q Query) (names []string, pages int) {
	r.t.Helper()
	for {
		page, err := r.List(r.t.Context(), q)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(page.Sessions) > q.Limit && q.Limit > 0 {
			r.t.Errorf("a page has %d sessions, want at most %d", len(page.Sessions), q.Limit)
		}
		pages++
		for _, s := range page.Sessions {
			names = append(names, fmt.Sprintf("%s/%d %s %s %s", strings.TrimLeft(s.SUPI[len("imsi-20893"):], "0"), s.ID, s.Slice, s.Unit, s.Shard))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Sort(names)
			return names, pages
		}
	}
}

func TestList(t *testing.T) {
	r := newRig(t)
	r.keep(session(1, 1, "internet", "10.96.0.10"), session(2, 1, "games", "10.96.0.10"), session(3, 2, "internet", "10.96.0.11"), session(4, 2, "internet", "10.96.0.10"),
		session(5, 2, "deleted", "10.96.0.10"))
	one, two, three, four, five := "1/1 internet upf-0 smf/1", "2/1 games upf-0 smf/1", "3/1 internet upf-1 smf/2", "4/1 internet upf-0 smf/2", "5/1 deleted upf-0 smf/2"
	for name, c := range map[string]struct {
		query Query
		want  []string
	}{
		"all":                                   {Query{}, []string{one, two, three, four}},
		"all, one a page":                       {Query{Limit: 1}, []string{one, two, three, four}},
		"of a Slice":                            {Query{Slice: "internet"}, []string{one, three, four}},
		"of a Slice that is configured no more": {Query{Slice: "deleted"}, []string{five}},
		"of a unit by name":                     {Query{Unit: "upf-1"}, []string{three}},
		"of a unit by Node ID":                  {Query{Unit: "10.96.0.10", Limit: 2}, []string{one, two, four, five}},
		"of a Slice and a unit":                 {Query{Unit: "upf-0", Slice: "internet"}, []string{one, four}},
		"of a UE":                               {Query{SUPI: "imsi-208930000000003"}, []string{three}},
		"of a UE by its IMSI":                   {Query{SUPI: "208930000000003"}, []string{three}},
		"of a UE in another Slice":              {Query{SUPI: "208930000000003", Slice: "games"}, nil},
		"of nobody":                             {Query{SUPI: "imsi-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := r.all(c.query)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPageCostsOnlyItself(t *testing.T) {
	r := newRig(t)
	for n := uint64(1); n <= 100; n++ {
		r.keep(session(n, 1, "internet", "10.96.0.10"))
	}
	page, err := r.List(t.Context(), Query{Limit: 10})
	if err != nil || len(page.Sessions) != 10 || page.Next == "" {
		t.Fatalf("%d sessions, next %q, %v", len(page.Sessions), page.Next, err)
	}
	if r.store.reads > 2 { // the Slices before it, too
		t.Errorf("the store was asked for members %d times", r.store.reads)
	}
	if got, pages := r.all(Query{Limit: 10}); len(got) != 100 || pages > 12 {
		t.Errorf("%d sessions in %d pages", len(got), pages)
	}
	for name, q := range map[string]Query{"too many": {Limit: MostListed + 1}, "fewer than none": {Limit: -1}, "a cursor of somebody's own": {Cursor: "x!"}} {
		if _, err := r.List(t.Context(), q); err == nil || !strings.Contains(err.Error(), ErrQuery.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A record that cannot be read is named, and hides no other.
func TestARecordThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.keep(session(1, 1, "internet", "10.96.0.10"))
	key := record.Key("imsi-208930000000009", 3)
	r.commit(1, sessionstore.Change{Key: key, Value: []byte("damaged"), Is: sessionstore.Revision{Writer: 1, Count: 99}, JoinGroups: []string{runner.SliceGroup(1, "internet")}})
	page, err := r.List(t.Context(), Query{})
	if err != nil || len(page.Sessions) != 2 {
		t.Fatalf("%v, %v", page, err)
	}
	bad := page.Sessions[1]
	if bad.SUPI != "imsi-208930000000009" || bad.ID != 3 || bad.Problem == "" {
		t.Errorf("%+v", bad)
	}
	if _, err := r.One(t.Context(), bad.SUPI, 3); err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("one alone: %v", err)
	}
}

func TestOneSessionInFull(t *testing.T) {
	r := newRig(t)
	s := session(1, 2, "internet", "10.96.0.10")
	s.PLMN, s.AMF = "20893", record.AMF{InstanceID: "amf-1", TAC: 1, Cell: 0x10}
	s.Flows = append(s.Flows, record.Flow{QFI: 2, FiveQI: 1, Name: "voice", Priority: 2})
	s.Procedure = &record.Procedure{Kind: uint8(procedure.Modification), Step: 2, Attempts: 1, Began: noon.UnixMilli(), Message: []byte("never shown")}
	s.Command = &record.Command{Message: []byte("never shown"), Attempts: 2, Began: noon.UnixMilli(), Release: true}
	s.Handover = &record.Handover{Target: record.Tunnel{TEID: 5, IPv4: netip.MustParseAddr("172.30.3.101")}, Prepared: true}
	s.Wanted = &record.Wanted{Gone: []byte{2}, UE: true}
	s.Answered = &record.Answered{Answer: []byte("never shown")}
	s.Told = &record.Told{Phase: record.Idle}
	s.Routes = record.Prefixes{netip.MustParsePrefix("192.168.7.0/24")}
	s.Branch = &record.Branch{
		NodeID: "10.96.0.11", CPSEID: record.SEID(2, 2), UPSEID: 8, Access: record.Tunnel{TEID: 0x50, IPv4: netip.MustParseAddr("172.30.3.32")},
		Core: record.Tunnel{TEID: 0x51, IPv4: netip.MustParseAddr("172.30.3.32")}, Breakouts: []string{"edge"},
	}
	s.Left = &record.Left{NodeID: "10.96.0.13", CPSEID: record.SEID(2, 3), Known: true}
	s.History = []record.Past{{Kind: uint8(procedure.Establishment), At: noon.UnixMilli(), Took: 12}, {Kind: uint8(procedure.Paging), Result: 1, At: noon.UnixMilli(), Took: 900}}
	r.keep(s)
	got, err := r.One(t.Context(), "208930000000001", 1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil || strings.Contains(string(text), "never shown") || strings.Contains(string(text), "bmV2ZXI") {
		t.Errorf("messages are shown, or %v", err)
	}
	want := Story{
		Session: Session{
			SUPI: s.SUPI, ID: 1, Slice: "internet", SNSSAI: "1-000001", DNN: "internet", Type: "IPv4", Addresses: []string{"10.45.0.1"}, Phase: "active",
			Flows: []Flow{{QFI: 1, FiveQI: 9, Priority: 8}, {QFI: 2, FiveQI: 1, Name: "voice", Priority: 2}}, Unit: "upf-0", OnN3: "upf-1", Shard: "smf/2", Since: noon,
		},
		Branch: &Branch{
			Unit: "upf-1", NodeID: "10.96.0.11", CPSEID: "0x2000000000002", UPSEID: "0x8", Access: "TEID 0x50 172.30.3.32", Core: "TEID 0x51 172.30.3.32",
			Breakouts: []string{"edge"}, Rules: n4.ReadableBranch(s, r.config.Named("internet", "internet").Settings()),
		},
		Left: &Left{Unit: "10.96.0.13", NodeID: "10.96.0.13", CPSEID: "0x2000000000003", Known: true},
		Ref:  "2000000000001", CPSEID: "0x2000000000001", UPSEID: "0x7", NodeID: "10.96.0.10", Holder: "pod-a/10.1.2.3", PLMN: "20893",
		AMF: AMF{InstanceID: "amf-1", TAC: "000001", Cell: "000000010"}, AMBR: s.AMBR, Uplink: "TEID 0x10 172.30.3.16", Downlink: "TEID 0x100 172.30.3.100", UnitInDoubt: true,
		FramedRoutes: []string{"192.168.7.0/24"},
		Procedure:    &Procedure{Kind: "modification", Step: 2, Attempts: 1, Began: noon}, Command: &Command{Kind: "release", Attempts: 2, Began: noon},
		Handover: &Handover{Target: "TEID 0x5 172.30.3.101", Prepared: true}, Wanted: &Wanted{Gone: []int{2}, UEOpen: true},
		Rules:   n4.Readable(s, r.config.Named("internet", "internet").Settings()),
		History: []Past{{Kind: "establishment", At: noon, Took: 12}, {Kind: "paging", Failed: true, At: noon, Took: 900}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Rules.PDRs) != 4 || len(got.Rules.QERs) != 3 {
		t.Errorf("%d PDRs and %d QERs", len(got.Rules.PDRs), len(got.Rules.QERs))
	}
}

// Of a session of type Ethernet there is what its unit has said of the devices behind the UE.
func TestDevicesBehindAUE(t *testing.T) {
	r := newRig(t)
	s := session(1, 1, "lan", "10.96.0.10")
	s.Type, s.IPv4 = n1.Ethernet, netip.Addr{}
	s.Ethernet = &record.Ethernet{MACs: record.MACs{{2, 0, 0, 0, 0, 1}}, More: true}
	r.keep(s)
	got, err := r.One(t.Context(), s.SUPI, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.Type != "Ethernet" || len(got.Addresses) > 0 || !slices.Equal(got.MACs, []string{"02:00:00:00:00:01"}) || !got.MoreMACs {
		t.Errorf("%+v", got.Session)
	}
}

// A network specific identifier may have a / (TS 23.003 28.7.2).
func TestAUEWhoseNameAPathEscapes(t *testing.T) {
	const supi = "nai-a/7%2F?@example.com"
	r := newRig(t)
	s := session(1, 1, "internet", "10.96.0.10")
	s.SUPI = supi
	r.keep(s)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/sessions/"+url.PathEscape(supi)+"/1", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), supi) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got, id := nameOf(record.Key(supi, 5)); got != supi || id != 5 {
		t.Errorf("the key's name is %q, %d", got, id)
	}
	for name, want := range map[string][2]string{supi + "/12": {supi, "12"}, "imsi-1/1": {"imsi-1", "1"}, "imsi-1/": {}, "/1": {}, "imsi-1": {}} {
		if got, id, is := onlookers.CutSession(name); is && (want != [2]string{got, id}) || is != (want != [2]string{}) {
			t.Errorf("%s: %q, %q, %v", name, got, id, is)
		}
	}
}

func TestRequests(t *testing.T) {
	r := newRig(t)
	r.keep(session(1, 1, "internet", "10.96.0.10"))
	h := r.Handler()
	for path, c := range map[string]struct {
		status int
		says   string
	}{
		"GET /sessions":                        {200, `"supi":"imsi-208930000000001"`},
		"GET /sessions/imsi-208930000000001/1": {200, `"pdrs"`},
		"GET /sessions/imsi-208930000000001/2": {404, "no such session"},
		"GET /sessions/imsi-208930000000001/0": {400, "write 1 to 15"},
		"GET /sessions?limit=many":             {400, "limit"},
		"GET /sessions?cursor=zzz":             {400, "begin anew"},
		"POST /sessions":                       {405, ""},
	} {
		method, target, _ := strings.Cut(path, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %d with %q", path, w.Code, w.Body, c.status, c.says)
		}
	}
	r.config = nil
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/sessions", nil))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "configuration") {
		t.Errorf("without a configuration: %d %s", w.Code, w.Body)
	}
}

// blocked is a store that answers nobody before it is let go.
type blocked struct {
	sessionstore.Store
	asked chan struct{}
}

func (b *blocked) Members(ctx context.Context, _, _ string, _ int) ([]string, string, error) {
	b.asked <- struct{}{}
	<-ctx.Done()
	return nil, "", ctx.Err()
}

func TestFewLookAtATime(t *testing.T) {
	r := newRig(t)
	b := &blocked{Store: r.store, asked: make(chan struct{}, onlookers.MostAtATime)}
	r.Store = b
	h := r.Handler()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, onlookers.MostAtATime)
	for range onlookers.MostAtATime {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/sessions", nil))
			ended <- w.Code
		}()
	}
	for range onlookers.MostAtATime {
		<-b.asked
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/sessions", nil))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "others look already") {
		t.Errorf("one too many: %d %s", w.Code, w.Body)
	}
	cancel()
	for range onlookers.MostAtATime {
		if code := <-ended; code != 503 {
			t.Errorf("a store that does not answer: %d", code)
		}
	}
}

func TestCommands(t *testing.T) {
	r := newRig(t)
	for n := uint64(1); n <= 5; n++ {
		r.keep(session(n, 1, "internet", "10.96.0.10"))
	}
	pod := strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprint(time.Now().UnixNano())
	listener, err := net.Listen("unix", onlookers.Socket(program, pod))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- sbi.Serve(ctx, listener, r.Handler()) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	run := func(line string) (string, error) {
		var out bytes.Buffer
		err := RunCommand(t.Context(), append(strings.Fields(line), "-pod", pod), &out)
		return out.String(), err
	}
	var page Page
	for name, c := range map[string]struct {
		line string
		want int
		next bool
	}{
		"all":            {"sessions", 5, false},
		"as many":        {"sessions -limit 3", 3, true},
		"of a Slice":     {"sessions -slice games", 0, false},
		"of a UE":        {"sessions -supi 208930000000002", 1, false},
		"of a UPF unit":  {"sessions -unit upf-0", 5, false},
		"of its Node ID": {"sessions -unit 10.96.0.11", 0, false},
	} {
		out, err := run(c.line)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		page = Page{}
		if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Sessions) != c.want || (page.Next != "") != c.next {
			t.Errorf("%s: %d sessions, next %q, %v", name, len(page.Sessions), page.Next, err)
		}
	}
	out, err := runSession(t, pod, "imsi-208930000000001/1")
	if err != nil || !strings.Contains(out, `"outerHeaderCreation": "TEID 0x100 172.30.3.100"`) {
		t.Errorf("one session: %s, %v", out, err)
	}
	for name, c := range map[string]struct{ line, want string }{
		"nobody's session":                           {"imsi-1/1", "no such session"},
		"a name without ID":                          {"imsi-1", "write SUPI/ID"},
		"a session of a network specific identifier": {"nai-a/b@example.com/1", "no such session"},
	} {
		if _, err := runSession(t, pod, c.line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something with %q", name, err, c.want)
		}
	}
	if _, err := run("sessions -limit 0"); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("no sessions at all: %v", err)
	}
	if err := RunCommand(t.Context(), []string{"sessions", "-pod", "nobody"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no session-management answers here") {
		t.Errorf("a pod that is not there: %v", err)
	}
}

// runSession has flags before the name, as package flag wants them.
func runSession(t *testing.T, pod, name string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := RunCommand(t.Context(), []string{"session", "-pod", pod, name}, &out)
	return out.String(), err
}
