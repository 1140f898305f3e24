package nausf

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	serviceName = "nausf-auth"
	path        = "/nausf-auth/v1/ue-authentications"
	// maxEAP bounds an EAP message: its length has 16 bits, and NAS carries less.
	maxEAP = 65535
)

// Client calls AUSFs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

func service() sbi.Service { return sbi.Service{Type: "AUSF", Name: serviceName} }

// Method of an authentication (AuthType, TS 29.509 6.1.6.3.2).
type Method string

// The methods that an AMF can carry.
const (
	FiveGAKA    Method = "5G_AKA"
	EAPAKAPrime Method = "EAP_AKA_PRIME"
)

// Request says who is to be authenticated (AuthenticationInfo, TS 29.509 6.1.6.2.2).
type Request struct {
	// Identity is a SUCI, suci-0-208-93-0000-0-0-0000000001, or a SUPI.
	Identity string
	// Serving is the network that the UE is in: the key is bound to it.
	Serving ts29571.PLMN
	// Resync is what a UE answered whose sequence number is another, nil otherwise.
	Resync *Resync
}

// Resync is RAND of the challenge that the UE refused, and AUTS of its answer (TS 33.501 6.1.3.3).
type Resync struct {
	RAND [16]byte
	AUTS [14]byte
}

// Challenge is an authentication that has begun (UEAuthenticationCtx, TS 29.509 6.1.6.2.3).
type Challenge struct {
	Method Method
	// RAND, AUTN and HXRESStar are of 5G-AKA.
	RAND, AUTN, HXRESStar [16]byte
	// EAP is the first message of an EAP method, for the UE.
	EAP []byte
	// Resource is where the authentication goes on.
	Resource sbi.Bound
}

// Result is how an authentication went (AuthResult, TS 29.509 6.1.6.3.3).
type Result struct {
	// Success: SUPI and KSEAF are there. Ongoing: there is another EAP message for the UE. Neither: it has failed.
	Success, Ongoing bool
	SUPI             string
	KSEAF            [32]byte
	// EAP is for the UE, also at the end (EAP-Success, EAP-Failure); nil of 5G-AKA.
	EAP []byte
}

type authenticationInfo struct {
	Identity string      `json:"supiOrSuci"`
	Network  string      `json:"servingNetworkName"`
	Resync   *resyncInfo `json:"resynchronizationInfo,omitempty"`
}

type resyncInfo struct {
	RAND string `json:"rand"`
	AUTS string `json:"auts"`
}

// Authenticate begins an authentication (TS 29.509 5.2.2.2.2).
func (c *Client) Authenticate(ctx context.Context, r *Request) (*Challenge, error) {
	const operation = "UeAuthenticationsPost"
	info := authenticationInfo{Identity: r.Identity, Network: r.Serving.ServingNetworkName()}
	if r.Resync != nil {
		info.Resync = &resyncInfo{hex.EncodeToString(r.Resync.RAND[:]), hex.EncodeToString(r.Resync.AUTS[:])}
	}
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, Service: service(), Path: path, JSON: info,
		// Another challenge does no harm: the one that nobody answers is forgotten.
		Repeatable: true,
	})
	if err != nil {
		return nil, err
	}
	out, err := readChallenge(reply.Message, r.Serving.ServingNetworkName())
	if err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	if err := out.resource(reply); err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}

// link is where the answers of a method go, as the AUSF calls it.
func (c *Challenge) link() string {
	if c.Method == FiveGAKA {
		return "5g-aka"
	}
	return "eap-session"
}

// resource makes the link, which may be relative, a whole URI.
func (c *Challenge) resource(reply *sbi.Reply) error {
	base, err := url.Parse(reply.URI)
	if err != nil {
		return err
	}
	bound := reply.Bound()
	uri, err := base.Parse(c.Resource.URI)
	if err != nil || uri.Host == "" || uri.Scheme != "http" && uri.Scheme != "https" {
		return fmt.Errorf("the link %s leads nowhere", c.link())
	}
	bound.URI = uri.String()
	c.Resource = bound
	return nil
}

func readChallenge(m sbi.Message, network string) (*Challenge, error) {
	content, err := m.Content()
	if err != nil {
		return nil, err
	}
	method, err := sbi.Mandatory[Method](content, "authType")
	if err != nil {
		return nil, err
	}
	// The name is input to the keys of both sides (TS 33.501 6.1.1.4).
	if name, there, err := sbi.Optional[string](content, "servingNetworkName"); err != nil || there && name != network {
		return nil, fmt.Errorf("the challenge is for the serving network %.64q, and the UE is in %s", name, network)
	}
	out := &Challenge{Method: method}
	switch method {
	case FiveGAKA:
		vector, err := sbi.Mandatory[vector](content, "5gAuthData")
		if err != nil {
			return nil, err
		}
		out.RAND, out.AUTN, out.HXRESStar = [16]byte(vector.RAND), [16]byte(vector.AUTN), [16]byte(vector.HXRESStar)
	case EAPAKAPrime:
		payload, err := sbi.Mandatory[eapPayload](content, "5gAuthData")
		if err != nil {
			return nil, err
		}
		if out.EAP = payload; len(out.EAP) == 0 {
			return nil, errors.New("the challenge has no EAP message")
		}
	default:
		return nil, fmt.Errorf("authType %.32q: no UE of this network is authenticated by it", method)
	}
	links, err := sbi.Mandatory[map[string]links](content, "_links")
	if err != nil {
		return nil, err
	}
	if out.Resource.URI = string(links[out.link()]); out.Resource.URI == "" {
		return nil, fmt.Errorf("the challenge has no link %s", out.link())
	}
	return out, nil
}

type vector struct {
	RAND      octets16 `json:"rand"`
	AUTN      octets16 `json:"autn"`
	HXRESStar octets16 `json:"hxresStar"`
}

func (v *vector) UnmarshalJSON(raw []byte) error {
	var in struct{ RAND, AUTN, HXRESStar *octets16 }
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if in.RAND == nil || in.AUTN == nil || in.HXRESStar == nil {
		return errors.New("an authentication vector has rand, autn and hxresStar")
	}
	*v = vector{*in.RAND, *in.AUTN, *in.HXRESStar}
	return nil
}

type octets16 [16]byte

func (o *octets16) UnmarshalJSON(raw []byte) error { return readHex(raw, o[:]) }

type octets32 [32]byte

func (o *octets32) UnmarshalJSON(raw []byte) error { return readHex(raw, o[:]) }

// readHex says how long a text must be, and never what it is: it may be a key.
func readHex(raw []byte, into []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(text) == 2*len(into) {
		if _, err := hex.Decode(into, []byte(text)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("write %d hexadecimal digits", 2*len(into))
}

// eapPayload is an EAP message in base64.
type eapPayload []byte

func (e *eapPayload) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return errors.New("an EAP message is a string in base64")
	}
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(out) > maxEAP {
		return errors.New("an EAP message is a string in base64, of 65535 octets at most")
	}
	*e = out
	return nil
}

// links is one link or a list of them (LinksValueSchema, TS 29.571 5.2.4.3); the first is taken.
type links string

func (l *links) UnmarshalJSON(raw []byte) error {
	type link struct {
		Href string `json:"href"`
	}
	list := []link{}
	if strings.HasPrefix(string(raw), "[") {
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
	} else {
		list = append(list, link{})
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		*l = links(list[0].Href)
	}
	return nil
}

// Confirm says RES* of the UE, and gives what the AUSF makes of it (TS 29.509 5.2.2.2.2 step 3). RES* is nil where the
// UE failed before it gave one.
func (c *Client) Confirm(ctx context.Context, ch *Challenge, resStar *[16]byte) (*Result, error) {
	const operation = "5gAkaConfirmationPut"
	var body struct {
		RESStar *string `json:"resStar"` // null where there is none
	}
	if resStar != nil {
		text := hex.EncodeToString(resStar[:])
		body.RESStar = &text
	}
	call := ch.Resource.Call(operation, http.MethodPut, service())
	call.JSON = body
	return c.result(ctx, call)
}

// EAP hands a message of the UE on, and gives the next for it (TS 29.509 5.2.2.2.3).
func (c *Client) EAP(ctx context.Context, ch *Challenge, message []byte) (*Result, error) {
	call := ch.Resource.Call("EapAuthMethod", http.MethodPost, service())
	call.JSON = struct {
		Payload []byte `json:"eapPayload"`
	}{message}
	return c.result(ctx, call)
}

func (c *Client) result(ctx context.Context, call sbi.Call) (*Result, error) {
	reply, err := c.sbi.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	out, err := readResult(reply.Message)
	if err != nil {
		return nil, &sbi.Unknown{Operation: call.Operation, Err: err}
	}
	return out, nil
}

// readResult reads a ConfirmationDataResponse or an EapSession (TS 29.509 6.1.6.2.8, 6.1.6.2.7), whose members for
// the key differ in case.
func readResult(m sbi.Message) (*Result, error) {
	content, err := m.Content()
	if err != nil {
		return nil, err
	}
	f := sbi.Reading(content, m)
	var out Result
	var payload eapPayload
	var kSEAF octets32
	var how string
	sbi.Member(f, "eapPayload", &payload)
	sbi.Member(f, "authResult", &how)
	hasSUPI := sbi.Member(f, "supi", &out.SUPI)
	hasKey := sbi.Member(f, "kseaf", &kSEAF) || sbi.Member(f, "kSeaf", &kSEAF)
	if f.Err() != nil {
		return nil, f.Err()
	}
	out.EAP, out.KSEAF = payload, kSEAF
	switch how {
	case "AUTHENTICATION_SUCCESS":
		if !hasSUPI || !hasKey || out.SUPI == "" {
			return nil, errors.New("the UE is authenticated, and its supi or kseaf is not there")
		}
		if !ts29571.IsSUPI(out.SUPI) {
			return nil, fmt.Errorf("the UE is authenticated, and its supi is none: it is %s", ts29571.SUPIForm)
		}
		out.Success = true
	case "AUTHENTICATION_FAILURE":
		return &Result{EAP: out.EAP}, nil
	case "", "AUTHENTICATION_ONGOING":
		if len(out.EAP) == 0 {
			return nil, errors.New("there is neither an authResult nor an eapPayload")
		}
		return &Result{Ongoing: true, EAP: out.EAP}, nil
	default:
		return nil, fmt.Errorf("authResult %.32q is not known", how)
	}
	return &out, nil
}

// GiveUp has the AUSF forget an authentication (TS 29.509 5.2.2.2.4). One that is not there any more is forgotten.
func (c *Client) GiveUp(ctx context.Context, ch *Challenge) error {
	call := ch.Resource.Call("Delete5gAkaAuthenticationResult", http.MethodDelete, service())
	call.Repeatable = true
	_, err := c.sbi.Do(ctx, call)
	var refused *sbi.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// Reason sorts failures by what the UE is told (TS 29.509 6.1.7.3, TS 24.501 5.5.1.2.5).
type Reason uint8

// The reasons of a failure.
const (
	// Failed: nobody answers, or cannot now. The UE may try again.
	Failed Reason = iota
	// UnknownUser: no subscription has the identity.
	UnknownUser
	// BadSUCI: the identity cannot be read, or its key is not known here.
	BadSUCI
	// NotServed: the home network does not let this network serve its UEs.
	NotServed
	// Rejected: what the UE answered is not the subscriber's.
	Rejected
	// Forgotten: the AUSF knows no such authentication (any more); a new one may be begun.
	Forgotten
)

// ReasonOf sorts an error.
func ReasonOf(err error) Reason {
	var refused *sbi.Refused
	if !errors.As(err, &refused) {
		return Failed
	}
	switch refused.Cause {
	case "USER_NOT_FOUND":
		return UnknownUser
	case "CONTEXT_NOT_FOUND":
		return Forgotten
	case "INVALID_HN_PUBLIC_KEY_IDENTIFIER", "INVALID_SCHEME_OUTPUT", "UNSUPPORTED_PROTECTION_SCHEME", "MANDATORY_IE_INCORRECT":
		return BadSUCI
	case "SERVING_NETWORK_NOT_AUTHORIZED":
		return NotServed
	case "AUTHENTICATION_REJECTED":
		return Rejected
	}
	switch refused.Status {
	case http.StatusNotFound:
		return UnknownUser
	case http.StatusForbidden:
		return Rejected
	}
	return Failed
}
