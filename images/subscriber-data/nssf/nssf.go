package nssf

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const service = "nnssf-nsselection"

// Directory is what the NSSF asks about slices.
type Directory interface {
	Core(ctx context.Context) (subscription.Core, error)
	Slices(ctx context.Context) ([]subscription.Slice, error)
}

// NSSF is the network slice selection function.
type NSSF struct {
	directory Directory
	nrf       string
}

// New returns an NSSF; nrf is the base URI of the NRF that knows the slices' SMFs.
func New(directory Directory, nrf string) *NSSF { return &NSSF{directory: directory, nrf: nrf} }

// Register adds the NSSF's operations.
func (n *NSSF) Register(r *sbi.Router) {
	for _, v := range []string{"v1", "v2"} {
		r.Handle(service, "NSSelectionGet", "GET /nnssf-nsselection/"+v+"/network-slice-information", n.selection)
	}
}

// sliceInfoForRegistration is SliceInfoForRegistration of TS 29.531 6.1.6.2.5.
type sliceInfoForRegistration struct {
	SubscribedNssai []subscribedSnssai    `json:"subscribedNssai"`
	RequestedNssai  []subscription.SNSSAI `json:"requestedNssai"`
}

type subscribedSnssai struct {
	SubscribedSnssai  *subscription.SNSSAI `json:"subscribedSnssai"`
	DefaultIndication bool                 `json:"defaultIndication"`
}

// check finds what is mandatory and absent.
func (i sliceInfoForRegistration) check() error {
	for _, s := range i.SubscribedNssai {
		if s.SubscribedSnssai == nil {
			return errors.New("an element of subscribedNssai has no subscribedSnssai")
		}
	}
	return nil
}

// sliceInfoForPDUSession is SliceInfoForPDUSession of TS 29.531 6.1.6.2.6.
type sliceInfoForPDUSession struct {
	SNSSAI            *subscription.SNSSAI `json:"sNssai"`
	RoamingIndication string               `json:"roamingIndication"`
}

func (i sliceInfoForPDUSession) check() error {
	if i.SNSSAI == nil {
		return errors.New("sNssai is mandatory")
	}
	if i.RoamingIndication == "" {
		return errors.New("roamingIndication is mandatory: write NON_ROAMING")
	}
	return nil
}

// authorizedNetworkSliceInfo is AuthorizedNetworkSliceInfo of TS 29.531 6.1.6.2.2.
type authorizedNetworkSliceInfo struct {
	AllowedNssaiList    []allowedNssai        `json:"allowedNssaiList,omitempty"`
	ConfiguredNssai     []configuredSnssai    `json:"configuredNssai,omitempty"`
	RejectedNssaiInPlmn []subscription.SNSSAI `json:"rejectedNssaiInPlmn,omitempty"`
	NSIInformation      *nsiInformation       `json:"nsiInformation,omitempty"`
}

type allowedNssai struct {
	AllowedSnssaiList []allowedSnssai `json:"allowedSnssaiList"`
	AccessType        string          `json:"accessType"`
}

type allowedSnssai struct {
	AllowedSnssai      subscription.SNSSAI `json:"allowedSnssai"`
	NSIInformationList []nsiInformation    `json:"nsiInformationList,omitempty"`
}

type configuredSnssai struct {
	ConfiguredSnssai subscription.SNSSAI `json:"configuredSnssai"`
}

type nsiInformation struct {
	NRFID string `json:"nrfId"`
	NSIID string `json:"nsiId,omitempty"`
}

// nfType is the form of NFType (TS 29.510 6.1.6.3.3), which may grow.
var nfType = regexp.MustCompile(`^[A-Z0-9_]+$`)

// checkRequester reads who asks, and where the UE is (TS 29.531 6.1.3.2.3.1). All slices are served in all tracking
// areas, so that where it is changes nothing. An AMF knows; the NSSF of another PLMN does not.
func checkRequester(r *http.Request) error {
	kind, err := sbi.MandatoryQuery(r, "nf-type")
	if err != nil {
		return err
	}
	if !nfType.MatchString(kind) {
		return sbi.BadRequest("MANDATORY_QUERY_PARAM_INCORRECT", "query parameter nf-type: write AMF or another type of network function")
	}
	if _, err := sbi.MandatoryQuery(r, "nf-id"); err != nil {
		return err
	}
	_, there, err := sbi.Query[subscription.TAI](r, "tai")
	if err == nil && !there && kind == "AMF" {
		err = sbi.BadRequest("MANDATORY_QUERY_PARAM_MISSING", "query parameter tai is mandatory for an AMF")
	}
	return err
}

func (n *NSSF) selection(r *http.Request) (sbi.Answer, error) {
	if err := checkRequester(r); err != nil {
		return sbi.Answer{}, err
	}
	registration, forRegistration, err := query[sliceInfoForRegistration](r, "slice-info-request-for-registration")
	if err != nil {
		return sbi.Answer{}, err
	}
	session, forPDUSession, err := query[sliceInfoForPDUSession](r, "slice-info-request-for-pdu-session")
	if err != nil {
		return sbi.Answer{}, err
	}
	if !forRegistration && !forPDUSession {
		return sbi.Answer{}, sbi.BadRequest("MANDATORY_QUERY_PARAM_MISSING",
			"slice-info-request-for-registration or slice-info-request-for-pdu-session is mandatory")
	}
	usable, err := n.usable(r.Context())
	if err != nil {
		return sbi.Answer{}, err
	}
	if forRegistration {
		return n.forRegistration(registration, usable)
	}
	return n.forPDUSession(session, usable)
}

// query reads a query parameter that carries JSON, and has it checked.
func query[T interface{ check() error }](r *http.Request, name string) (T, bool, error) {
	v, there, err := sbi.Query[T](r, name)
	if err != nil || !there {
		return v, false, err
	}
	if err := v.check(); err != nil {
		return v, false, sbi.BadRequest("OPTIONAL_QUERY_PARAM_INCORRECT", "query parameter "+name+": "+err.Error())
	}
	return v, true, nil
}

// usable are the S-NSSAIs that have a Slice and that the AMF advertises, with the Slice's name.
func (n *NSSF) usable(ctx context.Context) (map[subscription.SNSSAI]string, error) {
	core, err := n.directory.Core(ctx)
	if err != nil {
		return nil, err
	}
	slices, err := n.directory.Slices(ctx)
	if err != nil {
		return nil, err
	}
	usable := make(map[subscription.SNSSAI]string, len(slices))
	for _, s := range slices {
		if core.Advertises(s.SNSSAI) {
			usable[s.SNSSAI] = s.Name
		}
	}
	return usable, nil
}

// forRegistration allows what is requested, subscribed and there; where nothing is requested, the
// subscribed defaults (TS 23.501 5.15.5.2.1).
func (n *NSSF) forRegistration(info sliceInfoForRegistration, usable map[subscription.SNSSAI]string) (sbi.Answer, error) {
	var out authorizedNetworkSliceInfo
	subscribed := make(map[subscription.SNSSAI]bool)
	var defaults []subscription.SNSSAI
	for _, s := range info.SubscribedNssai {
		id := *s.SubscribedSnssai
		if subscribed[id] {
			continue
		}
		subscribed[id] = true
		if _, ok := usable[id]; !ok {
			continue
		}
		out.ConfiguredNssai = append(out.ConfiguredNssai, configuredSnssai{id})
		if s.DefaultIndication {
			defaults = append(defaults, id)
		}
	}

	var allowed []subscription.SNSSAI
	seen := make(map[subscription.SNSSAI]bool)
	for _, id := range info.RequestedNssai {
		if seen[id] {
			continue
		}
		seen[id] = true
		if _, ok := usable[id]; ok && subscribed[id] {
			allowed = append(allowed, id)
		} else {
			out.RejectedNssaiInPlmn = append(out.RejectedNssaiInPlmn, id)
		}
	}
	if len(info.RequestedNssai) == 0 {
		allowed = defaults
	}
	if len(allowed) == 0 {
		return sbi.Answer{}, notSupported("none of the S-NSSAIs is subscribed and served").
			About("requested", names(slices.Values(out.RejectedNssaiInPlmn)), "subscribed", names(maps.Keys(subscribed)), "served", names(maps.Keys(usable)))
	}
	list := allowedNssai{AccessType: "3GPP_ACCESS"}
	for _, id := range allowed {
		list.AllowedSnssaiList = append(list.AllowedSnssaiList, allowedSnssai{
			AllowedSnssai:      id,
			NSIInformationList: []nsiInformation{n.instance(usable[id])},
		})
	}
	out.AllowedNssaiList = []allowedNssai{list}
	return sbi.Answer{Status: http.StatusOK, Body: out}, nil
}

// forPDUSession names the NRF that finds the slice's SMF.
func (n *NSSF) forPDUSession(info sliceInfoForPDUSession, usable map[subscription.SNSSAI]string) (sbi.Answer, error) {
	name, ok := usable[*info.SNSSAI]
	if !ok {
		return sbi.Answer{}, notSupported("no such slice").About("requested", info.SNSSAI.String())
	}
	instance := n.instance(name)
	return sbi.Answer{Status: http.StatusOK, Body: authorizedNetworkSliceInfo{NSIInformation: &instance}}, nil
}

func (n *NSSF) instance(slice string) nsiInformation {
	return nsiInformation{NRFID: n.nrf + "/nnrf-nfm/v1/nf-instances", NSIID: slice}
}

// names of S-NSSAIs, for the log.
func names(ids iter.Seq[subscription.SNSSAI]) string {
	var out []string
	for id := range ids {
		out = append(out, id.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func notSupported(detail string) *sbi.Problem {
	return sbi.NewProblem(http.StatusForbidden, "SNSSAI_NOT_SUPPORTED", detail)
}
