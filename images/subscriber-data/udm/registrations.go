package udm

// Which AMF serves a UE is one record for both accesses, which SMF serves a PDU session one for each. They lie where every
// replica finds them (package records). Beside an AMF's registration stands the AMF before it, until that has been told: who
// has taken the registration tells it, and where this replica dies, another does.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const (
	// ueKey begins the keys of UEs, and sessionKey those of PDU sessions.
	ueKey, sessionKey = "ue:", "smf:"
	// groupUEs has all UEs, groupUntold those with an AMF that is to be told, groupSessions all PDU sessions.
	groupUEs, groupUntold, groupSessions = "ues", "untold", "sessions"

	// mostFarewells are AMFs that a UE has left one after the other before the first of them answered.
	mostFarewells = 4
)

// registrations says which AMF and SMFs serve a UE.
type registrations struct{ records *records.Records }

type amfKey struct{ supi, access string }

// servedUE is what is kept of a UE.
type servedUE struct {
	// AMF is its registration, by access.
	AMF map[string]*amfRegistration `json:"amf,omitempty"`
	// Farewells are for AMFs that serve it no longer.
	Farewells []farewell `json:"farewells,omitempty"`
}

// farewell is a notification of deregistration that has not been answered.
type farewell struct {
	URI    string    `json:"uri"`
	Access string    `json:"access"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// same says that another farewell is this one.
func (f farewell) same(other farewell) bool {
	return f.URI == other.URI && f.Access == other.Access && f.Since.Equal(other.Since)
}

// amfRegistration is Amf3GppAccessRegistration (TS 29.503 6.2.6.2.2) as it came and was modified since, what of it is
// acted on, and the S-NSSAIs that were subscribed when it came.
type amfRegistration struct {
	Body    map[string]any        `json:"body"`
	SNSSAIs []subscription.SNSSAI `json:"snssais,omitempty"`
	// Withdrawn: its AMF was told that nobody is to serve the UE.
	Withdrawn bool `json:"withdrawn,omitempty"`

	instance sbi.Text
	guami    subscription.GUAMI
	callback sbi.CallbackURI
	// since is when the UE registered, as the AMF says; zero where it says no time.
	since time.Time
}

// Accesses, as the paths of the resources call them.
const (
	access3GPP    = "amf-3gpp-access"
	accessNon3GPP = "amf-non-3gpp-access"
)

// pduSession is SmfRegistration (TS 29.503 6.2.6.2.4) as far as ue-context-in-smf-data repeats it.
type pduSession struct {
	SMFInstanceID string              `json:"smfInstanceId"`
	DNN           string              `json:"dnn"`
	PLMN          subscription.PLMN   `json:"plmnId"`
	SingleNssai   subscription.SNSSAI `json:"singleNssai"`
	PDUSessionID  int                 `json:"pduSessionId"`
}

func parseUE(value []byte) (*servedUE, error) {
	u := &servedUE{AMF: make(map[string]*amfRegistration)}
	if value == nil {
		return u, nil
	}
	if err := json.Unmarshal(value, u); err != nil {
		return nil, err
	}
	for _, r := range u.AMF {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// read what is acted on out of a body that was checked when it came.
func (r *amfRegistration) read() error {
	raw, err := json.Marshal(r.Body)
	if err != nil {
		return err
	}
	var c sbi.Content
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	r.instance, err = sbi.Mandatory[sbi.Text](c, "amfInstanceId")
	if err == nil {
		r.callback, err = sbi.Mandatory[sbi.CallbackURI](c, "deregCallbackUri")
	}
	if err == nil {
		r.guami, err = sbi.Mandatory[subscription.GUAMI](c, "guami")
	}
	r.since = timeOf(c)
	return err
}

// timeOf a registration. One that is no time names none: nothing else depends on it.
func timeOf(c sbi.Content) time.Time {
	at, _, err := sbi.Optional[time.Time](c, "registrationTime")
	if err != nil {
		return time.Time{}
	}
	return at
}

// groups that the record is in. A UE is counted once for each S-NSSAI, over whichever access.
func (u *servedUE) groups() []string {
	var out []string
	if len(u.AMF) > 0 {
		out = append(out, groupUEs)
	}
	if len(u.Farewells) > 0 {
		out = append(out, groupUntold)
	}
	for _, r := range u.AMF {
		for _, s := range r.SNSSAIs {
			out = append(out, groupOfSlice(s))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// without are the texts of a list that another has not.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

func groupOfSlice(s subscription.SNSSAI) string { return "ues-of:" + s.String() }

// change a UE. alter may be called more than once.
func (g registrations) change(ctx context.Context, supi string, likelyNew bool, alter func(*servedUE) error) error {
	return g.records.Change(ctx, ueKey+supi, likelyNew, func(was []byte) (records.Becomes, error) {
		u, err := parseUE(was)
		if err != nil {
			return records.Becomes{}, err
		}
		before := u.groups()
		if err := alter(u); err != nil {
			return records.Becomes{}, err
		}
		after := u.groups()
		becomes := records.Becomes{Join: without(after, before), Leave: without(before, after)}
		if len(u.AMF) == 0 && len(u.Farewells) == 0 {
			return becomes, nil
		}
		becomes.Value, err = json.Marshal(u)
		return becomes, err
	})
}

// ue as the store has it.
func (g registrations) ue(ctx context.Context, supi string) (*servedUE, error) {
	value, err := g.records.Read(ctx, ueKey+supi)
	if err != nil {
		return nil, err
	}
	return parseUE(value)
}

// of returns the registration over one access, nil where there is none.
func (g registrations) of(ctx context.Context, key amfKey) (*amfRegistration, error) {
	u, err := g.ue(ctx, key.supi)
	if err != nil {
		return nil, err
	}
	return u.AMF[key.access], nil
}

// told ends a farewell.
func (g registrations) told(ctx context.Context, supi string, done farewell) error {
	return g.change(ctx, supi, false, func(u *servedUE) error {
		before := len(u.Farewells)
		u.Farewells = slices.DeleteFunc(u.Farewells, func(f farewell) bool {
			return f.URI == done.URI && f.Access == done.Access && !f.Since.After(done.Since)
		})
		if len(u.Farewells) == before {
			return records.ErrKeep
		}
		return nil
	})
}

// supis of the records of a group whose keys begin so.
func (g registrations) supis(ctx context.Context, group, begin string, each func(supi string) bool) error {
	return g.records.Members(ctx, group, func(key string) bool {
		return each(supiOf(strings.TrimPrefix(key, begin)))
	})
}

// supiOf a key without its beginning: that of a PDU session goes on behind it.
func supiOf(rest string) string {
	if at := strings.LastIndexByte(rest, '/'); at >= 0 {
		return rest[:at]
	}
	return rest
}

func keyOfSession(supi string, id int) string { return sessionKey + supi + "/" + strconv.Itoa(id) }
func groupsOfSession(supi string) []string {
	return []string{groupSessions, groupSessions + ":" + supi}
}

// enter a session's SMF, and say whether there was one before.
func (g registrations) enter(ctx context.Context, supi string, id int, s pduSession) (existed bool, err error) {
	value, err := json.Marshal(s)
	if err != nil {
		return false, err
	}
	err = g.records.Change(ctx, keyOfSession(supi, id), true, func(was []byte) (records.Becomes, error) {
		if existed = was != nil; existed {
			return records.Becomes{Value: value}, nil
		}
		return records.Becomes{Value: value, Join: groupsOfSession(supi)}, nil
	})
	return existed, err
}

// leave ends a session's registration, of that SMF or with "" of any, and says whether there was one.
func (g registrations) leave(ctx context.Context, supi string, id int, instance string) (existed bool, err error) {
	err = g.records.Change(ctx, keyOfSession(supi, id), false, func(was []byte) (records.Becomes, error) {
		existed = false
		if was == nil {
			return records.Becomes{}, records.ErrKeep
		}
		var s pduSession
		if err := json.Unmarshal(was, &s); err != nil {
			return records.Becomes{}, err
		}
		if instance != "" && instance != s.SMFInstanceID {
			return records.Becomes{}, records.ErrKeep
		}
		existed = true
		return records.Becomes{Leave: groupsOfSession(supi)}, nil
	})
	return existed && err == nil, err
}

// sessions of a UE, by their identity.
func (g registrations) sessions(ctx context.Context, supi string) (map[string]pduSession, error) {
	out := make(map[string]pduSession)
	var failed error
	err := g.records.Members(ctx, groupSessions+":"+supi, func(key string) bool {
		value, err := g.records.Read(ctx, key)
		if err != nil || value == nil {
			failed = err
			return err == nil
		}
		var s pduSession
		if failed = json.Unmarshal(value, &s); failed == nil {
			out[strconv.Itoa(s.PDUSessionID)] = s
		}
		return failed == nil
	})
	return out, errors.Join(err, failed)
}
