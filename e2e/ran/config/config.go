package config

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
	"core5g.dev/core5g/images/session-management/n1"
)

// MaxUEs is how many UEs one entry of ues may stand for.
const MaxUEs = 10000

// File is the YAML of `ran run`.
type File struct {
	GNB     GNB    `json:"gnb"`
	Control string `json:"control,omitempty"` // "host:port" or "unix:/path"; default 127.0.0.1:8082
	Health  string `json:"health,omitempty"`  // "host:port" of /healthz and /readyz; default :8081
	Device  string `json:"device,omitempty"`  // tun (default), netns, none
	UEs     []UE   `json:"ues"`
	// Neighbours are more gNBs, to hand over to. What one leaves out of plmn, tac, slices, amf and onLoss is as in gnb.
	Neighbours []GNB `json:"neighbours,omitempty"`
}

// GNB is the gNB's part.
type GNB struct {
	Name   string   `json:"name"`
	ID     uint32   `json:"id"`
	PLMN   PLMN     `json:"plmn"`
	TAC    string   `json:"tac"` // six hexadecimal digits
	Slices []SNSSAI `json:"slices"`
	AMF    []string `json:"amf"`
	N3     N3       `json:"n3"`
	OnLoss string   `json:"onLoss,omitempty"` // of N2: keep (default), release, retain
	Joins  bool     `json:"joins,omitempty"`  // the AMF's addresses that it is told of
}

// PLMN is a network's name; both parts are strings, because leading zeros count.
type PLMN struct {
	MCC string `json:"mcc"`
	MNC string `json:"mnc"`
}

// SNSSAI is a slice's name.
type SNSSAI struct {
	SST int    `json:"sst"`
	SD  string `json:"sd,omitempty"` // six hexadecimal digits
}

// N3 is the gNB's end of N3.
type N3 struct {
	// Interface is waited for at start, and its offloads are turned off; "" leaves that to others.
	Interface string `json:"interface,omitempty"`
	Address   string `json:"address"`
}

// UE is one UE, or count of them with SUPIs counted up.
type UE struct {
	SUPI      string    `json:"supi"`
	Count     int       `json:"count,omitempty"`
	K         string    `json:"k"`
	OPc       string    `json:"opc,omitempty"`
	OP        string    `json:"op,omitempty"`
	SQN       string    `json:"sqn,omitempty"` // hexadecimal
	IMEISV    string    `json:"imeisv,omitempty"`
	SUCI      SUCI      `json:"suci,omitempty"`
	Requested []SNSSAI  `json:"requestedNSSAI,omitempty"`
	Sessions  []Session `json:"sessions,omitempty"`
	Cell      string    `json:"cell,omitempty"` // name of the gNB where it is switched on; default: the first
	Autostart bool      `json:"autostart,omitempty"`
	Recover   *bool     `json:"recover,omitempty"` // default true
}

// SUCI says how the UE conceals its SUPI.
type SUCI struct {
	Scheme           string `json:"scheme,omitempty"`    // "null" (default), A, B
	PublicKey        string `json:"publicKey,omitempty"` // hexadecimal
	PublicKeyID      int    `json:"publicKeyID,omitempty"`
	RoutingIndicator string `json:"routingIndicator,omitempty"` // one to four digits; default "0"
}

// Session is one PDU session.
type Session struct {
	ID     int    `json:"id,omitempty"` // default: its place in the list, from 1
	SNSSAI SNSSAI `json:"snssai"`
	DNN    string `json:"dnn"`
	QFI    int    `json:"qfi,omitempty"`

	Type       string `json:"type,omitempty"` // IPv4 (default), IPv6, IPv4v6, Ethernet; Unstructured to be refused
	AlwaysOn   bool   `json:"alwaysOn,omitempty"`
	PCSCF      bool   `json:"pcscf,omitempty"`
	MaxFilters int    `json:"maxFilters,omitempty"` // packet filters supported; default 16, which is not told
}

// Config is the checked result.
type Config struct {
	GNB         gnb.Config
	N3Interface string
	N3Address   netip.Addr
	Control     string
	Health      string
	Device      string
	UEs         []ue.Config
	Neighbours  []Cell
}

// Cell is one gNB with its end of N3.
type Cell struct {
	GNB         gnb.Config
	N3Interface string
	N3Address   netip.Addr
}

// Cells lists all gNBs, the first one first.
func (c *Config) Cells() []Cell {
	return append([]Cell{{c.GNB, c.N3Interface, c.N3Address}}, c.Neighbours...)
}

// problem is one refusal: where, and what to write.
type problem struct{ key, say string }

type problems []problem

func (p *problems) add(key, format string, args ...any) {
	*p = append(*p, problem{key, fmt.Sprintf(format, args...)})
}

func (p problems) err(file string) error {
	var errs []error
	for _, x := range p {
		errs = append(errs, fmt.Errorf("%s: %s: %s", file, x.key, x.say))
	}
	return errors.Join(errs...)
}

// Load reads and checks a file.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse checks YAML; file names it in errors.
func Parse(file string, b []byte) (*Config, error) {
	var f File
	if err := Strict(b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var p problems
	c := f.check(&p)
	if err := p.err(file); err != nil {
		return nil, err
	}
	return c, nil
}

// Strict reads YAML without the conversions that YAML libraries are fond of: an unquoted 000001 is a
// number, and not good for a string. Unknown and repeated keys are refused by their full names.
func Strict(b []byte, v any) error {
	asJSON, err := yaml.YAMLToJSONStrict(b)
	if err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(asJSON, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: a %s where a %s belongs; put a text into quotes", wrong.Field, wrong.Value, wrong.Type)
	}
	return errors.Join(append(unknown, err)...)
}

var (
	digits3   = regexp.MustCompile(`^\d{3}$`)
	digits2or = regexp.MustCompile(`^\d{2,3}$`)
	hex6      = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)
	supi      = regexp.MustCompile(`^imsi-\d{6,15}$`)
	imeisv    = regexp.MustCompile(`^\d{16}$`)
	routing   = regexp.MustCompile(`^\d{1,4}$`)
	dnn       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
)

func (f *File) check(p *problems) *Config {
	c := &Config{Control: f.Control, Health: f.Health, Device: f.Device}
	if c.Control == "" {
		c.Control = "127.0.0.1:8082"
	}
	if c.Health == "" {
		c.Health = ":8081"
	}
	switch c.Device {
	case "":
		c.Device = "tun"
	case "tun", "netns", "none":
	default:
		p.add("device", "%q is not one of tun, netns, none", c.Device)
	}
	c.GNB = f.GNB.check(p)
	c.N3Interface = f.GNB.N3.Interface
	var err error
	if c.N3Address, err = netip.ParseAddr(f.GNB.N3.Address); err != nil || !c.N3Address.Is4() {
		p.add("gnb.n3.address", "%q is not an IPv4 address; write the gNB's own on N3, such as 172.30.3.100", f.GNB.N3.Address)
	}
	f.neighbours(p, c)
	names := map[string]bool{"": true}
	for _, x := range c.Cells() {
		names[x.GNB.Name] = true
	}
	seen := map[string]string{}
	for i := range f.UEs {
		if !names[f.UEs[i].Cell] {
			p.add(fmt.Sprintf("ues[%d].cell", i), "%q is the name of no gNB here", f.UEs[i].Cell)
		}
		key := fmt.Sprintf("ues[%d]", i)
		for _, u := range f.UEs[i].Check(key, f.GNB.PLMN, p.add) {
			if other, twice := seen[u.SUPI]; twice {
				p.add(key+".supi", "%s is also in %s; give each UE its own SUPI", u.SUPI, other)
				continue
			}
			seen[u.SUPI] = key
			c.UEs = append(c.UEs, u)
		}
	}
	return c
}

// neighbours checks the other gNBs.
func (f *File) neighbours(p *problems, c *Config) {
	for i, g := range f.Neighbours {
		key := fmt.Sprintf("neighbours[%d]", i)
		if g.Name == "" {
			g.Name = fmt.Sprintf("%s-%d", c.GNB.Name, i+2)
		}
		if g.PLMN == (PLMN{}) {
			g.PLMN = f.GNB.PLMN
		}
		if g.TAC == "" {
			g.TAC = f.GNB.TAC
		}
		if g.Slices == nil {
			g.Slices = f.GNB.Slices
		}
		if g.AMF == nil {
			g.AMF = f.GNB.AMF
		}
		if g.OnLoss == "" {
			g.OnLoss = f.GNB.OnLoss
		}
		if g.N3.Interface == "" {
			g.N3.Interface = f.GNB.N3.Interface
		}
		x := Cell{GNB: g.checkAs(key, p), N3Interface: g.N3.Interface}
		var err error
		if x.N3Address, err = netip.ParseAddr(g.N3.Address); err != nil || !x.N3Address.Is4() {
			p.add(key+".n3.address", "%q is not an IPv4 address; write the gNB's own on N3, such as 172.30.3.101", g.N3.Address)
		}
		for _, other := range c.Cells() {
			switch {
			case other.GNB.ID == x.GNB.ID:
				p.add(key+".id", "%d is the ID of %s; give each gNB its own", x.GNB.ID, other.GNB.Name)
			case other.GNB.Name == x.GNB.Name:
				p.add(key+".name", "%q is there twice; give each gNB its own name", x.GNB.Name)
			case other.N3Address == x.N3Address:
				p.add(key+".n3.address", "%s is the address of %s; give each gNB its own", x.N3Address, other.GNB.Name)
			}
		}
		c.Neighbours = append(c.Neighbours, x)
	}
}

func (g *GNB) check(p *problems) gnb.Config { return g.checkAs("gnb", p) }

func (g *GNB) checkAs(key string, p *problems) gnb.Config {
	out := gnb.Config{Name: g.Name, ID: g.ID, MCC: g.PLMN.MCC, MNC: g.PLMN.MNC, AMF: g.AMF, OnLoss: gnb.LossMode(g.OnLoss), Joins: g.Joins}
	switch out.OnLoss {
	case "", gnb.Keep, gnb.Release, gnb.Retain:
	default:
		p.add(key+".onLoss", "%q is not one of keep, release, retain", g.OnLoss)
	}
	if g.Name == "" {
		out.Name = "core5g-gnb"
	}
	if g.ID == 0 || g.ID > 0xFFFFFF {
		p.add(key+".id", "%d is not a gNB ID; write 1 to 16777215", g.ID)
	}
	if !digits3.MatchString(g.PLMN.MCC) {
		p.add(key+".plmn.mcc", `%q is not three digits; write a string such as "208"`, g.PLMN.MCC)
	}
	if !digits2or.MatchString(g.PLMN.MNC) {
		p.add(key+".plmn.mnc", `%q is not two or three digits; write a string such as "93"`, g.PLMN.MNC)
	}
	if hex6.MatchString(g.TAC) {
		b, _ := hex.DecodeString(g.TAC)
		copy(out.TAC[:], b)
	} else {
		p.add(key+".tac", `%q is not six hexadecimal digits; write a string such as "000001"`, g.TAC)
	}
	if len(g.Slices) == 0 {
		p.add(key+".slices", `the list is empty; write the slices of the cell, such as [{sst: 1, sd: "010203"}]`)
	}
	for i, s := range g.Slices {
		out.Slices = append(out.Slices, s.check(fmt.Sprintf("%s.slices[%d]", key, i), p.add))
	}
	if len(g.AMF) == 0 {
		p.add(key+".amf", "the list is empty; write at least one host:port, such as core5g-amf-n2:38412")
	}
	for i, a := range g.AMF {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			p.add(fmt.Sprintf("%s.amf[%d]", key, i), "%q is not host:port; write for example core5g-amf-n2:38412", a)
		}
	}
	return out
}

// Check turns a slice's name into the UE's form.
func (s SNSSAI) Check(key string, say func(string, string, ...any)) uenas.SNSSAI {
	return s.check(key, say)
}

func (s SNSSAI) check(key string, add func(string, string, ...any)) uenas.SNSSAI {
	if s.SST < 1 || s.SST > 255 {
		add(key+".sst", "%d is not a slice/service type; write 1 to 255", s.SST)
	}
	out := uenas.SNSSAI{SST: uint8(s.SST)}
	if s.SD == "" {
		return out
	}
	if !hex6.MatchString(s.SD) {
		add(key+".sd", `%q is not six hexadecimal digits; write a string such as "010203", or leave it out`, s.SD)
		return out
	}
	b, _ := hex.DecodeString(s.SD)
	out.HasSD = true
	copy(out.SD[:], b)
	return out
}

// Check turns one entry into its UEs. K, OPc and OP never appear in what it says.
func (u *UE) Check(key string, plmn PLMN, add func(key, format string, args ...any)) []ue.Config {
	bad := false
	say := func(k, format string, args ...any) { bad = true; add(k, format, args...) }
	c := ue.Config{MCC: plmn.MCC, MNC: plmn.MNC, IMEISV: u.IMEISV, Cell: u.Cell, Autostart: u.Autostart, Recover: u.Recover == nil || *u.Recover}
	if !supi.MatchString(u.SUPI) {
		say(key+".supi", `%q is not a SUPI; write "imsi-" and up to 15 digits, such as imsi-208930000000001`, u.SUPI)
	} else if !strings.HasPrefix(u.SUPI, "imsi-"+plmn.MCC+plmn.MNC) {
		say(key+".supi", "%s is not of PLMN %s/%s; write a SUPI that begins with imsi-%s%s", u.SUPI, plmn.MCC, plmn.MNC, plmn.MCC, plmn.MNC)
	}
	var err error
	if c.K, err = usim.ParseKey128(u.K); err != nil {
		say(key+".k", "%v", err)
	}
	switch {
	case u.OPc != "" && u.OP != "":
		say(key+".op", "OP and OPc are both given; write one of them")
	case u.OP != "":
		op, err := usim.ParseKey128(u.OP)
		if err != nil {
			say(key+".op", "%v", err)
		} else if c.OPc, err = usim.DeriveOPc(c.K, op); err != nil {
			say(key+".op", "%v", err)
		}
	default:
		if c.OPc, err = usim.ParseKey128(u.OPc); err != nil {
			say(key+".opc", "%v", err)
		}
	}
	if u.SQN != "" {
		if c.SQN, err = strconv.ParseUint(u.SQN, 16, 48); err != nil {
			say(key+".sqn", "%q is not a sequence number; write up to 12 hexadecimal digits", u.SQN)
		}
	}
	if c.IMEISV == "" {
		c.IMEISV = "4370816125816151"
	} else if !imeisv.MatchString(c.IMEISV) {
		say(key+".imeisv", "%q is not an IMEISV; write 16 digits", u.IMEISV)
	}
	u.SUCI.check(key+".suci", &c, say)
	for i, s := range u.Requested {
		c.Requested = append(c.Requested, s.check(fmt.Sprintf("%s.requestedNSSAI[%d]", key, i), say))
	}
	if len(u.Requested) > 8 {
		say(key+".requestedNSSAI", "%d slices; a UE may request 8 at most", len(u.Requested))
	}
	ids := map[uint8]bool{}
	for i, s := range u.Sessions {
		k := fmt.Sprintf("%s.sessions[%d]", key, i)
		if s.ID == 0 {
			s.ID = i + 1
		}
		x := s.Check(k, say)
		if ids[x.PSI] {
			say(k+".id", "PDU session %d is there twice; give each session its own id", x.PSI)
		}
		ids[x.PSI] = true
		c.Sessions = append(c.Sessions, x)
	}
	if len(c.Sessions) == 0 && len(c.Requested) == 0 {
		say(key+".sessions", `there is neither a session nor a requested slice; write for example [{snssai: {sst: 1, sd: "010203"}, dnn: internet}]`)
	}
	if u.Count < 0 || u.Count > MaxUEs {
		say(key+".count", "%d is not a number of UEs; write 1 to %d", u.Count, MaxUEs)
	}
	if bad {
		return nil
	}
	out := make([]ue.Config, 0, max(u.Count, 1))
	digits := strings.TrimPrefix(u.SUPI, "imsi-")
	first, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		say(key+".supi", "%v", err)
		return nil
	}
	for i := range max(u.Count, 1) {
		x := c
		next := fmt.Sprintf("%0*d", len(digits), first+uint64(i))
		if len(next) != len(digits) || !strings.HasPrefix(next, plmn.MCC+plmn.MNC) {
			say(key+".count", "counting %d UEs up from %s leaves the PLMN; write a lower first SUPI or a lower count", u.Count, u.SUPI)
			return nil
		}
		x.SUPI = "imsi-" + next
		out = append(out, x)
	}
	return out
}

func (s *SUCI) check(key string, c *ue.Config, say func(string, string, ...any)) {
	c.Routing = s.RoutingIndicator
	if c.Routing == "" {
		c.Routing = "0"
	} else if !routing.MatchString(c.Routing) {
		say(key+".routingIndicator", "%q is not one to four digits", s.RoutingIndicator)
	}
	scheme, known := map[string]usim.Scheme{"": usim.NullScheme, "null": usim.NullScheme, "A": usim.ProfileA, "B": usim.ProfileB}[s.Scheme]
	if !known {
		say(key+".scheme", `%q is not one of "null" (in quotes), A, B`, s.Scheme)
		return
	}
	if s.PublicKeyID < 0 || s.PublicKeyID > 255 {
		say(key+".publicKeyID", "%d is not a home network public key identifier; write 0 to 255", s.PublicKeyID)
	}
	raw, err := hex.DecodeString(s.PublicKey)
	if err == nil {
		c.HomeKey, err = usim.ParseHomeNetworkKey(scheme, uint8(s.PublicKeyID), raw)
	}
	if err != nil {
		say(key+".publicKey", "%v; write the public key in hexadecimal (A: 64 digits; B: 66, compressed)", err)
	}
}

var sessionTypes = map[string]n1.SessionType{
	"": n1.IPv4, "IPv4": n1.IPv4, "IPv6": n1.IPv6, "IPv4v6": n1.IPv4v6, "Ethernet": n1.Ethernet, "Unstructured": n1.Unstructured,
}

// Check turns a session into the UE's form.
func (s Session) Check(key string, say func(string, string, ...any)) ue.SessionConfig {
	if s.ID < 1 || s.ID > 15 {
		say(key+".id", "%d is not a PDU session identity; write 1 to 15", s.ID)
	}
	if !dnn.MatchString(s.DNN) || len(s.DNN) > 99 {
		say(key+".dnn", "%q is not a data network name; write labels of letters, digits and hyphens, such as internet", s.DNN)
	}
	if s.QFI < 0 || s.QFI > 63 {
		say(key+".qfi", "%d is not a QoS flow identifier; write 1 to 63, or leave it out", s.QFI)
	}
	kind, known := sessionTypes[s.Type]
	if !known {
		say(key+".type", "%q is not one of IPv4, IPv6, IPv4v6, Ethernet, Unstructured", s.Type)
	}
	if s.MaxFilters != 0 && (s.MaxFilters < 17 || s.MaxFilters > 1024) {
		say(key+".maxFilters", "%d is not a number of packet filters that can be told; write 17 to 1024, or leave it out for 16", s.MaxFilters)
	}
	return ue.SessionConfig{
		PSI: uint8(s.ID), Slice: s.SNSSAI.check(key+".snssai", say), DNN: s.DNN, QFI: uint8(s.QFI),
		Type: kind, AlwaysOn: s.AlwaysOn, PCSCF: s.PCSCF, MaxFilters: uint16(s.MaxFilters),
	}
}
