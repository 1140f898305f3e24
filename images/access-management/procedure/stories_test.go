package procedure

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

// A story is a UE as it was, what happens to it, and, in testdata, what came of each: the message chart of a procedure. An act is made when its turn has come, so
// that what a UE says is protected as it is then.
type story struct {
	name string
	// from leads the UE to where the story begins; nil: there is none.
	from func(*teller)
	acts []act
}

// act is something that happens.
type act struct {
	name  string
	event func(*teller) Event
	// later is how much time has gone since the act before.
	later time.Duration
}

var update = flag.Bool("update", false, "write what came of the stories anew: read it before it is accepted")

// tell stories, and compare what came of them with testdata/<name>.txt.
func tell(t *testing.T, name string, stories []story) {
	t.Helper()
	var out strings.Builder
	for _, s := range stories {
		fmt.Fprintf(&out, "# %s\n", s.name)
		tr := newTeller(t)
		if s.from != nil {
			s.from(tr)
		}
		for _, a := range s.acts {
			tr.now = tr.now.Add(a.later)
			e := a.event(tr)
			fmt.Fprintf(&out, "%s\n", a.name)
			tr.write(&out, tr.handle(e))
		}
		out.WriteByte('\n')
	}
	file := "testdata/" + name + ".txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// teller leads a UE through events, and is that UE, its access network, and all other functions.
type teller struct {
	t        *testing.T
	now      time.Time
	settings *Settings
	gnbs     map[string]*record.GNB
	beside   *record.GNB // another association of the UE's NG interface; nil: there is none
	st       State
	out      Output
	ids      uint64
	tmsis    uint32
	phone    phone
	// authentications there were: each makes another key.
	authentications byte
	// was is the connection that the UE had last.
	was record.Attachment
}

// phone is the UE's end of NAS.
type phone struct {
	key    []byte
	uplink uint32
	last   []byte
}

// plainKeys protects without ciphering, so that charts can be read. A COUNT that is used twice is found by used.
type plainKeys struct{ used map[string]bool }

func digestOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

func (plainKeys) AMF(kseaf []byte, supi string, abba []byte) []byte {
	return digestOf([]byte("amf"), kseaf, []byte(supi), abba)
}
func (plainKeys) HXRES(rand, res []byte) []byte { return digestOf([]byte("hxres"), rand, res)[16:] }
func (plainKeys) GNB(amf []byte, uplink uint32) []byte {
	return digestOf([]byte("gnb"), amf, binary.BigEndian.AppendUint32(nil, uplink))
}
func (plainKeys) Hop(amf, before []byte) []byte { return digestOf([]byte("hop"), amf, before) }
func (plainKeys) Decipher(_ *record.Security, _ uint32, content []byte) []byte {
	return content
}

func mac(key []byte, direction byte, count uint32, plain []byte) (out [4]byte) {
	copy(out[:], digestOf(key, []byte{direction}, binary.BigEndian.AppendUint32(nil, count), plain))
	return out
}

func (k plainKeys) Protect(s *record.Security, count uint32, header n1.SecurityHeader, plain []byte) []byte {
	name := fmt.Sprintf("%x/%d", s.Key, count)
	if k.used[name] && s.Integrity != security.Null { // that protects nothing, with the same key for all
		panic("a downlink COUNT is used twice: " + name)
	}
	k.used[name] = true
	if count >= s.Reserved {
		panic("a downlink COUNT is not reserved")
	}
	return n1.Envelope{Header: header, MAC: mac(s.Key, 1, count, plain), Sequence: uint8(count), Payload: plain}.Append(nil)
}

func (plainKeys) Open(s *record.Security, octets []byte) ([]byte, uint32, bool) {
	e, err := n1.ReadEnvelope(octets)
	if err != nil {
		return nil, 0, false
	}
	count := s.Uplink&^0xff | uint32(e.Sequence)
	if count < s.Uplink {
		count += 0x100
	}
	return e.Payload, count, e.MAC == mac(s.Key, 0, count, e.Payload)
}

const (
	supi  = "imsi-208930000000001"
	shard = 3
)

var (
	eMBB     = record.Slice{SST: 1}
	ioT      = record.Slice{SST: 2, SD: &[3]byte{0, 0, 7}}
	guest    = record.Slice{SST: 3}
	gnb1     = record.GNB{PLMN: "20893", ID: 1, Bits: 24, Name: "roof", Terminator: "n2-0", Association: 1, DRX: 128}
	gnb2     = record.GNB{PLMN: "20893", ID: 2, Bits: 24, Name: "yard", Terminator: "n2-0", Association: 2, DRX: 128}
	randOf   = bytes.Repeat([]byte{1}, 16)
	autnOf   = bytes.Repeat([]byte{2}, 16)
	resOf    = bytes.Repeat([]byte{3}, 16)
	ability  = n1.UESecurityCapability{0xf0, 0x70, 0xf0, 0x70}
	keys     = plainKeys{}
	services = []SubscribedSlice{{Slice: eMBB, Default: true, DNN: "internet", DNNs: []string{"internet", "ims"}}, {Slice: ioT, DNN: "meters"}}
)

func newTeller(t *testing.T) *teller {
	broadcast := []record.Broadcast{{PLMN: "20893", Slices: []record.Slice{eMBB, ioT}}}
	one, two := gnb1, gnb2
	one.Areas = []record.Tracking{{TAC: 1, Broadcast: broadcast}, {TAC: 2, Broadcast: broadcast}}
	two.Areas = []record.Tracking{{TAC: 7, Broadcast: []record.Broadcast{{PLMN: "20893", Slices: []record.Slice{eMBB}}}}}
	return &teller{
		t: t, now: time.Unix(1_800_000_000, 0),
		settings: &Settings{
			Name: "AMF", Region: 1, Set: 1, Pointer: 1, Capacity: 255, PLMNs: []PLMN{{PLMN: "20893", Slices: []record.Slice{eMBB, ioT, guest}}},
			Integrity: []uint8{2, 1}, Ciphering: []uint8{2, 1}, Periodic: 54 * time.Minute,
		},
		gnbs: map[string]*record.GNB{one.Key(): &one, two.Key(): &two},
	}
}

func (tr *teller) input(k Keys) Input {
	return Input{
		Now: tr.now, Settings: tr.settings, Shard: shard, Keys: k,
		GNB: func(a record.Attachment) *record.GNB { return tr.gnbs[a.GNB] }, Find: func(name string) *record.GNB { return tr.gnbs[name] },
		Beside: func(a record.Attachment) *record.GNB {
			if g := tr.beside; g != nil && g.Serves(&a) && (g.Terminator != a.Terminator || g.Association != a.Association) {
				return g
			}
			return nil
		},
		Attachment: func() uint64 { tr.ids++; return record.AttachmentID(shard, tr.ids) },
		Temporary:  func() uint32 { tr.tmsis++; return record.TMSI(shard, tr.tmsis) },
	}
}

var usedCounts = map[*teller]plainKeys{}

// handle an event, and have the record go through the store.
func (tr *teller) handle(e Event) Output {
	tr.t.Helper()
	if usedCounts[tr].used == nil {
		usedCounts[tr] = plainKeys{used: map[string]bool{}}
	}
	var was []byte
	if tr.st.Record != nil {
		was, _ = tr.st.Record.Encode()
	}
	out := Handle(tr.input(usedCounts[tr]), tr.st, e)
	if tr.st.Record != nil {
		if is, _ := tr.st.Record.Encode(); string(is) != string(was) {
			tr.t.Errorf("Handle has changed the record that it was given, by %T", e)
		}
	}
	if r := out.State.Record; r != nil && !out.Lazy {
		b, err := r.Encode()
		if err != nil {
			tr.t.Errorf("the record after %T: %v", e, err)
		}
		again, err := record.Decode(b) // what another worker would have
		if err != nil {
			tr.t.Errorf("the record after %T: %v", e, err)
		} else {
			out.State.Record = again
		}
	}
	if !out.Later && !out.Stranger {
		tr.st = out.State
	}
	tr.out = out
	return out
}

// leadTelling leads a story, and returns what the UDM hears of the UE's leaving.
func (tr *teller) leadTelling(acts []act) (told []TellLeft) {
	tr.t.Helper()
	for _, a := range acts {
		tr.lead(a)
		for _, x := range tr.out.Effects {
			if left, is := x.(TellLeft); is {
				told = append(told, left)
			}
		}
	}
	return told
}

func (tr *teller) lead(acts ...act) {
	tr.t.Helper()
	for _, a := range acts {
		tr.now = tr.now.Add(a.later)
		out := tr.handle(a.event(tr))
		if out.Refused != "" || out.Later || out.Stranger {
			tr.t.Fatalf("%s: %s (later %t, stranger %t)", a.name, out.Refused, out.Later, out.Stranger)
		}
	}
}

// write what came of an event.
func (tr *teller) write(w *strings.Builder, out Output) {
	line := func(format string, a ...any) { fmt.Fprintf(w, "    "+format+"\n", a...) }
	if out.Refused != "" {
		line("refused: %s", out.Refused)
	}
	if out.Stranger {
		line("a stranger's")
		return
	}
	if out.Later {
		line("later")
		return
	}
	for _, e := range out.Effects {
		line("%s", tr.effectWords(e))
	}
	var over []string
	for _, name := range slices.Sorted(maps.Keys(out.Due)) {
		if at := out.Due[name]; at.IsZero() {
			over = append(over, name)
		} else {
			line("due %s: in %s", name, at.Sub(tr.now))
		}
	}
	if len(over) > 0 {
		line("not due any more: %s", strings.Join(over, ", "))
	}
	for _, r := range out.Ended {
		line("ended %s %s", r.Kind, r.Cause)
	}
	line("%s", ueWords(out))
}

// ---- words ---------------------------------------------------------------------------------------------------

func ueWords(out Output) string {
	u := out.State.Record
	if u == nil {
		return "there is no UE"
	}
	who := u.SUPI
	if who == "" {
		who = "somebody"
	}
	words := []string{who, map[record.Phase]string{record.Deregistered: "deregistered", record.Registered: "registered", record.Leaving: "leaving"}[u.Phase]}
	at := func(name string, a *record.Attachment) {
		if a == nil {
			return
		}
		w := fmt.Sprintf("%s %s", name, gnbWords(*a))
		for _, x := range []struct {
			is   bool
			word string
		}{{a.Set, " context"}, {a.Setting, " setting"}, {a.Lost, " lost"}, {a.Releasing, " releasing"}, {a.Secured, " secured"}} {
			if x.is {
				w += x.word
			}
		}
		words = append(words, w)
	}
	at("at", u.N2)
	for n := range u.Left {
		at("left", &u.Left[n])
	}
	if u.N2 == nil {
		words = append(words, "idle")
	}
	if p := u.Procedure; p != nil {
		words = append(words, fmt.Sprintf("in %s step %d", Kind(p.Kind), p.Step))
	}
	if c := u.Command; c != nil {
		words = append(words, fmt.Sprintf("command sent %d times", c.Attempts))
	}
	if p := u.Paging; p != nil {
		words = append(words, fmt.Sprintf("paged %d times", p.Attempts))
	}
	if h := u.Handover; h != nil {
		words = append(words, fmt.Sprintf("handover step %d to %s asked %#x taken %#x", h.Step, gnbWords(h.Target), h.Asked, h.Taken))
	}
	for _, s := range u.Sessions {
		w := fmt.Sprintf("session %d", s.ID)
		for _, x := range []struct {
			is   bool
			word string
		}{{s.Up, " up"}, {s.Silent, " silent"}, {s.Held != nil, " held"}} {
			if x.is {
				w += x.word
			}
		}
		words = append(words, w)
	}
	for _, x := range u.Ending {
		words = append(words, fmt.Sprintf("session %d ending", x.Session.ID))
	}
	if u.Remnant {
		words = append(words, "nothing else")
	}
	if out.Lazy {
		words = append(words, "in memory")
	}
	if u.Prove {
		words = append(words, "to prove")
	}
	if u.Behind {
		words = append(words, "behind")
	}
	return strings.Join(words, ", ")
}

func gnbWords(a record.Attachment) string {
	return fmt.Sprintf("gnb-%d/%d/%x", a.Association, a.RAN, a.AMF)
}

func (tr *teller) effectWords(e Effect) string {
	switch e := e.(type) {
	case Send:
		return fmt.Sprintf("AMF -> %-18s %s", gnbWords(e.To), messageWords(e.Message))
	case Page:
		return fmt.Sprintf("AMF -> gNBs of %s %v   %s", e.Area.PLMN, e.Area.TACs, messageWords(e.Message))
	case Reply:
		if l, is := e.Body.(Lent); is {
			return fmt.Sprintf("AMF -> %d: %s, uplink COUNT %d, %d sessions", e.To, l.UE.SUPI, l.UE.Security.Uplink, len(l.UE.Sessions))
		}
		return fmt.Sprintf("AMF -> %d: %s", e.To, words(reflect.ValueOf(e.Body)))
	case AskChallenge, AskConfirm:
		return "AMF -> AUSF: " + words(reflect.ValueOf(e))
	case AskRecording, AskSubscription, TellLeft:
		return "AMF -> UDM: " + words(reflect.ValueOf(e))
	case AskPolicy:
		return fmt.Sprintf("AMF -> PCF: policy %s", map[PolicyOperation]string{CreatePolicy: "create", UpdatePolicy: "update", DeletePolicy: "delete"}[e.Operation])
	case AskSession:
		a := e
		a.SUPI, a.PEI, a.GPSI, a.PLMN, a.Place, a.purpose = "", "", "", "", record.Place{}, 0
		s := a.Session
		a.Session = record.Session{}
		out := fmt.Sprintf("AMF -> SMF: session %d %s", s.ID, map[SessionOperation]string{CreateSession: "create", UpdateSession: "update", ReleaseSession: "release"}[e.Operation])
		a.Operation = 0
		if e.Operation == CreateSession {
			out += fmt.Sprintf(" %s %x", s.DNN, s.Slice.SST)
		}
		return out + " " + strings.TrimPrefix(words(reflect.ValueOf(a)), "AskSession")
	case AskNamed:
		return "AMF: who is " + e.SUPI
	}
	return "AMF -> " + words(reflect.ValueOf(e))
}

func messageWords(m n2.Message) string {
	v := reflect.ValueOf(m)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return words(v)
}

// words of a value: what is zero is left out, NAS is read, octets are in hexadecimal.
func words(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case n2.UEIDs, n2.SecurityCapabilities, n2.GUAMI:
		return ""
	case n2.SecurityKey:
		return fmt.Sprintf("%x…", x[:3])
	case n2.PLMN:
		return x.String()
	case n1.PLMN:
		return x.String()
	case n2.Cause:
		return x.String()
	case n1.Cause:
		return fmt.Sprintf("%d", uint8(x))
	case n2.SNSSAI:
		return words(reflect.ValueOf(sliceTo(sliceOf(x))))
	case n1.SNSSAI:
		return x.String()
	case n1.Timer2:
		return time.Duration(x).String()
	case n1.Timer3:
		return time.Duration(x).String()
	case n1.Sessions:
		return fmt.Sprint(x.IDs())
	case n1.Clock:
		return x.UTC().Format(time.RFC3339)
	case time.Time:
		return x.UTC().Format(time.RFC3339)
	case []byte:
		if s, ok := nasWords(x); ok {
			return s
		}
		if len(x) > 8 {
			return hex.EncodeToString(x[:4]) + "…"
		}
		return hex.EncodeToString(x)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return words(v.Elem())
	case reflect.Struct:
		var out []string
		for n := range v.NumField() {
			f := v.Type().Field(n)
			if v.Field(n).IsZero() || !f.IsExported() || f.Name == "Number" || f.Name == "RAN" || f.Name == "AMF" && v.Type().Name() != "HandoverRequest" {
				continue
			}
			w := words(v.Field(n))
			switch {
			case w == "":
			case f.Anonymous:
				out = append(out, strings.TrimSuffix(strings.TrimPrefix(w, f.Type.Name()+"{"), "}"))
			default:
				out = append(out, f.Name+" "+w)
			}
		}
		return v.Type().Name() + "{" + strings.Join(out, ", ") + "}"
	case reflect.Slice:
		var out []string
		for n := range v.Len() {
			out = append(out, words(v.Index(n)))
		}
		return "[" + strings.Join(out, " ") + "]"
	case reflect.Array:
		b := make([]byte, v.Len())
		for n := range b {
			b[n] = byte(v.Index(n).Uint())
		}
		return words(reflect.ValueOf(b))
	}
	return fmt.Sprint(v.Interface())
}

// nasWords of a message to the UE: with the COUNT that it has.
func nasWords(b []byte) (string, bool) {
	how := ""
	if e, err := n1.ReadEnvelope(b); err == nil {
		how = fmt.Sprintf("(%d #%d) ", e.Header, e.Sequence)
		b = e.Payload
	}
	m, err := n1.Decode(b, n1.Downlink)
	if err != nil {
		return "", false
	}
	v := reflect.ValueOf(m).Elem()
	return how + words(v), true
}

// ---- what the UE and its access networks say -------------------------------------------------------------------

func location(tac uint32) n2.UserLocation {
	plmn := plmnOf("20893")
	return n2.UserLocation{Kind: n2.LocationNR, TAI: n2.TAI{PLMN: plmn, TAC: n2.TAC(tac)}, Cell: n2.Cell{Radio: n2.NR, PLMN: plmn, ID: uint64(tac) << 4}}
}

func at(g record.GNB, ran uint32) record.Attachment {
	return record.Attachment{Terminator: g.Terminator, Association: g.Association, GNB: g.Key(), RAN: ran}
}

func plain(t *testing.T, m n1.Message) []byte {
	t.Helper()
	b, err := n1.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// says is a message of the UE's, protected with its next COUNT.
func (tr *teller) says(m n1.Message, header n1.SecurityHeader) []byte {
	b := plain(tr.t, m)
	out := n1.Envelope{Header: header, MAC: mac(tr.phone.key, 0, tr.phone.uplink, b), Sequence: uint8(tr.phone.uplink), Payload: b}.Append(nil)
	tr.phone.uplink++
	tr.phone.last = out
	return out
}

// first message of the UE's on a connection.
func first(name string, g record.GNB, ran, tac uint32, nas func(*teller) []byte) act {
	return act{name: name, event: func(tr *teller) Event {
		return Initial{At: at(g, ran), Message: &n2.InitialUEMessage{RAN: n2.RANUEID(ran), NAS: nas(tr), Location: location(tac), ContextRequest: true}}
	}}
}

// says on the connection that it has.
func says(name string, nas func(*teller) []byte) act {
	return gnbSays(name, func(tr *teller) n2.Message {
		tac := uint32(1)
		if r := tr.st.Record; r != nil {
			tac = r.Place.TAC
		}
		return &n2.UplinkNASTransport{NAS: nas(tr), Location: location(tac)}
	})
}

func gnbSays(name string, m func(*teller) n2.Message) act {
	return act{name: name, event: func(tr *teller) Event {
		if r := tr.st.Record; r != nil && r.N2 != nil {
			tr.was = *r.N2
		}
		return FromAccess{At: tr.was, Message: m(tr)}
	}}
}

func happens(name string, e Event) act {
	return act{name: name, event: func(*teller) Event { return e }}
}

// answers what was asked last.
func answers(name string, e func(Number) Event) act {
	return act{name: name, event: func(tr *teller) Event { return e(tr.st.live.awaited) }}
}

// smf answers what it was asked first of that session.
func smf(name string, id uint8, a SessionAnswer) act {
	return act{name: name, event: func(tr *teller) Event {
		tr.t.Helper()
		list := tr.st.live.sessions[id]
		if len(list) == 0 {
			tr.t.Fatalf("%s: the SMF of session %d was asked nothing", name, id)
		}
		a.Number = list[0].Number
		return a
	}}
}

// smfBusy: it cannot do now what it was asked of session 1, and says when it can.
func smfBusy(reject []byte) act {
	return smf("SMF: not now", 1, SessionAnswer{Outcome: Unsent, Status: 503, Cause: "NF_CONGESTION", RetryAfter: time.Second, N1: reject})
}

// pausedFor so long, before an SMF is asked again.
func pausedFor(d time.Duration) act {
	return act{name: "a while", later: d, event: func(tr *teller) Event { return Paused{Number: tr.st.live.sessions[1][0].Number} }}
}

func unprotected(m n1.Message) func(*teller) []byte {
	return func(tr *teller) []byte { return plain(tr.t, m) }
}

func protected(m n1.Message) func(*teller) []byte {
	return func(tr *teller) []byte { return tr.says(m, n1.IntegrityProtectedAndCiphered) }
}

func suci() n1.SUCI {
	return n1.SUCI{Home: n1.PLMN(plmnOf("20893")), Routing: "0", Scheme: n1.SchemeNull, MSIN: "0000000001"}
}

func (tr *teller) guti() n1.GUTI {
	return n1.GUTI{PLMN: n1.PLMN(plmnOf("20893")), Region: 1, Set: 1, Pointer: 1, TMSI: tr.st.Record.TMSI}
}

func registers(kind n1.RegistrationType, who n1.Identity) *n1.RegistrationRequest {
	return &n1.RegistrationRequest{RegistrationType: kind, FollowOn: true, KeySet: n1.NoKey, Identity: who, Security: ability, Requested: nssai([]record.Slice{eMBB})}
}

// ---- how UEs come to be somewhere ------------------------------------------------------------------------------

var (
	asksIn   = first("UE: Registration Request, SUCI", gnb1, 1, 1, unprotected(registers(n1.InitialRegistration, suci())))
	vector   = answers("AUSF: 5G-AKA vector", func(n Number) Event { return aka(n) })
	responds = says("UE: Authentication Response", unprotected(&n1.AuthenticationResponse{RES: resOf}))
	confirms = act{name: "AUSF: it is him", event: func(tr *teller) Event {
		return Confirmed{Number: tr.st.live.awaited, Outcome: Done, Success: true, SUPI: supi, KSEAF: tr.kseaf()}
	}}
	nobodyElse = answers("nobody else has that SUPI", func(n Number) Event { return Named{Number: n} })
	completes  = says("UE: Security Mode Complete", func(tr *teller) []byte { return tr.securityComplete(nil) })
	recorded   = answers("UDM: recorded", func(n Number) Event { return Recorded{Number: n, Outcome: Done} })
	// recordedToo has the subscription with it, which is asked for beside.
	recordedToo = answers("UDM: recorded, and the subscription", func(n Number) Event {
		s := subscription(n)
		return Recorded{Number: n, Outcome: Done, Subscription: &s}
	})
	subscribes = answers("UDM: subscription", func(n Number) Event { return subscription(n) })
	policed    = answers("PCF: policy", func(n Number) Event { return Policy{Number: n, Outcome: Done, URI: "http://pcf/policies/1"} })
	accepted   = says("UE: Registration Complete", protected(&n1.RegistrationComplete{}))
	contextSet = gnbSays("gNB: Initial Context Setup Response", func(tr *teller) n2.Message { return &n2.InitialContextSetupResponse{} })
)

func aka(n Number) Challenge {
	return Challenge{Number: n, Outcome: Done, Context: "http://ausf/1", RAND: randOf, AUTN: autnOf, HXRES: keys.HXRES(randOf, resOf)}
}

func subscription(n Number) Subscription {
	return Subscription{Number: n, Outcome: Done, GPSI: "msisdn-1", Slices: services, Uplink: 1e9, Downlink: 2e9, Notified: "http://udm/subscriptions/1"}
}

// kseaf is what the next authentication makes.
func (tr *teller) kseaf() []byte {
	tr.authentications++
	return bytes.Repeat([]byte{tr.authentications}, 32)
}

// securityComplete takes the coming context into use.
func (tr *teller) securityComplete(container []byte) []byte {
	tr.phone = phone{key: keys.AMF(bytes.Repeat([]byte{tr.authentications}, 32), supi, abba)}
	return tr.says(&n1.SecurityModeComplete{IMEISV: "4370816125816151", Container: container}, n1.IntegrityProtectedAndCipheredNewContext)
}

func registeredUE(tr *teller) {
	tr.lead(asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, policed, contextSet, accepted)
}

// withSession is a UE that is connected, with a PDU session whose user plane is up.
func withSession(tr *teller) {
	registeredUE(tr)
	tr.lead(
		says("UE: UL NAS Transport", protected(establishes(1))), smf("SMF: created", 1, created(1)),
		happens("SMF: accept", accept(1)), resourceSet(1), smf("SMF: updated", 1, SessionAnswer{Outcome: Done}),
	)
}

// idleUE has a PDU session, and is idle.
func idleUE(tr *teller) {
	withSession(tr)
	tr.lead(gnbReleases, released, smf("SMF: updated", 1, SessionAnswer{Outcome: Done, Connection: deactivated}))
}

func establishes(id uint8) *n1.ULNASTransport {
	return &n1.ULNASTransport{
		PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, id, 5, 0xc1, 0xff, 0xff}, SessionID: id, Request: n1.RequestInitial, DNN: "internet",
	}
}

func created(id uint8) SessionAnswer {
	return SessionAnswer{Outcome: Done, Context: fmt.Sprintf("http://smf-1/sm-contexts/%d", id), SMF: "smf-1"}
}

func accept(id uint8) Transfer {
	return Transfer{From: 7, Session: id, N1: []byte{0x2e, id, 5, 0xc2, 0x11}, Kind: 1, N2: []byte{1, 2, id}, N2Type: setupRequest}
}

func resourceSet(id uint8) act {
	return gnbSays("gNB: PDU Session Resource Setup Response", func(*teller) n2.Message {
		return &n2.PDUSessionResourceSetupResponse{Sessions: []n2.Session{{ID: id, Transfer: []byte{9, id}}}}
	})
}

var (
	gnbReleases = gnbSays("gNB: UE Context Release Request", func(*teller) n2.Message {
		return &n2.UEContextReleaseRequest{Sessions: []uint8{1}, Cause: ngapcause.UserInactivity}
	})
	released = gnbSays("gNB: UE Context Release Complete", func(*teller) n2.Message { return &n2.UEContextReleaseComplete{} })
)
