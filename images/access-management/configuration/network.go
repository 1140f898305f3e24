package configuration

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// Network is what somebody has written of a network. What is left at its zero value but Region, Set, Pointer and Capacity, is the default.
type Network struct {
	// Name of the AMF.
	Name string
	// Region, Set and Pointer of the GUAMI: 0 to 255, 0 to 1023, 0 to 63.
	Region, Set, Pointer int
	// Capacity relative to other AMFs, 0 to 255.
	Capacity int
	// PLMNs in five or six digits, TACs in each of them, none for all that gNBs have, and the catalogue of slices.
	PLMNs     []string
	TACs      []uint32
	Catalogue []record.Slice
	// Own is what single PLMNs have of their own, instead of TACs and Catalogue.
	Own map[string]Own
	// Integrity and Ciphering are numbers of NIA and NEA, the preferred one first.
	Integrity, Ciphering []uint8
	// Periodic is T3512, Backoff T3346; 0: the default.
	Periodic, Backoff time.Duration
	// FullName and ShortName of the network, and Zone, as UEs are told them; without a name they are told nothing.
	FullName, ShortName string
	Zone                time.Duration
	Voice               bool
	// Emergency services; nil: there are none.
	Emergency *procedure.Emergency
}

// What a network has that says nothing else.
const (
	DefaultName     = "AMF"
	DefaultRegion   = 202
	DefaultSet      = 1016
	DefaultPointer  = 0
	DefaultCapacity = 255
	// DefaultPeriodic is T3512. The 54 minutes of TS 24.501 table 10.2.1 cannot be written in a GPRS timer 3.
	DefaultPeriodic = time.Hour
	// DefaultBackoff is T3346.
	DefaultBackoff = 30 * time.Second
)

// DefaultIntegrity and DefaultCiphering are the algorithms of TS 33.501 5.3.2 and 5.3.3 in our order: AES, SNOW 3G, ZUC. NEA0 is used only where somebody
// has written it, NIA0 never.
var (
	DefaultIntegrity = []uint8{2, 1, 3}
	DefaultCiphering = []uint8{2, 1, 3}
)

// Bounds.
const (
	mostPLMNs  = 12   // TS 38.413 9.2.6.2, maxnoofPLMNs
	mostSlices = 1024 // the same, maxnoofSliceItems
	mostName   = 150  // TS 38.413 9.3.3.21
	mostDNN    = 100  // TS 23.003 9.1
	// mostPeriodic is the longest that a GPRS timer 3 can say (TS 24.008 10.5.7.4a), mostBackoff that of a GPRS timer 2.
	mostPeriodic = 310 * time.Hour
	mostBackoff  = 186 * time.Minute
	// mostNetworkName is what a UE shows at most; the codec has room for more.
	mostNetworkName = 60
	mostZone        = 14 * time.Hour
	quarter         = 15 * time.Minute // TS 24.008 10.5.3.8 counts a time zone in these
)

// Settings of the network. An error says what to write instead.
func (n Network) Settings() (*procedure.Settings, error) {
	n.fillIn()
	if err := n.check(); err != nil {
		return nil, err
	}
	s := &procedure.Settings{
		Name: n.Name, Region: uint8(n.Region), Set: uint16(n.Set), Pointer: uint8(n.Pointer), Capacity: uint8(n.Capacity), Integrity: n.Integrity, Ciphering: n.Ciphering,
		Periodic: n.Periodic, FullName: n.FullName, ShortName: n.ShortName, Zone: n.Zone, Voice: n.Voice, Backoff: n.Backoff,
		Emergency: n.Emergency,
	}
	for _, p := range n.PLMNs {
		s.PLMNs = append(s.PLMNs, n.served(p))
	}
	return s, nil
}

// Own is what a PLMN has of its own; what is empty it has as the others.
type Own struct {
	TACs      []uint32
	Catalogue []record.Slice
}

func (n *Network) served(plmn string) procedure.PLMN {
	out := procedure.PLMN{PLMN: plmn, TACs: n.TACs, Slices: n.Catalogue}
	if own := n.Own[plmn]; len(own.TACs) > 0 {
		out.TACs = own.TACs
	}
	if own := n.Own[plmn]; len(own.Catalogue) > 0 {
		out.Slices = own.Catalogue
	}
	return out
}

func (n *Network) fillIn() {
	if n.Name == "" {
		n.Name = DefaultName
	}
	if len(n.Integrity) == 0 {
		n.Integrity = DefaultIntegrity
	}
	if len(n.Ciphering) == 0 {
		n.Ciphering = DefaultCiphering
	}
	if n.Periodic == 0 {
		n.Periodic = DefaultPeriodic
	}
	if n.Backoff == 0 {
		n.Backoff = DefaultBackoff
	}
}

func (n *Network) check() error {
	for _, check := range []func() error{n.checkIdentity, n.checkServed, n.checkSecurity, n.checkTimes, n.checkNames, n.checkEmergency} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (n *Network) checkIdentity() error {
	if len(n.Name) > mostName || strings.Trim(n.Name, printable) != "" {
		return fmt.Errorf("AMF name %.40q: write 1 to %d letters, digits, spaces and any of '()+,-./:=?", n.Name, mostName)
	}
	for _, number := range []struct {
		what     string
		is, most int
	}{{"region", n.Region, 255}, {"set", n.Set, 1023}, {"pointer", n.Pointer, 63}, {"capacity", n.Capacity, 255}} {
		if number.is < 0 || number.is > number.most {
			return fmt.Errorf("%s %d: write 0 to %d", number.what, number.is, number.most)
		}
	}
	return nil
}

// printable is what a PrintableString can hold (X.680 41.4), which an AMF Name is.
const printable = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 '()+,-./:=?"

func (n *Network) checkServed() error {
	if len(n.PLMNs) == 0 || len(n.PLMNs) > mostPLMNs {
		return fmt.Errorf("%d plmns: write 1 to %d", len(n.PLMNs), mostPLMNs)
	}
	for i, p := range n.PLMNs {
		if slices.Contains(n.PLMNs[:i], p) {
			return fmt.Errorf("PLMN %s is there twice: write it once", p)
		}
	}
	if err := checkArea(n.TACs, n.Catalogue); err != nil {
		return err
	}
	for _, p := range n.PLMNs {
		own := n.served(p)
		if err := checkArea(own.TACs, own.Slices); err != nil {
			return fmt.Errorf("PLMN %s: %w", p, err)
		}
	}
	return nil
}

// checkArea looks at tracking areas and catalogue of all PLMNs, or of one.
func checkArea(tacs []uint32, catalogue []record.Slice) error {
	for i, tac := range tacs {
		// TS 23.003 19.4.2.3: these say that there is none.
		if tac == 0 || tac == 0xfffffe {
			return fmt.Errorf("tac %06x is reserved: write another", tac)
		}
		if slices.Contains(tacs[:i], tac) {
			return fmt.Errorf("tac %06x is there twice: write it once", tac)
		}
	}
	if len(catalogue) == 0 || len(catalogue) > mostSlices {
		return fmt.Errorf("the catalogue has %d slices: write 1 to %d", len(catalogue), mostSlices)
	}
	for i, s := range catalogue {
		if s.SST == 0 {
			return fmt.Errorf("sst 0: write 1 to 255")
		}
		if slices.ContainsFunc(catalogue[:i], s.Is) {
			return fmt.Errorf("S-NSSAI %s is in the catalogue twice: write it once", SNSSAI(s))
		}
	}
	return nil
}

func (n *Network) checkSecurity() error {
	for _, order := range []struct {
		what        string
		list        []uint8
		least, most uint8
	}{{"NIA", n.Integrity, 1, 3}, {"NEA", n.Ciphering, 0, 3}} {
		for i, a := range order.list {
			if a < order.least || a > order.most {
				return fmt.Errorf("%s%d: write %s%d to %s%d", order.what, a, order.what, order.least, order.what, order.most)
			}
			if slices.Contains(order.list[:i], a) {
				return fmt.Errorf("%s%d is there twice: write it once", order.what, a)
			}
		}
	}
	return nil
}

func (n *Network) checkTimes() error {
	for _, d := range []struct {
		what            string
		is, least, most time.Duration
	}{{"periodic registration (T3512)", n.Periodic, 2 * time.Second, mostPeriodic}, {"back-off (T3346)", n.Backoff, 2 * time.Second, mostBackoff}} {
		if d.is < d.least || d.is > d.most {
			return fmt.Errorf("%s %s: write %s to %s", d.what, d.is, d.least, d.most)
		}
	}
	return nil
}

func (n *Network) checkNames() error {
	for _, name := range []string{n.FullName, n.ShortName} {
		if len([]rune(name)) > mostNetworkName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0xfffd }) {
			return fmt.Errorf("network name %.40q: write at most %d characters that can be shown", name, mostNetworkName)
		}
	}
	if n.Zone < -mostZone || n.Zone > mostZone || n.Zone%quarter != 0 {
		return fmt.Errorf("time zone %s: write one from -14:00 to +14:00, in quarters of an hour", n.Zone)
	}
	return nil
}

func (n *Network) checkEmergency() error {
	e := n.Emergency
	switch {
	case e == nil:
	case slices.ContainsFunc(n.PLMNs, func(p string) bool { return !slices.ContainsFunc(n.served(p).Slices, e.Slice.Is) }):
		return fmt.Errorf("S-NSSAI %s of the emergency services is not in the catalogue: add it there, or write one of it", SNSSAI(e.Slice))
	case e.DNN == "" || len(e.DNN) > mostDNN:
		return fmt.Errorf("DNN %.40q of the emergency services: write one of 1 to %d characters, for example sos", e.DNN, mostDNN)
	}
	return nil
}

// Equal says whether two Settings say the same.
func Equal(a, b *procedure.Settings) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(a, b)
}
