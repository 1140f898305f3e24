package simulation

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// Sessions of type Ethernet are those of the second data network in some worlds, beside IP in the first. What a unit hears behind a UE it reports until it
// is answered, and all is quiet when the record has it. Of units that are upf-c's own code that is the bridge of the upf-u beneath it, which learns from frames.

const (
	pdnEthernet = 5
	urrMACs     = 1 << 30
)

// anEthernetSession counts what was reported of them, and kept.
const anEthernetSession = "MAC address kept"

// aBridgesSession counts those of them whose unit was upf-c's own code.
const aBridgesSession = "MAC address kept that upf-c has told"

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

// hears frames of the devices behind its UEs, all the time, whoever of both halves lives then.
func (f *upf) hears() {
	f.w.Soon(500*time.Millisecond, 3*time.Second, f.hears)
	for _, s := range f.sessions() {
		if s.frames {
			f.w.Soon(0, 2*time.Second, func() { f.frame(s) })
		}
	}
}

// frame of the device behind a session's UE, if upf-u still has the session.
func (f *upf) frame(s *unitSession) {
	f.Do(func(u *fakeupfu.UPFU) {
		if has, there := u.Sessions()[s.index]; there && slices.ContainsFunc(has.PDRs, func(p abi.Pdr) bool { return p.Flags&abi.PdrTeid != 0 && p.Teid == s.teid }) {
			u.Learn(s.index, behind(s.cpSEID))
		}
	})
	f.alarm()
}

// agreeOnFrames: what the unit has heard is in the record, and nothing of another session's; an address is of IP alone.
func (u *ue) agreeOnFrames(rec *record.Session, s *unitSession, fail func(string, ...any)) {
	if (rec.Type == n1.Ethernet) != s.frames || s.frames && rec.IPv4.IsValid() {
		fail("%s: session %s is of type %d with the address %s, and in the unit of frames: %v", u.supi, rec.Ref(), rec.Type, rec.IPv4, s.frames)
	}
	switch {
	case !s.frames:
	case rec.Ethernet == nil || !slices.Equal(rec.Ethernet.MACs, record.MACs{behind(s.cpSEID)}):
		fail("%s: session %s: the record has not what is behind the UE: %+v", u.supi, rec.Ref(), rec.Ethernet)
	case u.w.real && !slices.Equal(s.stations, []string{behind(s.cpSEID).String()}):
		fail("%s: session %s: the unit has not what is behind the UE: %v", u.supi, rec.Ref(), s.stations)
	default:
		u.w.Ended[anEthernetSession]++
		if u.w.real {
			u.w.Ended[aBridgesSession]++
		}
	}
}
