package procedure

import (
	"net/netip"
	"reflect"
	"testing"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

func setupOf(plmn string, tac n2.TAC, slices ...record.Slice) *n2.NGSetupRequest {
	return &n2.NGSetupRequest{
		Node: n2.RANNode{Kind: n2.GNB, PLMN: plmnOf(plmn), ID: 5, Bits: 22}, Name: "roof", DRX: n2.DRX128,
		TAs: []n2.SupportedTA{{TAC: tac, PLMNs: []n2.PLMNSlices{{PLMN: plmnOf(plmn), Slices: snssais(slices)}}}},
	}
}

// TS 38.413 8.7.
func TestGNB(t *testing.T) {
	settings := &Settings{Name: "AMF", Region: 1, Set: 2, Pointer: 3, Capacity: 200, PLMNs: []PLMN{{PLMN: "20893", TACs: []uint32{1, 2}, Slices: []record.Slice{eMBB}}}}
	known := HandleGNB(settings, nil, false, setupOf("20893", 1, eMBB)).GNB
	amf := n2.AMFUEID(7)
	served := &n2.NGSetupResponse{
		Name: "AMF", Capacity: 200, GUAMIs: []n2.ServedGUAMI{{GUAMI: n2.GUAMI{PLMN: plmnOf("20893"), Region: 1, Set: 2, Pointer: 3}}},
		PLMNs: []n2.PLMNSlices{{PLMN: plmnOf("20893"), Slices: []n2.SNSSAI{{SST: 1}}}},
	}
	retains := setupOf("20893", 1, eMBB)
	retains.Retention = true
	kept := *served
	kept.Retention = true
	doubtful := HandleGNB(settings, nil, false, retains).GNB
	ngENB := setupOf("20893", 1, eMBB)
	ngENB.Node.Kind = n2.MacroNgENB
	more := setupOf("20893", 9, eMBB)
	more.TAs = append(more.TAs, setupOf("20893", 2, eMBB).TAs...)
	transfer := n2.ConfigurationTransfer{SON: []byte{1}, Target: &n2.HandoverTarget{Node: n2.RANNode{Kind: n2.GNB, PLMN: plmnOf("20893"), ID: 6, Bits: 32}}}
	for name, c := range map[string]struct {
		from    *record.GNB
		kept    bool
		message n2.Message
		want    GNBOutput
		setUp   bool
	}{
		"a gNB sets itself up: it has no UEs": {message: setupOf("20893", 1, eMBB), kept: true, want: GNBOutput{Answer: served, Lost: true, SetUp: true, Configured: true}, setUp: true},
		"it has kept its UEs":                 {from: known, kept: true, message: retains, want: GNBOutput{Answer: &kept, SetUp: true, Configured: true}, setUp: true},
		"it has kept them over the loss of another association, and so has the AMF":  {kept: true, message: retains, want: GNBOutput{Answer: &kept, SetUp: true, Configured: true}, setUp: true},
		"it has kept them over the loss of another association, and the AMF has not": {message: retains, want: GNBOutput{Answer: served, Lost: true, SetUp: true, Configured: true}, setUp: true},
		"another PLMN":                       {message: setupOf("00101", 1, eMBB), want: GNBOutput{Answer: &n2.NGSetupFailure{Cause: ngapcause.UnknownPLMN, Wait: n2.Wait10s}, Refused: "none of its PLMNs is served"}},
		"another tracking area":              {message: setupOf("20893", 9, eMBB), want: GNBOutput{Answer: &n2.NGSetupFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait10s}, Refused: "none of its tracking areas is served"}},
		"one tracking area of two is enough": {message: more, want: GNBOutput{Answer: served, Lost: true, SetUp: true, Configured: true}, setUp: true},
		"no slice in common":                 {message: setupOf("20893", 1, guest), want: GNBOutput{Answer: &n2.NGSetupFailure{Cause: ngapcause.SliceNotSupported, Wait: n2.Wait10s}, Refused: "none of its slices is served"}},
		"another node than a gNB":            {message: ngENB, want: GNBOutput{Answer: &n2.NGSetupFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait60s}, Refused: "no gNB: no other access is served"}},
		"a refused one that was there: its UEs are lost": {from: known, message: setupOf("00101", 1, eMBB), want: GNBOutput{
			Answer: &n2.NGSetupFailure{Cause: ngapcause.UnknownPLMN, Wait: n2.Wait10s}, Refused: "none of its PLMNs is served", Lost: true,
		}},
		"something else first": {message: &n2.RANConfigurationUpdate{}, want: GNBOutput{
			Answer: &n2.RANConfigurationUpdateFailure{Cause: ngapcause.MessageNotCompatibleWithReceiver}, Refused: "NG Setup comes first",
		}},
		"what cannot fail first": {message: &n2.UplinkRANConfigurationTransfer{}, want: GNBOutput{
			Answer: n2.NewErrorIndication(&n2.UplinkRANConfigurationTransfer{}, ngapcause.MessageNotCompatibleWithReceiver), Refused: "NG Setup comes first",
		}},
		"an answer first":           {message: &n2.AMFConfigurationUpdateAcknowledge{}, want: GNBOutput{Refused: "NG Setup comes first"}},
		"an Error Indication first": {message: &n2.ErrorIndication{}, want: GNBOutput{Refused: "NG Setup comes first"}},
		"an answer of an AMF's":     {from: known, message: &n2.RANConfigurationUpdateAcknowledge{}, want: GNBOutput{Refused: "no message of a gNB"}, setUp: true},
		"another name":              {from: known, message: &n2.RANConfigurationUpdate{Name: "attic"}, want: GNBOutput{Answer: &n2.RANConfigurationUpdateAcknowledge{}, Configured: true}, setUp: true},
		"tracking areas that are not served": {from: known, message: &n2.RANConfigurationUpdate{TAs: setupOf("20893", 9, eMBB).TAs}, want: GNBOutput{
			Answer: &n2.RANConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait10s}, Refused: "none of its tracking areas is served",
		}, setUp: true},
		"a reset of all": {from: known, message: &n2.NGReset{}, want: GNBOutput{Answer: &n2.NGResetAcknowledge{}, Lost: true}, setUp: true},
		"a reset of one": {from: known, message: &n2.NGReset{Connections: []n2.UEConnection{{AMF: amf, HasAMF: true}}}, want: GNBOutput{
			Answer: &n2.NGResetAcknowledge{Connections: []n2.UEConnection{{AMF: amf, HasAMF: true}}}, Reset: []n2.UEConnection{{AMF: amf, HasAMF: true}},
		}, setUp: true},
		"for another gNB": {from: known, message: &n2.UplinkRANConfigurationTransfer{ConfigurationTransfer: transfer}, want: GNBOutput{
			Relay: &n2.DownlinkRANConfigurationTransfer{ConfigurationTransfer: transfer}, Target: "20893-00000006/32",
		}, setUp: true},
		"an error": {from: known, message: &n2.ErrorIndication{}, setUp: true},
		"a message that concerns a UE": {from: known, message: &n2.UplinkNASTransport{}, want: GNBOutput{
			Answer: n2.NewErrorIndication(&n2.UplinkNASTransport{}, ngapcause.MessageNotCompatibleWithReceiver), Refused: "no message of a gNB",
		}, setUp: true},
	} {
		got := HandleGNB(settings, c.from, c.kept, c.message)
		if (got.GNB != nil) != c.setUp {
			t.Errorf("%s: set up %t", name, got.GNB != nil)
		}
		got.GNB = nil
		if !reflect.DeepEqual(c.want, got) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got))
		}
	}
	for name, c := range map[string]struct {
		from    *record.GNB
		kept    bool
		message n2.Message
		want    bool
	}{
		"it has kept its UEs, and the AMF has not": {message: retains, want: true},
		"it has kept none":                         {message: setupOf("20893", 1, eMBB)},
		"both have":                                {kept: true, message: retains},
		"it sets itself up again":                  {from: doubtful, message: retains, want: true},
		"it has heard of the AMF":                  {from: doubtful, message: &n2.AMFConfigurationUpdateAcknowledge{}},
		"it refuses to":                            {from: doubtful, message: &n2.AMFConfigurationUpdateFailure{}},
		"it resets":                                {from: doubtful, message: &n2.NGReset{}},
	} {
		switch got := HandleGNB(settings, c.from, c.kept, c.message).GNB; {
		case got.Doubtful != c.want:
			t.Errorf("%s: doubtful %t", name, got.Doubtful)
		case got.Doubtful && got.Told != 0:
			t.Errorf("%s: and is not told of the AMF, so it says nothing", name)
		}
	}
	for name, c := range map[string]struct{ asked, want uint8 }{
		"it was asked for nothing":       {},
		"it was asked to refuse UEs":     {40, record.UnsureReduction},
		"nobody knows what it was asked": {record.UnsureReduction, record.UnsureReduction},
	} {
		from := *known
		from.Reduction = c.asked
		if got := HandleGNB(settings, &from, false, setupOf("20893", 1, eMBB)).GNB.Reduction; got != c.want {
			t.Errorf("%s, and it sets itself up again, which it may have done before it heard that: %d %%, want %d", name, got, c.want)
		}
	}
	if !doubtful.Doubtful {
		t.Error("what others read was changed")
	}
	if got := HandleGNB(settings, known, false, &n2.RANConfigurationUpdate{Name: "attic"}).GNB; got.Name != "attic" || known.Name != "roof" || got.DRX != 128 {
		t.Errorf("%+v of %+v", got, known)
	}
}

// TS 38.413 9.2.6.2 has a slice with each PLMN at least: NG Setup is answered whatever the settings have.
func TestAPLMNWithoutSlices(t *testing.T) {
	for name, c := range map[string]struct {
		plmns []PLMN
		want  []string // that it hears of; none: it is refused
	}{
		"one of two":   {[]PLMN{{PLMN: "00101"}, {PLMN: "20893", Slices: []record.Slice{eMBB}}}, []string{"20893"}},
		"the only one": {[]PLMN{{PLMN: "20893"}}, nil},
	} {
		out := HandleGNB(&Settings{Name: "AMF", PLMNs: c.plmns}, nil, false, setupOf("20893", 1, eMBB))
		if _, err := n2.Write(out.Answer); err != nil {
			t.Errorf("%s: NG Setup cannot be answered: %v", name, err)
		}
		var got []string
		switch m := out.Answer.(type) {
		case *n2.NGSetupResponse:
			for _, p := range m.PLMNs {
				got = append(got, plmnText(p.PLMN))
			}
			if len(m.GUAMIs) != len(got) {
				t.Errorf("%s: %d GUAMIs of %d PLMNs", name, len(m.GUAMIs), len(got))
			}
		case *n2.NGSetupFailure:
			if m.Cause != ngapcause.SliceNotSupported {
				t.Errorf("%s: cause %v", name, m.Cause)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each PLMN has tracking areas and slices of its own, and the gNB hears of all of them.
func TestGNBOfPLMNsThatDiffer(t *testing.T) {
	settings := &Settings{Name: "AMF", PLMNs: []PLMN{
		{PLMN: "20893", TACs: []uint32{1}, Slices: []record.Slice{eMBB}}, {PLMN: "00101", TACs: []uint32{11}, Slices: []record.Slice{guest}},
	}}
	for name, c := range map[string]struct {
		setup   *n2.NGSetupRequest
		refused string
	}{
		"of the first":                       {setupOf("20893", 1, eMBB), ""},
		"of the second":                      {setupOf("00101", 11, guest), ""},
		"a tracking area of the other PLMN":  {setupOf("00101", 1, guest), "none of its tracking areas is served"},
		"a slice of the other PLMN":          {setupOf("00101", 11, eMBB), "none of its slices is served"},
		"neither, where the first has both":  {setupOf("00101", 1, eMBB), "none of its tracking areas is served"},
		"a slice of the second in the first": {setupOf("20893", 1, guest), "none of its slices is served"},
	} {
		out := HandleGNB(settings, nil, false, c.setup)
		if out.Refused != c.refused {
			t.Errorf("%s: refused %q, want %q", name, out.Refused, c.refused)
		}
		if m, is := out.Answer.(*n2.NGSetupResponse); is {
			want := []n2.PLMNSlices{{PLMN: plmnOf("20893"), Slices: snssais([]record.Slice{eMBB})}, {PLMN: plmnOf("00101"), Slices: snssais([]record.Slice{guest})}}
			if diff := cmp.Diff(want, m.PLMNs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestAnnounce(t *testing.T) {
	was := &Settings{Name: "AMF", Capacity: 255, PLMNs: []PLMN{{PLMN: "20893", Slices: []record.Slice{eMBB}}}}
	set := HandleGNB(was, nil, false, setupOf("20893", 1, eMBB)).GNB
	update := func(s *Settings) *n2.AMFConfigurationUpdate {
		guamis, plmns := s.served()
		return &n2.AMFConfigurationUpdate{Name: s.Name, Capacity: &s.Capacity, GUAMIs: guamis, PLMNs: plmns}
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		told   func(*record.GNB)
		tells  bool
	}{
		"as it has heard":                       {},
		"what it does not hear":                 {change: func(s *Settings) { s.FullName, s.Voice = "world", true }},
		"another name":                          {change: func(s *Settings) { s.Name = "another" }, tells: true},
		"another capacity":                      {change: func(s *Settings) { s.Capacity = 1 }, tells: true},
		"a slice more":                          {change: func(s *Settings) { s.PLMNs = []PLMN{{PLMN: "20893", Slices: []record.Slice{eMBB, ioT}}} }, tells: true},
		"another pointer":                       {change: func(s *Settings) { s.Pointer = 3 }, tells: true},
		"nobody has noted what it has heard of": {told: func(g *record.GNB) { g.Told = 0 }, tells: true},
	} {
		is, g := *was, *set
		if c.change != nil {
			c.change(&is)
		}
		if c.told != nil {
			c.told(&g)
		}
		m, told := Announce(&is, &g)
		if !c.tells {
			if m != nil {
				t.Errorf("%s: %v is told", name, m)
			}
			continue
		}
		if diff := cmp.Diff(n2.Message(update(&is)), m); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		g.Told = told
		if m, _ := Announce(&is, &g); m != nil {
			t.Errorf("%s: it is told a second time", name)
		}
	}
}

// TS 38.413 8.7.6: before an AMF goes for good, its gNBs hear so, once, and hear of it again where it stays.
func TestAnnounceOfAnAMFThatGoes(t *testing.T) {
	was := &Settings{Name: "AMF", Capacity: 255, PLMNs: []PLMN{{PLMN: "20893", Slices: []record.Slice{eMBB}}}}
	g := *HandleGNB(was, nil, false, setupOf("20893", 1, eMBB)).GNB
	gone := *was
	gone.Removed = true
	m, told := Announce(&gone, &g)
	want := n2.Message(&n2.AMFStatusIndication{GUAMIs: []n2.UnavailableGUAMI{{GUAMI: n2.GUAMI{PLMN: plmnOf("20893")}, Timer: true}}})
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("the AMF goes (-want +got):\n%s", diff)
	}
	g.Told = told
	if m, _ := Announce(&gone, &g); m != nil {
		t.Errorf("it goes still, and %v is told", m)
	}
	if m, _ := Announce(was, &g); m == nil {
		t.Error("it is there again, and nothing is told")
	}
}

// TS 23.501 5.15.5.2.1.
func TestSelectSlices(t *testing.T) {
	all := []record.Slice{eMBB, ioT, guest}
	sub := []SubscribedSlice{{Slice: eMBB, Default: true}, {Slice: ioT}}
	for name, c := range map[string]struct {
		asked, here, catalogue []record.Slice
		allowed                []record.Slice
		rejected               []record.Rejected
	}{
		"nothing asked: the default":                      {here: all, catalogue: all, allowed: []record.Slice{eMBB}},
		"what is asked, in its order":                     {asked: []record.Slice{ioT, eMBB}, here: all, catalogue: all, allowed: []record.Slice{ioT, eMBB}},
		"one that is not subscribed to":                   {asked: []record.Slice{guest, ioT}, here: all, catalogue: all, allowed: []record.Slice{ioT}, rejected: []record.Rejected{{Slice: guest, Cause: notInPLMN}}},
		"only one that is not subscribed to: the default": {asked: []record.Slice{guest}, here: all, catalogue: all, allowed: []record.Slice{eMBB}, rejected: []record.Rejected{{Slice: guest, Cause: notInPLMN}}},
		"one that the tracking area has not":              {asked: []record.Slice{ioT, eMBB}, here: []record.Slice{eMBB}, catalogue: all, allowed: []record.Slice{eMBB}, rejected: []record.Rejected{{Slice: ioT, Cause: notInArea}}},
		"one that the catalogue has not":                  {asked: []record.Slice{ioT}, here: all, catalogue: []record.Slice{eMBB}, allowed: []record.Slice{eMBB}, rejected: []record.Rejected{{Slice: ioT, Cause: notInPLMN}}},
		"none at all":                                     {asked: []record.Slice{ioT}, here: []record.Slice{guest}, catalogue: all, rejected: []record.Rejected{{Slice: ioT, Cause: notInArea}}},
		"an SST alone is not one with an SD":              {asked: []record.Slice{{SST: 2}}, here: all, catalogue: all, allowed: []record.Slice{eMBB}, rejected: []record.Rejected{{Slice: record.Slice{SST: 2}, Cause: notInPLMN}}},
		"asked twice":                                     {asked: []record.Slice{eMBB, eMBB}, here: all, catalogue: all, allowed: []record.Slice{eMBB}},
	} {
		got := selectSlices(c.asked, sub, c.here, c.catalogue)
		if diff := cmp.Diff(c.allowed, got.allowed); diff != "" {
			t.Errorf("%s: allowed (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.rejected, got.rejected); diff != "" {
			t.Errorf("%s: rejected (-want +got):\n%s", name, diff)
		}
	}
}

// GPRS timer 3 says what the UE's T3512 says.
func TestGPRSTimer3(t *testing.T) {
	for seconds, want := range map[uint32]uint8{0: 7 << 5, 2: 3<<5 | 1, 60: 3<<5 | 30, 120: 4<<5 | 4, 1800: 5<<5 | 30, 3600: 0<<5 | 6, 36000: 1<<5 | 10, 360000: 2<<5 | 10} {
		if got := gprsTimer3(seconds); got != want {
			t.Errorf("%d s: %#x, want %#x", seconds, got, want)
		}
	}
}

// TS 38.412 7, TS 38.413 8.7.2.2: an association more for an interface that there is.
func TestJoin(t *testing.T) {
	settings := &Settings{Name: "AMF", PLMNs: []PLMN{{PLMN: "20893", TACs: []uint32{1, 2}, Slices: []record.Slice{eMBB}}}}
	first := HandleGNB(settings, nil, false, setupOf("20893", 1, eMBB)).GNB
	first.Terminator, first.Association, first.Reduction, first.Doubtful = "n2-0/1", 4, 30, true
	node := setupOf("20893", 1, eMBB).Node
	for name, c := range map[string]struct {
		of   *record.GNB
		tac  n2.TAC
		want n2.Message
	}{
		"it is what it was":                     {of: first, want: &n2.RANConfigurationUpdateAcknowledge{}},
		"with another tracking area":            {of: first, tac: 2, want: &n2.RANConfigurationUpdateAcknowledge{}},
		"with one that is not served":           {of: first, tac: 9, want: &n2.RANConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait10s}},
		"nobody knows of one that it has":       {want: &n2.RANConfigurationUpdateFailure{Cause: ngapcause.MessageNotCompatibleWithReceiver, Wait: n2.Wait1s}},
		"it has joined one that has joined one": {of: &record.GNB{PLMN: "20893", ID: 5, Bits: 22, Interface: first.Root(), Terminator: "n2-1/1", Association: 9}, want: &n2.RANConfigurationUpdateAcknowledge{}},
	} {
		m := &n2.RANConfigurationUpdate{Node: &node}
		if c.tac != 0 {
			m.TAs = setupOf("20893", c.tac, eMBB).TAs
		}
		got := Join(settings, c.of, m)
		if !reflect.DeepEqual(c.want, got.Answer) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got.Answer))
		}
		_, taken := c.want.(*n2.RANConfigurationUpdateAcknowledge)
		if got.Lost || got.SetUp || got.Configured != taken || (got.GNB != nil) != taken {
			t.Errorf("%s: %+v", name, got)
		}
		if g := got.GNB; g != nil && (g.Interface != first.Root() || g.Key() != first.Key() || g.Doubtful || g.Reduction != record.UnsureReduction || g.Told != 0 || c.tac != 0 && g.Areas[0].TAC != uint32(c.tac)) {
			t.Errorf("%s: it is %+v", name, g)
		}
	}
	joined := Join(settings, first, &n2.RANConfigurationUpdate{Node: &node}).GNB
	if again := HandleGNB(settings, joined, false, setupOf("20893", 1, eMBB)).GNB; again.Interface != joined.Interface {
		t.Errorf("the interface is set up anew, and the association is of %x", again.Interface)
	}
}

func TestBetween(t *testing.T) {
	four := func(s string) n2.Address { return n2.Address{IPv4: netip.MustParseAddr(s)} }
	six := n2.Address{IPv6: netip.MustParseAddr("2001:db8::1")}
	g := &record.GNB{Peer: "192.0.2.1/192.0.2.2:40000", Here: "[2001:db8::1]/198.51.100.7:38412"}
	for name, c := range map[string]struct {
		pair n2.AssociationPair
		want bool
	}{
		"its address":                     {n2.AssociationPair{RAN: four("192.0.2.2")}, true},
		"another one":                     {n2.AssociationPair{RAN: four("192.0.2.3")}, false},
		"both ends":                       {n2.AssociationPair{RAN: four("192.0.2.1"), AMF: new(four("198.51.100.7"))}, true},
		"both, of IPv4 and IPv6":          {n2.AssociationPair{RAN: four("192.0.2.1"), AMF: &six}, true},
		"its own, and another of the AMF": {n2.AssociationPair{RAN: four("192.0.2.1"), AMF: new(four("198.51.100.8"))}, false},
		"no address":                      {n2.AssociationPair{}, false},
	} {
		if got := Between(g, c.pair); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if Between(&record.GNB{Peer: "gnb"}, n2.AssociationPair{RAN: four("192.0.2.1")}) {
		t.Error("one whose ends are not known")
	}
}
