package simulation

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// Sessions of type Ethernet are those of the second data network in some worlds, beside IP in the first. Units that are upf-c's own code are left out:
// the upf-u beneath them has no bridge. What a unit hears behind a UE it reports until it is answered, and all is quiet when the record has it.

const (
	pdnEthernet = 5
	urrMACs     = 1 << 30
)

// anEthernetSession counts what was reported of them, and kept.
const anEthernetSession = "MAC address kept"

// bridging worlds are among those that have two data networks, and none of the failed ones: these stay as they were.
func bridging(seed uint64) bool {
	return seed%28 == 3 || seed%32 == 3 || seed%32 == 7 || seed%36 == 3 || seed%36 == 7
}

// bridged makes a data network of one.
func bridged(d *configuration.DataNetwork) {
	d.Types = []n1.SessionType{n1.Ethernet}
	for n := range d.Units {
		d.Units[n].Pools, d.Units[n].Static = nil, nil
	}
}

// kind of session that the UE asks for.
func (u *ue) kind() n1.SessionType {
	if u.w.frames && u.dnn == ims {
		return n1.Ethernet
	}
	return n1.IPv4
}

// behind is the address of the one device behind a session's UE.
func behind(cpSEID uint64) n1.MAC {
	return n1.MAC{2, 0, byte(cpSEID >> 24), byte(cpSEID >> 16), byte(cpSEID >> 8), byte(cpSEID)}
}

// hears of that device, after a while, if the session is still there.
func (u *unit) hears(s *unitSession) {
	w := u.w
	w.Soon(100*time.Millisecond, 3*time.Second, func() {
		if u.sessions[s.upSEID] != s {
			return
		}
		for _, r := range w.records {
			if r.CPSEID == s.cpSEID {
				u.reports(s, w.ueOf(r.SUPI), procedure.Measured{URR: urrMACs, Detected: []n1.MAC{behind(s.cpSEID)}})
				return
			}
		}
		u.hears(s)
	})
}

// agreeOnFrames: what the unit has heard is in the record, and an address is of IP alone.
func (u *ue) agreeOnFrames(rec *record.Session, s *unitSession, fail func(string, ...any)) {
	if (rec.Type == n1.Ethernet) != s.frames || s.frames && rec.IPv4.IsValid() {
		fail("%s: session %s is of type %d with the address %s, and in the unit of frames: %v", u.supi, rec.Ref(), rec.Type, rec.IPv4, s.frames)
	}
	switch {
	case !s.frames:
	case rec.Ethernet == nil || !slices.Contains(rec.Ethernet.MACs, behind(s.cpSEID)):
		fail("%s: session %s: the record has not what is behind the UE: %+v", u.supi, rec.Ref(), rec.Ethernet)
	default:
		u.w.Ended[anEthernetSession]++
	}
}
