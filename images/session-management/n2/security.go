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

// IntegrityRate is the Maximum Integrity Protected Data Rate per UE, uplink (TS 38.413 9.3.1.103); without another for
// the downlink, it is both directions'.
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
	// Rate has to be said where integrity protection is required or preferred.
	Rate IntegrityRate
}

// SecurityResult of TS 38.413 9.3.1.59: what is performed.
type SecurityResult struct{ Integrity, Confidentiality bool }

// errNoRate is for who writes: of a gNB that leaves the rate out, what it says is understood.
var errNoRate = errors.New("integrity protection that is required or preferred has a maximum data rate")

const (
	securityIndication = "Security Indication"
	securityResult     = "Security Result"
)

func (c *check) security(ie string, in *ngapType.SecurityIndication) *Security {
	if in == nil {
		return nil
	}
	out := &Security{
		Integrity:       Protection(c.enumerated(ie, in.IntegrityProtectionIndication.Value, 2)),
		Confidentiality: Protection(c.enumerated(ie, in.ConfidentialityProtectionIndication.Value, 2)),
	}
	if r := in.MaximumIntegrityProtectedDataRateUL; r != nil {
		out.Rate = IntegrityRate(c.enumerated(ie, r.Value, 1)) + Rate64kbps
	}
	return out
}

// enumerated checks a value that a later release may have extended, where there is no way to do without its meaning.
func (c *check) enumerated(ie string, in aper.Enumerated, high aper.Enumerated) aper.Enumerated {
	if in > high {
		c.fail(ie, "value %d of a later release", in)
		return 0
	}
	return in
}

func (c *check) putSecurity(ie string, in *Security) *ngapType.SecurityIndication {
	if in == nil {
		return nil
	}
	out := &ngapType.SecurityIndication{}
	out.IntegrityProtectionIndication.Value = aper.Enumerated(c.within(ie, int64(in.Integrity), 0, int64(NotNeeded)))
	out.ConfidentialityProtectionIndication.Value = aper.Enumerated(c.within(ie, int64(in.Confidentiality), 0, int64(NotNeeded)))
	switch {
	case in.Rate != RateNotSaid:
		rate := c.within(ie, int64(in.Rate), int64(Rate64kbps), int64(RateMaximum)) - int64(Rate64kbps)
		out.MaximumIntegrityProtectedDataRateUL = &ngapType.MaximumIntegrityProtectedDataRate{Value: aper.Enumerated(rate)}
	case in.Integrity != NotNeeded:
		c.fail(ie, "%w", errNoRate)
	}
	return out
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
