package nchf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Answer is ChargingDataResponse (TS 32.291 6.1.6.2.1.2).
type Answer struct {
	Sequence uint32
	Quotas   []Quota
	// Triggers that hold for the session, where the CHF sets them.
	Triggers []Trigger
	// Failover: where this CHF does not answer, another may be asked for the same session.
	Failover bool
	// Error is the cause of an invocation that has failed, and Handling what to do: TERMINATE, CONTINUE,
	// RETRY_AND_TERMINATE. "" for none.
	Error, Handling string
}

// Quota is MultipleUnitInformation (TS 32.291 6.1.6.2.1.6). What is not said is zero.
type Quota struct {
	RatingGroup uint32
	// Result is SUCCESS, or why there is no quota: QUOTA_LIMIT_REACHED, END_USER_SERVICE_DENIED,
	// QUOTA_MANAGEMENT_NOT_APPLICABLE (no quota is needed), ...
	Result string
	// Granted is nil where nothing was; then there is no limit if the Result is SUCCESS.
	Granted *Units
	// Validity and Holding are how long the quota may be used, and lie unused.
	Validity, Holding time.Duration
	// TimeThreshold and VolumeThreshold are what is left when more is to be asked for.
	TimeThreshold   time.Duration
	VolumeThreshold uint64
	Triggers        []Trigger
	// Final is what happens when this last quota is used: TERMINATE, REDIRECT, RESTRICT_ACCESS, "" where it is not the
	// last. Redirect is the address of the second.
	Final, Redirect string
	// TariffChange is when usage is to be counted anew.
	TariffChange time.Time
	UPFID        string
}

// Blocked: packets of the rating group may not pass.
func (q Quota) Blocked() bool {
	switch q.Result {
	case "", "SUCCESS", "QUOTA_MANAGEMENT_NOT_APPLICABLE":
		return false
	}
	return true
}

type answerJSON struct {
	Sequence uint32      `json:"invocationSequenceNumber"`
	Quotas   []quotaJSON `json:"multipleUnitInformation"`
	Triggers []Trigger   `json:"triggers"`
	Failover string      `json:"sessionFailover"`
	Result   struct {
		Error struct {
			Cause string `json:"cause"`
		} `json:"error"`
		Handling string `json:"failureHandling"`
	} `json:"invocationResult"`
}

type quotaJSON struct {
	Result      string `json:"resultCode"`
	RatingGroup uint32 `json:"ratingGroup"`
	Granted     *struct {
		Units
		TariffChange *time.Time `json:"tariffTimeChange"`
	} `json:"grantedUnit"`
	Triggers        []Trigger `json:"triggers"`
	Validity        uint32    `json:"validityTime"`
	Holding         uint32    `json:"quotaHoldingTime"`
	TimeThreshold   uint32    `json:"timeQuotaThreshold"`
	VolumeThreshold uint64    `json:"volumeQuotaThreshold"`
	UPFID           string    `json:"uPFID"`
	Final           *struct {
		Action   string `json:"finalUnitAction"`
		Redirect struct {
			Address string `json:"redirectServerAddress"`
		} `json:"redirectServer"`
	} `json:"finalUnitIndication"`
}

// decodeAnswer reads a ChargingDataResponse.
func decodeAnswer(raw []byte) (Answer, error) {
	if raw = bytes.TrimSpace(raw); !bytes.HasPrefix(raw, []byte("{")) {
		return Answer{}, errors.New("a ChargingDataResponse is an object")
	}
	var in answerJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return Answer{}, fmt.Errorf("the ChargingDataResponse cannot be read: %w", err)
	}
	out := Answer{
		Sequence: in.Sequence, Triggers: in.Triggers, Failover: in.Failover == "FAILOVER_SUPPORTED",
		Error: in.Result.Error.Cause, Handling: in.Result.Handling,
	}
	for _, q := range in.Quotas {
		quota := Quota{
			RatingGroup: q.RatingGroup, Result: q.Result, Validity: seconds(q.Validity), Holding: seconds(q.Holding),
			TimeThreshold: seconds(q.TimeThreshold), VolumeThreshold: q.VolumeThreshold, Triggers: q.Triggers, UPFID: q.UPFID,
		}
		if q.Granted != nil {
			units := q.Granted.Units
			quota.Granted = &units
			if q.Granted.TariffChange != nil {
				quota.TariffChange = *q.Granted.TariffChange
			}
		}
		if q.Final != nil {
			quota.Final, quota.Redirect = q.Final.Action, q.Final.Redirect.Address
		}
		out.Quotas = append(out.Quotas, quota)
	}
	return out, nil
}

func seconds(n uint32) time.Duration { return time.Duration(n) * time.Second }
