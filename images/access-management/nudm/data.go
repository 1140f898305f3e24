package nudm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	shared "core5g.dev/core5g/images/session-management/nudm"
)

// NSSAI is what a UE is subscribed to (Nssai, TS 29.503 6.1.6.2.2).
type NSSAI struct {
	// Default are allowed where the UE asks for none. Others are subscribed too.
	Default []ts29571.SNSSAI `json:"defaultSingleNssais"`
	Others  []ts29571.SNSSAI `json:"singleNssais"`
}

// Has reports whether the S-NSSAI is subscribed.
func (n NSSAI) Has(s ts29571.SNSSAI) bool {
	for _, list := range [][]ts29571.SNSSAI{n.Default, n.Others} {
		for _, o := range list {
			if o == s {
				return true
			}
		}
	}
	return false
}

// AccessAndMobility is AccessAndMobilitySubscriptionData (TS 29.503 6.1.6.2.4). What is not said is zero.
type AccessAndMobility struct {
	// GPSIs such as msisdn-33612345678.
	GPSIs []string
	// AMBR of all sessions of the UE.
	AMBR  *ts29571.AMBR
	NSSAI NSSAI
	// ForbiddenRATs such as NR; ForbiddenAreas and ServiceArea say where the UE may not be, and where it has services.
	ForbiddenRATs  []string
	ForbiddenAreas []ts29571.Area
	ServiceArea    *ts29571.ServiceArea
	// RFSP is the index to RAT and frequency selection priority, 1 to 256, 0 for none.
	RFSP uint16
	// PeriodicRegistration is what the home network wants T3512 to be, ActiveTime T3324.
	PeriodicRegistration, ActiveTime time.Duration
	MICO                             bool
}

// maxTimer is the longest that a GPRS timer 3 can be (TS 24.008 10.5.7.4a).
const maxTimer = 31 * 320 * time.Hour

type seconds uint32

func (s seconds) duration() time.Duration { return min(time.Duration(s)*time.Second, maxTimer) }

func readAccessAndMobility(content sbi.Content) (*AccessAndMobility, error) {
	f := sbi.Reading(content, sbi.Message{})
	var out AccessAndMobility
	var periodic, active seconds
	sbi.Member(f, "gpsis", &out.GPSIs)
	sbi.Member(f, "subscribedUeAmbr", &out.AMBR)
	sbi.Member(f, "nssai", &out.NSSAI)
	sbi.Member(f, "ratRestrictions", &out.ForbiddenRATs)
	sbi.Member(f, "forbiddenAreas", &out.ForbiddenAreas)
	sbi.Member(f, "serviceAreaRestriction", &out.ServiceArea)
	sbi.Member(f, "rfspIndex", &out.RFSP)
	sbi.Member(f, "subsRegTimer", &periodic)
	sbi.Member(f, "activeTime", &active)
	sbi.Member(f, "micoAllowed", &out.MICO)
	if out.RFSP > 256 {
		f.Fail(fmt.Errorf("rfspIndex %d: it is 1 to 256", out.RFSP))
	}
	out.PeriodicRegistration, out.ActiveTime = periodic.duration(), active.duration()
	return &out, f.Err()
}

// DNN is one that a UE may ask for in a slice (DnnInfo, TS 29.503 6.1.6.2.7).
type DNN struct {
	// Name, or * for all.
	Name string `json:"dnn"`
	// Default is taken where the UE names none.
	Default bool `json:"defaultDnnIndicator"`
}

// Selection is what SMFs are chosen by (SmfSelectionSubscriptionData, TS 29.503 6.1.6.2.6). It may have slices that are not
// subscribed: of hexadecimal keys without SD, which core5g's UDM has for free5GC's AMF, some are decimal ones too.
type Selection map[ts29571.SNSSAI][]DNN

// Default is the DNN of a slice where the UE names none, "" where the subscription has none.
func (s Selection) Default(n ts29571.SNSSAI) string {
	for _, d := range s[n] {
		if d.Default && d.Name != "*" {
			return d.Name
		}
	}
	return ""
}

// Allows reports whether the subscription has the DNN in the slice. DNNs compare without case (TS 23.003 9.1).
func (s Selection) Allows(n ts29571.SNSSAI, dnn string) bool {
	for _, d := range s[n] {
		if d.Name == "*" || strings.EqualFold(d.Name, dnn) {
			return true
		}
	}
	return false
}

func readSelection(content sbi.Content) (Selection, error) {
	infos, _, err := sbi.Optional[map[string]struct {
		DNNs []DNN `json:"dnnInfos"`
	}](content, "subscribedSnssaiInfos")
	if err != nil {
		return nil, err
	}
	out := Selection{}
	for key, info := range infos {
		// A key that is none hides no other slice: it is what others look their slices up by.
		if n, ok := sliceOf(key); ok {
			out[n] = info.DNNs
		}
	}
	return out, nil
}

// sliceOf reads an S-NSSAI that is a key: its SST in decimal, and behind a - its SD (TS 29.571 5.4.4.2). core5g's UDM has
// each slice under a key of free5GC's too, of hexadecimal digits.
func sliceOf(key string) (ts29571.SNSSAI, bool) {
	sst, sd, _ := strings.Cut(key, "-")
	n, err := strconv.ParseUint(sst, 10, 8)
	if err != nil || len(sst) > 3 || sst != strconv.FormatUint(n, 10) {
		return ts29571.SNSSAI{}, false
	}
	if _, err := strconv.ParseUint(sd, 16, 24); len(sst) < len(key) && (err != nil || len(sd) != 6) {
		return ts29571.SNSSAI{}, false
	}
	return ts29571.MakeSNSSAI(int32(n), sd), true
}

// Session is a PDU session that an SMF has registered (PduSession, TS 29.503 6.1.6.2.17).
type Session struct {
	SMFInstanceID string          `json:"smfInstanceId"`
	DNN           string          `json:"dnn"`
	PLMN          ts29571.PLMN    `json:"plmnId"`
	SNSSAI        *ts29571.SNSSAI `json:"singleNssai"`
}

func readSessions(content sbi.Content) (map[uint8]Session, error) {
	sessions, _, err := sbi.Optional[map[string]Session](content, "pduSessions")
	if err != nil {
		return nil, err
	}
	out := make(map[uint8]Session, len(sessions))
	for key, s := range sessions {
		n, err := strconv.ParseUint(key, 10, 8)
		if err != nil || n < 1 || n > 15 {
			return nil, fmt.Errorf("pduSessions: %.16q is no PDU session identity", key)
		}
		out[uint8(n)] = s
	}
	return out, nil
}

// AccessAndMobility gives what the subscription says of access and mobility in the serving network.
func (c *Client) AccessAndMobility(ctx context.Context, supi string, serving ts29571.PLMN) (*AccessAndMobility, error) {
	return get(ctx, c, "GetAmData", supi, "am-data", serving, readAccessAndMobility)
}

// NSSAI gives the subscribed slices.
func (c *Client) NSSAI(ctx context.Context, supi string, serving ts29571.PLMN) (NSSAI, error) {
	return get(ctx, c, "GetNSSAI", supi, "nssai", serving, func(content sbi.Content) (NSSAI, error) {
		var n NSSAI
		f := sbi.Reading(content, sbi.Message{})
		sbi.Required(f, "defaultSingleNssais", &n.Default)
		sbi.Member(f, "singleNssais", &n.Others)
		return n, f.Err()
	})
}

// Selection gives the DNNs of the subscribed slices.
func (c *Client) Selection(ctx context.Context, supi string, serving ts29571.PLMN) (Selection, error) {
	return get(ctx, c, "GetSmfSelData", supi, "smf-select-data", serving, readSelection)
}

// Sessions gives the SMFs that hold PDU sessions of the UE, by PDU session identity.
func (c *Client) Sessions(ctx context.Context, supi string) (map[uint8]Session, error) {
	return get(ctx, c, "GetUeCtxInSmfData", supi, "ue-context-in-smf-data", ts29571.PLMN{}, readSessions)
}

// Everything is what a registration needs of a subscription.
type Everything struct {
	AccessAndMobility *AccessAndMobility
	Selection         Selection
	Sessions          map[uint8]Session
}

// Everything gives all of it in one request (TS 29.503 5.2.2.2.9). A UDM that answers without a set of data has none.
func (c *Client) Everything(ctx context.Context, supi string, serving ts29571.PLMN) (*Everything, error) {
	const operation = "GetDataSets"
	query := url.Values{"dataset-names": {"AM,SMF_SEL,UEC_SMF"}}
	reply, err := c.ask(ctx, operation, supi, "", serving, query)
	if err != nil {
		return nil, err
	}
	out, err := readEverything(reply.Message)
	if err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}

func readEverything(m sbi.Message) (*Everything, error) {
	content, err := m.Content()
	if err != nil {
		return nil, err
	}
	var out Everything
	am, there, err := sbi.Optional[sbi.Content](content, "amData")
	if err != nil || !there {
		return nil, errors.Join(errors.New("there is no amData"), err)
	}
	if out.AccessAndMobility, err = readAccessAndMobility(am); err != nil {
		return nil, err
	}
	selection, _, err := sbi.Optional[sbi.Content](content, "smfSelData")
	if err != nil {
		return nil, err
	}
	if out.Selection, err = readSelection(selection); err != nil {
		return nil, err
	}
	maps.DeleteFunc(out.Selection, func(n ts29571.SNSSAI, _ []DNN) bool { return !out.AccessAndMobility.NSSAI.Has(n) })
	sessions, _, err := sbi.Optional[sbi.Content](content, "uecSmfData")
	if err != nil {
		return nil, err
	}
	out.Sessions, err = readSessions(sessions)
	return &out, err
}

func (c *Client) ask(ctx context.Context, operation, supi, what string, serving ts29571.PLMN, query url.Values) (*sbi.Reply, error) {
	if serving.MCC != "" {
		plmn, err := json.Marshal(serving)
		if err != nil {
			return nil, &sbi.NotSent{Operation: operation, Err: err}
		}
		query.Set("plmn-id", string(plmn))
	}
	path := shared.SubscriberPath(supi)
	if what != "" {
		path += "/" + what
	}
	return c.sbi.Do(ctx, sbi.Call{Operation: operation, Method: http.MethodGet, Service: service(sdm), Path: path, Query: query, Repeatable: true})
}

func get[T any](ctx context.Context, c *Client, operation, supi, what string, serving ts29571.PLMN, read func(sbi.Content) (T, error)) (T, error) {
	var none T
	reply, err := c.ask(ctx, operation, supi, what, serving, url.Values{})
	if err != nil {
		return none, err
	}
	content, err := reply.Message.Content()
	if err != nil {
		return none, &sbi.Unknown{Operation: operation, Err: err}
	}
	out, err := read(content)
	if err != nil {
		return none, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}
