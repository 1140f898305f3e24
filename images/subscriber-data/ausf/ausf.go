package ausf

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriber-data/suci"
)

const (
	service = "nausf-auth"
	prefix  = "/nausf-auth/v1/ue-authentications"
)

// Results of an authentication, as the metric counts them.
const (
	resultChallenged   = "challenged"
	resultSuccess      = "success"
	resultWrongRES     = "wrong_res"
	resultResync       = "resynchronised"
	resultMACFailure   = "auts_mac_failure"
	resultUnknownUser  = "unknown_user"
	resultBadSUCI      = "suci_failure"
	resultNotServed    = "serving_network_refused"
	resultNoCredential = "no_credentials"
	resultBarred       = "barred"
)

// Directory is what the AUSF asks about subscribers.
type Directory interface {
	Core(ctx context.Context) (subscription.Core, error)
	Credentials(ctx context.Context, supi string) (aka.Credentials, error)
	HomeNetworkKey(ctx context.Context, id uint8, scheme suci.Scheme) (suci.PrivateKey, error)
}

// AUSF is the authentication server function.
type AUSF struct {
	directory Directory
	sequences *aka.Sequences
	memory    *memory
	random    io.Reader
	log       *slog.Logger
	results   *prometheus.CounterVec
}

// New returns an AUSF on the given clock, with sequence numbers of the generator. What it must remember is in the records.
func New(directory Directory, sequences *aka.Sequences, kept *records.Records, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) *AUSF {
	a := &AUSF{
		directory: directory,
		sequences: sequences,
		memory:    newMemory(kept, now),
		random:    rand.Reader,
		log:       log,
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_authentications_total",
			Help: "5G-AKA steps by their result.",
		}, []string{"result"}),
	}
	reg.MustRegister(a.results)
	for _, r := range []string{
		resultChallenged, resultSuccess, resultWrongRES, resultResync, resultMACFailure,
		resultUnknownUser, resultBadSUCI, resultNotServed, resultNoCredential, resultBarred,
	} {
		a.results.WithLabelValues(r) // 0 from the start, so that a rate sees the first
	}
	return a
}

// Tidy drops what need not be remembered any more. One replica does it now and then.
func (a *AUSF) Tidy(ctx context.Context) error { return a.memory.tidy(ctx, a.sequences) }

// Register adds the AUSF's operations.
func (a *AUSF) Register(r *sbi.Router) {
	r.Handle(service, "UeAuthenticationsPost", "POST "+prefix, a.authenticate)
	r.Handle(service, "5gAkaConfirmationPut", "PUT "+prefix+"/{authCtxId}/5g-aka-confirmation", a.confirm)
	r.Handle(service, "5gAkaConfirmationDelete", "DELETE "+prefix+"/{authCtxId}/5g-aka-confirmation", a.remove)
	r.Handle(service, "EapSessionPost", "POST "+prefix+"/{authCtxId}/eap-session", a.eapNotOffered)
	r.Handle(service, "RgAuthenticationsPost", "POST /nausf-auth/v1/rg-authentications", a.eapNotOffered)
}

// authenticationInfo is AuthenticationInfo of TS 29.509 6.1.6.2.2.
type authenticationInfo struct {
	SUPIOrSUCI            string `json:"supiOrSuci"`
	ServingNetworkName    string `json:"servingNetworkName"`
	ResynchronizationInfo *struct {
		RAND string `json:"rand"`
		AUTS string `json:"auts"`
	} `json:"resynchronizationInfo"`
}

// ueAuthenticationCtx is UEAuthenticationCtx of TS 29.509 6.1.6.2.3.
type ueAuthenticationCtx struct {
	AuthType           string            `json:"authType"`
	AuthData           av5GAKA           `json:"5gAuthData"`
	Links              map[string][]link `json:"_links"`
	ServingNetworkName string            `json:"servingNetworkName"`
}

type av5GAKA struct {
	RAND      string `json:"rand"`
	HXRESStar string `json:"hxresStar"`
	AUTN      string `json:"autn"`
}

type link struct {
	Href string `json:"href"`
}

// authenticate starts an authentication (TS 29.509 5.2.2.2.2).
func (a *AUSF) authenticate(r *http.Request) (sbi.Answer, error) {
	var info authenticationInfo
	if err := sbi.ReadJSON(r, &info); err != nil {
		return sbi.Answer{}, err
	}
	if info.SUPIOrSUCI == "" || info.ServingNetworkName == "" {
		return sbi.Answer{}, sbi.BadRequest("MANDATORY_IE_MISSING", "supiOrSuci and servingNetworkName are mandatory")
	}
	ctx := r.Context()
	if err := a.authoriseServingNetwork(ctx, info.ServingNetworkName); err != nil {
		return sbi.Answer{}, err
	}
	supi, err := a.resolve(ctx, info.SUPIOrSUCI)
	if err != nil {
		return sbi.Answer{}, err
	}
	credentials, err := a.directory.Credentials(ctx, supi)
	if subscription.IsUnknown(err) {
		a.count(resultUnknownUser)
		return sbi.Answer{}, sbi.UserNotFound(supi)
	}
	if errors.Is(err, subscription.ErrBarred) {
		a.count(resultBarred)
		return sbi.Answer{}, sbi.NewProblem(http.StatusForbidden, "AUTHENTICATION_REJECTED", "the subscriber is barred").About("supi", supi)
	}
	if problem := (*sbi.Problem)(nil); errors.As(err, &problem) { // the database of subscribers is away, or the API server
		a.count(resultNoCredential)
		return sbi.Answer{}, err
	}
	if err != nil {
		a.count(resultNoCredential)
		a.log.Error("the subscriber cannot be authenticated", "supi", supi, "error", err)
		return sbi.Answer{}, sbi.NewProblem(http.StatusInternalServerError, "AV_GENERATION_PROBLEM",
			"the keys of the subscriber cannot be read")
	}
	var resynchronise func(*remembered) error
	if info.ResynchronizationInfo != nil {
		if resynchronise, err = a.resynchronise(supi, credentials, info); err != nil {
			return sbi.Answer{}, err
		}
	}
	return a.challenge(r, supi, credentials, info.ServingNetworkName, resynchronise)
}

// authoriseServingNetwork lets only the core's own PLMNs ask (TS 33.501 6.1.2).
func (a *AUSF) authoriseServingNetwork(ctx context.Context, name string) error {
	core, err := a.directory.Core(ctx)
	if err != nil {
		return err
	}
	// The name is input to the keys (TS 33.501 6.1.1.4): it is one of ours or it is not. That of a stand-alone
	// non-public network would have its NID behind it (TS 24.501 9.12.1); the core is none.
	for _, p := range core.PLMNs {
		if name == p.ServingNetworkName() {
			return nil
		}
	}
	a.count(resultNotServed)
	return sbi.NewProblem(http.StatusForbidden, "SERVING_NETWORK_NOT_AUTHORIZED",
		"the serving network is none of the core's PLMNs")
}

// resolve returns the SUPI behind the identity that the AMF sent.
func (a *AUSF) resolve(ctx context.Context, identity string) (string, error) {
	if !suci.IsSUCI(identity) {
		if suci.IsSUPI(identity) {
			return identity, nil
		}
		a.count(resultUnknownUser)
		return "", sbi.UserNotFound(identity)
	}
	concealed, err := suci.Parse(identity)
	if err == nil {
		var supi string
		supi, err = concealed.SUPI(func(id uint8, s suci.Scheme) (suci.PrivateKey, error) {
			return a.directory.HomeNetworkKey(ctx, id, s)
		})
		if err == nil {
			return supi, nil
		}
	}
	a.count(resultBadSUCI)
	// The causes and their status codes are those of TS 29.503 6.3.7.3 and TS 29.509 6.1.7.3.
	switch {
	case errors.Is(err, suci.ErrUnsupportedScheme):
		return "", sbi.NewProblem(http.StatusNotImplemented, "UNSUPPORTED_PROTECTION_SCHEME", err.Error())
	case errors.Is(err, suci.ErrUnknownKey):
		return "", sbi.NewProblem(http.StatusForbidden, "INVALID_HN_PUBLIC_KEY_IDENTIFIER", err.Error())
	case errors.Is(err, suci.ErrSchemeOutput):
		return "", sbi.NewProblem(http.StatusForbidden, "INVALID_SCHEME_OUTPUT", err.Error())
	case errors.Is(err, suci.ErrMalformed):
		return "", sbi.BadRequest("MANDATORY_IE_INCORRECT", err.Error())
	}
	return "", err
}

// resynchronise verifies an AUTS, and returns what takes the USIM's sequence number over (TS 33.501 6.1.3.3.2).
func (a *AUSF) resynchronise(supi string, credentials aka.Credentials, info authenticationInfo) (func(*remembered) error, error) {
	var rnd [16]byte
	var auts [14]byte
	if !decodeHex(rnd[:], info.ResynchronizationInfo.RAND) || !decodeHex(auts[:], info.ResynchronizationInfo.AUTS) {
		return nil, sbi.BadRequest("OPTIONAL_IE_INCORRECT", "rand has 32 and auts 28 hexadecimal digits")
	}
	sqnMS, err := credentials.OpenAUTS(rnd, auts)
	if err != nil {
		a.count(resultMACFailure)
		a.log.Warn("resynchronisation refused", "supi", supi, "error", err)
		return nil, sbi.NewProblem(http.StatusForbidden, "AUTHENTICATION_REJECTED", "AUTS is not the subscriber's")
	}
	return func(m *remembered) error {
		now, err := a.sequences.Resynchronise(m.Sequence, sqnMS, m.challenged(rnd))
		if err != nil {
			return sbi.NewProblem(http.StatusForbidden, "AUTHENTICATION_REJECTED", err.Error())
		}
		m.Sequence = now
		return nil
	}, nil
}

// challenge makes a vector, and keeps with its sequence number what the confirmation needs.
func (a *AUSF) challenge(r *http.Request, supi string, credentials aka.Credentials, snn string, resynchronise func(*remembered) error) (sbi.Answer, error) {
	var rnd [16]byte
	if _, err := io.ReadFull(a.random, rnd[:]); err != nil {
		return sbi.Answer{}, fmt.Errorf("random numbers: %w", err)
	}
	var vector aka.Vector
	ctx := r.Context()
	id, err := a.memory.add(ctx, supi, func(m *remembered) (opened, error) {
		if resynchronise != nil {
			if err := resynchronise(m); err != nil {
				return opened{}, err
			}
		}
		sqn, now, err := a.sequences.Next(ctx, m.Sequence)
		if err != nil {
			return opened{}, sbi.NewProblem(http.StatusInternalServerError, "AV_GENERATION_PROBLEM", err.Error())
		}
		m.Sequence = now
		if vector, err = credentials.Vector(rnd, sqn, snn); err != nil {
			return opened{}, sbi.NewProblem(http.StatusInternalServerError, "AV_GENERATION_PROBLEM",
				"the authentication vector cannot be computed")
		}
		return opened{RAND: rnd[:], XRESStar: vector.XRESStar[:], KSEAF: vector.KSEAF[:]}, nil
	})
	if err != nil {
		return sbi.Answer{}, err
	}
	if resynchronise != nil {
		a.count(resultResync)
		a.log.Info("sequence number resynchronised", "supi", supi)
	}
	a.count(resultChallenged)
	resource := sbi.BaseURI(r) + prefix + "/" + id
	return sbi.Answer{
		Status:   http.StatusCreated,
		Location: resource,
		Body: ueAuthenticationCtx{
			AuthType: "5G_AKA",
			AuthData: av5GAKA{
				RAND:      hex.EncodeToString(vector.RAND[:]),
				HXRESStar: hex.EncodeToString(vector.HXRESStar[:]),
				AUTN:      hex.EncodeToString(vector.AUTN[:]),
			},
			Links:              map[string][]link{"5g-aka": {{Href: resource + "/5g-aka-confirmation"}}},
			ServingNetworkName: snn,
		},
	}, nil
}

// confirmationResponse is ConfirmationDataResponse of TS 29.509 6.1.6.2.8.
type confirmationResponse struct {
	AuthResult string `json:"authResult"`
	SUPI       string `json:"supi,omitempty"`
	KSEAF      string `json:"kseaf,omitempty"`
}

// confirm compares RES* with XRES* and hands out KSEAF (TS 33.501 6.1.3.2.0 steps 10 to 12).
func (a *AUSF) confirm(r *http.Request) (sbi.Answer, error) {
	var data struct {
		RESStar string `json:"resStar"`
	}
	if err := sbi.ReadJSON(r, &data); err != nil {
		return sbi.Answer{}, err
	}
	id := r.PathValue("authCtxId")
	pending, ok, err := a.memory.find(r.Context(), id)
	if err != nil {
		return sbi.Answer{}, err
	}
	if !ok {
		return sbi.Answer{}, contextNotFound()
	}
	var resStar [16]byte
	// An absent or malformed RES* is a wrong one: the UE did not prove anything.
	if !decodeHex(resStar[:], data.RESStar) || !hmac.Equal(resStar[:], pending.XRESStar) {
		if err := a.end(r.Context(), id); err != nil { // there is no second try
			return sbi.Answer{}, err
		}
		a.count(resultWrongRES)
		a.log.Info("authentication failed: wrong RES*", "supi", pending.SUPI)
		return sbi.Answer{Status: http.StatusOK, Body: confirmationResponse{AuthResult: "AUTHENTICATION_FAILURE"}}, nil
	}
	go a.forget(context.WithoutCancel(r.Context()), id, pending.SUPI) // the UE waits for nothing that is written
	a.count(resultSuccess)
	a.log.Info("authentication succeeded", "supi", pending.SUPI)
	return sbi.Answer{Status: http.StatusOK, Body: confirmationResponse{
		AuthResult: "AUTHENTICATION_SUCCESS",
		SUPI:       pending.SUPI,
		KSEAF:      hex.EncodeToString(pending.KSEAF),
	}}, nil
}

// forget what was confirmed. Until it is, the same confirmation has the same answer; what is not forgotten expires.
func (a *AUSF) forget(ctx context.Context, id, supi string) {
	if _, _, err := a.memory.take(ctx, id, a.sequences); err != nil {
		a.log.Debug("a confirmed authentication is not forgotten yet", "supi", supi, "error", err)
	}
}

// remove forgets an authentication (TS 29.509 5.2.2.2.4).
func (a *AUSF) remove(r *http.Request) (sbi.Answer, error) {
	if err := a.end(r.Context(), r.PathValue("authCtxId")); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusNoContent}, nil
}

// end an authentication, before anything is said of it.
func (a *AUSF) end(ctx context.Context, id string) error {
	_, ok, err := a.memory.take(ctx, id, a.sequences)
	if err == nil && !ok {
		return contextNotFound()
	}
	return err
}

func (a *AUSF) eapNotOffered(*http.Request) (sbi.Answer, error) {
	return sbi.Answer{}, sbi.NewProblem(http.StatusNotImplemented, "UNSUPPORTED_RESOURCE",
		"EAP authentication is not offered: use 5G-AKA")
}

func contextNotFound() *sbi.Problem {
	return sbi.NewProblem(http.StatusNotFound, "CONTEXT_NOT_FOUND", "no authentication is open under this identifier")
}

func (a *AUSF) count(result string) { a.results.WithLabelValues(result).Inc() }

func decodeHex(dst []byte, text string) bool {
	if len(text) != 2*len(dst) {
		return false
	}
	_, err := hex.Decode(dst, []byte(text))
	return err == nil
}
