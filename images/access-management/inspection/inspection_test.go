package inspection

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/onlookers"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// rig is a store with UEs of two shards; the first has a holder.
type rig struct {
	*Inspection
	t      *testing.T
	leases map[uint16]sessionstore.Lease
	sealer *sessionstore.Sealer
}

const north = "20893-00000001/24"

func newRig(t *testing.T) *rig {
	t.Helper()
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(func() time.Time { return noon })
	r := &rig{t: t, sealer: sealer, leases: map[uint16]sessionstore.Lease{}, Inspection: &Inspection{
		Store: store, Sealer: sealer, Shards: 2, Name: func(n uint16) string { return fmt.Sprintf("amf/%d", n) },
		Settings: func() *procedure.Settings { return &procedure.Settings{Region: 1, Set: 2, Pointer: 3} },
		GNB: func(terminator string, association uint64) *record.GNB {
			if terminator == "n2-0" && association == 7 {
				return &record.GNB{PLMN: "20893", ID: 1, Bits: 24, Name: "north"}
			}
			return nil
		},
	}}
	for n := range uint16(2) {
		l, err := store.Acquire(t.Context(), r.Name(n+1), fmt.Sprintf("amf-%d/10.1.2.%d", n, n), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		r.leases[n+1] = l
	}
	return r
}

// secret stands for all keys: it is in no answer.
var secret = bytes.Repeat([]byte{0xd7}, 32)

// ue n of a shard, connected at north or idle.
func ue(n int, shard uint16, sst uint8, connected bool) *record.UE {
	u := &record.UE{
		SUPI: fmt.Sprintf("imsi-20893%010d", n), Shard: shard, Phase: record.Registered, TMSI: record.TMSI(shard, uint32(n)), Since: noon.UnixMilli(),
		Place: record.Place{PLMN: "20893", TAC: uint32(n), Cell: 0x10, At: noon.Unix()}, Allowed: []record.Slice{{SST: sst, SD: &[3]byte{1, 2, 0xab}}},
		Security: &record.Security{Key: secret, Hop: secret, Integrity: 2, Ciphering: 1, Identifier: 3, Uplink: 5, Reserved: 16},
		Sessions: []record.Session{{ID: 1, Slice: record.Slice{SST: sst}, DNN: "internet", SMF: "smf-1", Up: connected}},
	}
	if connected {
		u.N2 = &record.Attachment{Terminator: "n2-0", Association: 7, GNB: north, RAN: 9, AMF: record.AttachmentID(shard, 1), Set: true}
	}
	return u
}

func (r *rig) keep(list ...*record.UE) {
	r.t.Helper()
	for n, u := range list {
		b, err := u.Encode()
		if err != nil {
			r.t.Fatal(err)
		}
		groups := []string{runner.UEGroup(u.Shard)}
		if u.N2 != nil {
			groups = append(groups, runner.ConnectedGroup(u.Shard))
		}
		for _, s := range u.Allowed {
			groups = append(groups, runner.SliceGroup(u.Shard, s.String()))
		}
		key := record.Key(u.SUPI)
		r.commit(u.Shard, sessionstore.Change{Key: key, Value: r.sealer.Seal(key, b), Is: sessionstore.Revision{Writer: 1, Count: uint64(n + 1)}, JoinGroups: groups})
	}
}

func (r *rig) commit(shard uint16, c sessionstore.Change) {
	r.t.Helper()
	if err := r.Store.Commit(r.t.Context(), r.leases[shard], c); err != nil {
		r.t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	r := newRig(t)
	r.keep(ue(1, 1, 1, true), ue(2, 1, 1, false), ue(3, 2, 2, true), ue(4, 2, 1, false))
	one, two, three, four := "1 connected amf/1 amf-0/10.1.2.0", "2 idle amf/1 amf-0/10.1.2.0", "3 connected amf/2 amf-1/10.1.2.1", "4 idle amf/2 amf-1/10.1.2.1"
	for name, c := range map[string]struct {
		query Query
		want  []string
	}{
		"all":                             {Query{}, []string{one, two, three, four}},
		"all, one a page":                 {Query{Limit: 1}, []string{one, two, three, four}},
		"of a slice":                      {Query{Slice: "1-0102AB"}, []string{one, two, four}},
		"of a slice that nobody has":      {Query{Slice: "3"}, nil},
		"connected":                       {Query{State: Connected}, []string{one, three}},
		"idle, of a slice":                {Query{State: Idle, Slice: "1-0102ab"}, []string{two, four}},
		"connected, of a slice":           {Query{State: Connected, Slice: "2-0102ab"}, []string{three}},
		"at a gNB by its ID":              {Query{GNB: north}, []string{one, three}},
		"at a gNB by its name":            {Query{GNB: "north", Slice: "2-0102ab"}, []string{three}},
		"at another gNB":                  {Query{GNB: "south"}, nil},
		"in a tracking area":              {Query{TAC: "000004"}, []string{four}},
		"one of them":                     {Query{SUPI: "imsi-208930000000003"}, []string{three}},
		"one of them by its IMSI":         {Query{SUPI: "208930000000003"}, []string{three}},
		"one that is in another state":    {Query{SUPI: "208930000000003", State: Idle}, nil},
		"one that there is not":           {Query{SUPI: "imsi-1"}, nil},
		"connected ones, of none at once": {Query{State: Connected, Limit: 1}, []string{one, three}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for q := c.query; ; {
				page, err := r.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range page.UEs {
					got = append(got, fmt.Sprintf("%s %s %s %s", strings.TrimLeft(u.SUPI[len("imsi-20893"):], "0"), u.CM, u.Shard, u.Holder))
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, q := range map[string]Query{
		"too many": {Limit: onlookers.MostListed + 1}, "a state that there is not": {State: "asleep"}, "a cursor of somebody's own": {Cursor: "x!"},
	} {
		if _, err := r.List(t.Context(), q); !errors.Is(err, onlookers.ErrQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOneUEInFull(t *testing.T) {
	r := newRig(t)
	u := ue(1, 2, 1, true)
	u.PEI, u.GPSI, u.OldTMSI, u.Area = "imeisv-4370816125816151", "msisdn-1", 7, record.Area{PLMN: "20893", TACs: []uint32{1, 2}}
	u.Coming = &record.Security{Key: secret, Hop: secret}
	u.Emergency, u.Unreached, u.Going = true, true, true
	u.Left = []record.Attachment{{Terminator: "n2-1", Association: 1, RAN: 4, AMF: 5, Releasing: true, Lost: true}}
	u.Rejected = []record.Rejected{{Slice: record.Slice{SST: 9}, Cause: 1}}
	u.Procedure = &record.Procedure{Kind: uint8(procedure.Registration), Step: 7, Attempts: 1, Began: noon.UnixMilli(), Message: secret}
	accept, err := n1.Encode(&n1.ConfigurationUpdateCommand{})
	if err != nil {
		t.Fatal(err)
	}
	u.Command = &record.Command{Message: accept, Attempts: 2, Began: noon.UnixMilli()}
	u.Paging = &record.Paging{Attempts: 3, Began: noon.UnixMilli()}
	u.Handover = &record.Handover{Target: record.Attachment{Terminator: "n2-0", Association: 8, GNB: "20893-00000002/24", RAN: 1, AMF: 6}, Step: 2, Began: noon.UnixMilli()}
	u.Sessions[0].Held = &record.Held{N1: secret}
	u.History = []record.Past{{Kind: uint8(procedure.Registration), At: noon.UnixMilli(), Took: 12}, {Kind: uint8(procedure.Paging), Result: 1, At: noon.UnixMilli(), Took: 900}}
	r.keep(u)
	got, err := r.One(t.Context(), "208930000000001")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret), "d7d7", "19fX", "215,215"} {
		if strings.Contains(string(text), key) {
			t.Errorf("a key is shown: %s", text)
		}
	}
	want := Story{
		UE: UE{
			SUPI: u.SUPI, RM: "registered", CM: "connected", GUTI: "2089301008302000001", GNB: north, GNBName: "north", PLMN: "20893", TAC: "000001", Cell: "000000010",
			Seen: noon, Slices: []string{"1-0102ab"}, Sessions: []Session{{ID: 1, SNSSAI: "1", DNN: "internet", Up: true, SMF: "smf-1", Waits: true}}, Shard: "amf/2",
			Holder: "amf-1/10.1.2.1", Since: noon,
		},
		PEI: u.PEI, GPSI: u.GPSI, OldTMSI: "00000007", Area: []string{"20893-000001", "20893-000002"}, Rejected: []string{"9 (cause 1)"},
		Connection: &Connection{Terminator: "n2-0", Association: 7, GNB: north, RAN: 9, AMF: 2<<32 + 1, State: "set up"},
		Left:       &Connection{Terminator: "n2-1", Association: 1, RAN: 4, AMF: 5, State: "lost"},
		Emergency:  true, Unreachable: true, Going: true,
		Security:  &Security{KSI: 3, Integrity: "NIA2", Ciphering: "NEA1", Uplink: 5, Reserved: 16},
		Procedure: &Action{Kind: "registration", Step: 7, Attempts: 1, Began: noon}, Command: &Action{Kind: "configuration update command", Attempts: 2, Began: noon},
		Paging:   &Action{Attempts: 3, Began: noon},
		Handover: &Move{Target: Connection{Terminator: "n2-0", Association: 8, GNB: "20893-00000002/24", RAN: 1, AMF: 6, State: "signalling"}, Step: 2, Began: noon},
		History:  []Past{{Kind: "registration", At: noon, Took: 12}, {Kind: "paging", Failed: true, At: noon, Took: 900}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var missing *onlookers.NotFoundError
	if _, err := r.One(t.Context(), "imsi-1"); !errors.As(err, &missing) {
		t.Errorf("a UE that there is not: %v", err)
	}
}

// A record that cannot be read is named, and hides no other.
func TestARecordThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.keep(ue(1, 1, 1, true))
	r.commit(1, sessionstore.Change{Key: record.Key("imsi-9"), Value: []byte("damaged"), Is: sessionstore.Revision{Writer: 1, Count: 99}, JoinGroups: []string{runner.UEGroup(1)}})
	page, err := r.List(t.Context(), Query{})
	if err != nil || len(page.UEs) != 2 {
		t.Fatalf("%v, %v", page, err)
	}
	n := slices.IndexFunc(page.UEs, func(u UE) bool { return u.SUPI == "imsi-9" })
	if n < 0 || page.UEs[n].Problem == "" {
		t.Errorf("%+v", page.UEs)
	}
	var bad *onlookers.UnreadableError
	if _, err := r.One(t.Context(), "imsi-9"); !errors.As(err, &bad) {
		t.Errorf("one alone: %v", err)
	}
}

func TestBeforeTheConfigurationIsRead(t *testing.T) {
	r := newRig(t)
	r.Settings = func() *procedure.Settings { return nil }
	if _, err := r.List(t.Context(), Query{}); !errors.Is(err, onlookers.ErrNotConfigured) {
		t.Error(err)
	}
	if _, err := r.One(t.Context(), "imsi-1"); !errors.Is(err, onlookers.ErrNotConfigured) {
		t.Error(err)
	}
}

func TestCommands(t *testing.T) {
	r := newRig(t)
	for n := range 5 {
		r.keep(ue(n+1, 1, 1, n%2 == 0))
	}
	pod := t.Name() + fmt.Sprint(time.Now().UnixNano())
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
		words := strings.Fields(line)
		err := RunCommand(t.Context(), append([]string{words[0], "-pod", pod}, words[1:]...), &out)
		return out.String(), err
	}
	for name, c := range map[string]struct {
		line string
		want int
		next bool
	}{
		"all":                {"ues", 5, false},
		"as many":            {"ues -limit 3", 3, true},
		"idle":               {"ues -state idle", 2, false},
		"of a slice":         {"ues -slice 1-0102ab", 5, false},
		"at a gNB":           {"ues -gnb north", 3, false},
		"in a tracking area": {"ues -tac 000002", 1, false},
		"one":                {"ues -supi 208930000000002", 1, false},
	} {
		out, err := run(c.line)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var page Page
		if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.UEs) != c.want || (page.Next != "") != c.next {
			t.Errorf("%s: %d UEs, next %q, %v", name, len(page.UEs), page.Next, err)
		}
	}
	if out, err := run("ue imsi-208930000000001"); err != nil || !strings.Contains(out, `"integrity": "NIA2"`) {
		t.Errorf("one UE: %s, %v", out, err)
	}
	other := ue(9, 1, 1, false)
	other.SUPI = "nai-a/b%2F?@example.com" // a path escapes it
	r.keep(other)
	for _, line := range []string{"ue " + other.SUPI, "ues -supi " + other.SUPI} {
		if out, err := run(line); err != nil || !strings.Contains(out, other.SUPI) {
			t.Errorf("%s: %s, %v", line, out, err)
		}
	}
	for line, want := range map[string]string{
		"ue imsi-1": "there is no such UE", "ue": "write a SUPI", "ues -limit 0": "limit", "ues -state asleep": "write connected or idle", "ues more": "unexpected",
	} {
		if _, err := run(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something with %q", line, err, want)
		}
	}
	if err := RunCommand(t.Context(), []string{"ues", "-pod", "nobody"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no access-management answers here") {
		t.Errorf("a pod that is not there: %v", err)
	}
}
