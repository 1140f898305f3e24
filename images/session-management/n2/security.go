package n2

import (
	"errors"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// Protection of the user plane between UE and access network (TS 38.413 9.3.1.27).
type Protection uint8

// The policies.
const (
	Required  Protection = 0
	Preferred Protection = 1
	NotNeeded Protection = 2
)

// IntegrityRate is a Maximum Integrity Protected Data Rate per UE (TS 38.413 9.3.1.103).
type IntegrityRate uint8

// The rates.
const (
	RateNotSaid IntegrityRate = 0
	Rate64kbps  IntegrityRate = 1
	RateMaximum IntegrityRate = 2
)

// Security is the Security Indication of TS 38.413 9.3.1.27.
type Security struct {
	Integrity, Confidentiality Protection
	// Rate has to be said where integrity protection is required or preferred. It is the uplink's, and the downlink's too
	// where RateDownlink is not said.
	Rate, RateDownlink IntegrityRate
}

// SecurityResult of TS 38.413 9.3.1.59: what is performed.
type SecurityResult struct{ Integrity, Confidentiality bool }

// errNoRate is for who writes: of a gNB that leaves the rate out, what it says is understood.
var errNoRate = errors.New("integrity protection that is required or preferred has a maximum data rate")

const (
	securityName   = "Security Indication"
	securityResult = "Security Result"
)

// ngapType has the downlink's rate without its number.
type securityIndication struct {
	Integrity       ngapType.IntegrityProtectionIndication
	Confidentiality ngapType.ConfidentialityProtectionIndication
	Rate            *ngapType.MaximumIntegrityProtectedDataRate `aper:"optional"`
	IEExtensions    *extensions                                 `aper:"optional"`
}

func (c *check) security(ie string, in *securityIndication) *Security {
	if in == nil {
		return nil
	}
	return &Security{
		Integrity:       Protection(c.enumerated(ie, in.Integrity.Value, aper.Enumerated(NotNeeded))),
		Confidentiality: Protection(c.enumerated(ie, in.Confidentiality.Value, aper.Enumerated(NotNeeded))),
		Rate:            c.integrityRate(ie, in.Rate),
		RateDownlink:    c.extensions(in.IEExtensions).rate,
	}
}

func (c *check) integrityRate(ie string, in *ngapType.MaximumIntegrityProtectedDataRate) IntegrityRate {
	if in == nil {
		return RateNotSaid
	}
	return IntegrityRate(c.enumerated(ie, in.Value, aper.Enumerated(RateMaximum-Rate64kbps))) + Rate64kbps
}

// enumerated checks a value that a later release may have extended, where there is no way to do without its meaning.
func (c *check) enumerated(ie string, in aper.Enumerated, high aper.Enumerated) aper.Enumerated {
	if in > high {
		c.fail(ie, "value %d of a later release", in)
		return 0
	}
	return in
}

func (c *check) putSecurity(ie string, in *Security) *securityIndication {
	if in == nil {
		return nil
	}
	if in.Integrity != NotNeeded && in.Rate == RateNotSaid {
		c.fail(ie, "%w", errNoRate)
	}
	out := &securityIndication{
		Rate: c.putIntegrityRate(ie, in.Rate), IEExtensions: c.putExtensions(extended{rate: in.RateDownlink}),
	}
	out.Integrity.Value = aper.Enumerated(c.within(ie, int64(in.Integrity), 0, int64(NotNeeded)))
	out.Confidentiality.Value = aper.Enumerated(c.within(ie, int64(in.Confidentiality), 0, int64(NotNeeded)))
	return out
}

func (c *check) putIntegrityRate(ie string, in IntegrityRate) *ngapType.MaximumIntegrityProtectedDataRate {
	if in == RateNotSaid {
		return nil
	}
	rate := c.within(ie, int64(in), int64(Rate64kbps), int64(RateMaximum)) - int64(Rate64kbps)
	return &ngapType.MaximumIntegrityProtectedDataRate{Value: aper.Enumerated(rate)}
}

func (c *check) result(in *ngapType.SecurityResult) *SecurityResult {
	if in == nil {
		return nil
	}
	return &SecurityResult{
		Integrity:       c.enumerated(securityResult, in.IntegrityProtectionResult.Value, 1) == ngapType.IntegrityProtectionResultPresentPerformed,
		Confidentiality: c.enumerated(securityResult, in.ConfidentialityProtectionResult.Value, 1) == ngapType.ConfidentialityProtectionResultPresentPerformed,
	}
}

func (c *check) putResult(in *SecurityResult) *ngapType.SecurityResult {
	if in == nil {
		return nil
	}
	out := &ngapType.SecurityResult{}
	out.IntegrityProtectionResult.Value = either(in.Integrity,
		ngapType.IntegrityProtectionResultPresentPerformed, ngapType.IntegrityProtectionResultPresentNotPerformed)
	out.ConfidentialityProtectionResult.Value = either(in.Confidentiality,
		ngapType.ConfidentialityProtectionResultPresentPerformed, ngapType.ConfidentialityProtectionResultPresentNotPerformed)
	return out
}
