package rules

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

func createURR(triggers []uint8, more ...*ie.IE) *ie.IE {
	return ie.NewCreateURR(append([]*ie.IE{ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 1), ie.NewReportingTriggers(triggers...)}, more...)...)
}

func TestPlanReadsURRs(t *testing.T) {
	monitoring := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		create  *ie.IE
		want    URR
		granted []Granted
	}{
		"time threshold": {createURR([]uint8{0x04, 0}, ie.NewTimeThreshold(time.Minute)), URR{Triggers: TimeThreshold, TimeThreshold: 60}, nil},
		"a threshold of nothing is none": {createURR([]uint8{0x02, 0}, ie.NewVolumeThreshold(0x03, 0, 7, 0)),
			URR{Triggers: VolumeThreshold, Threshold: Volume{Has: HasUL, UL: 7}}, nil},
		"quotas": {createURR([]uint8{0, 0x03}, ie.NewVolumeQuota(0x01, 500, 0, 0), ie.NewTimeQuota(0), ie.NewFARID(1), ie.NewQuotaHoldingTime(9*time.Second), ie.NewQuotaValidityTime(time.Hour)),
			URR{Triggers: VolumeQuota | TimeQuota, More: &URRMore{Quota: Volume{Has: HasTotal, Total: 500}, HasTimeQuota: true, HasQuotaFAR: true, QuotaFAR: 1, HoldingTime: 9, ValidityTime: 3600}},
			[]Granted{{URR: 2, Volume: true, Time: true, Validity: true}}},
		"Monitoring Time": {createURR([]uint8{0x02, 0}, ie.NewVolumeThreshold(0x01, 10, 0, 0), ie.NewMonitoringTime(monitoring), ie.NewSubsequentVolumeThreshold(0x01, 20, 0, 0), ie.NewSubsequentTimeQuota(5*time.Second)),
			URR{Triggers: VolumeThreshold, Threshold: Volume{Has: HasTotal, Total: 10}, More: &URRMore{Monitoring: monitoring.Unix(), NextThreshold: Volume{Has: HasTotal, Total: 20}, HasNextTimeQuota: true, NextTimeQuota: 5}}, nil},
		"linked": {createURR([]uint8{0x80, 0}, ie.NewLinkedURRID(1), ie.NewLinkedURRID(1), ie.NewLinkedURRID(7)), URR{Triggers: LinkedUsage, More: &URRMore{Linked: []uint32{1, 7}}}, nil},
		"Measurement Information": {createURR([]uint8{0, 0}, ie.NewMeasurementInformation(0x1f)),
			URR{Info: BeforeQoS | Paused | ReducedApp | ImmediateStart | CountPackets}, nil},
		"Number of Reports": {createURR([]uint8{0, 0}, ie.NewNumberOfReports(3)), URR{More: &URRMore{HasReports: true, Reports: 3}}, []Granted{{URR: 2, Reports: true}}},
		"traffic and inactivity": {createURR([]uint8{0x30, 0, 0x02}, ie.NewInactivityDetectionTime(4), ie.NewUserPlaneInactivityTimer(8*time.Second)),
			URR{Triggers: StartOfTraffic | StopOfTraffic | UserPlaneInactive, More: &URRMore{Inactivity: 4, PlaneInactivity: 8}}, []Granted{{URR: 2, PlaneInactivityTimer: true}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Plan(established(t), message(t, tt.create), policy())
			if err != nil {
				t.Fatal(err)
			}
			tt.want.ID, tt.want.MeasureTime, tt.want.MeasureVolume = 2, true, true
			if diff := cmp.Diff(&tt.want, c.Next.URRs.Get(2)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.granted, c.Granted); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanRefusesURRs(t *testing.T) {
	failed, missing := ie.CauseRuleCreationModificationFailure, ie.CauseConditionalIEMissing
	tests := map[string]struct {
		ie        *ie.IE
		cause     uint8
		offending uint16
	}{
		"event based measurement":          {ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(1, 0, 0), ie.NewReportingTriggers(0, 0)), failed, ie.MeasurementMethod},
		"DROTH":                            {createURR([]uint8{0x40, 0}), failed, ie.ReportingTriggers},
		"ENVCL":                            {createURR([]uint8{0, 0x04}), failed, ie.ReportingTriggers},
		"MACAR":                            {createURR([]uint8{0, 0x08}), failed, ie.ReportingTriggers},
		"EVETH":                            {createURR([]uint8{0, 0x10}), failed, ie.ReportingTriggers},
		"EVEQU":                            {createURR([]uint8{0, 0x20}), failed, ie.ReportingTriggers},
		"IPMJL":                            {createURR([]uint8{0, 0x40}), failed, ie.ReportingTriggers},
		"REEMR":                            {createURR([]uint8{0, 0, 0x01}), failed, ie.ReportingTriggers},
		"a trigger that nobody knows":      {createURR([]uint8{0, 0, 0x80}), failed, ie.ReportingTriggers},
		"Dropped DL Traffic Threshold":     {createURR([]uint8{0, 0}, ie.NewDroppedDLTrafficThreshold(true, true, 1, 1)), failed, ie.DroppedDLTrafficThreshold},
		"Event Quota":                      {createURR([]uint8{0, 0}, ie.NewEventQuota(1)), failed, ie.EventQuota},
		"Event Threshold":                  {createURR([]uint8{0, 0}, ie.NewEventThreshold(1)), failed, ie.EventThreshold},
		"MACAR of an IP session":           {createURR([]uint8{0, 0x08}, ie.NewEthernetInactivityTimer(time.Second)), failed, ie.ReportingTriggers},
		"Time Quota Mechanism":             {createURR([]uint8{0, 0}, ie.NewTimeQuotaMechanism(0, time.Second)), failed, ie.TimeQuotaMechanism},
		"Additional Monitoring Time":       {createURR([]uint8{0, 0}, ie.NewAdditionalMonitoringTime(ie.NewMonitoringTime(time.Now()))), failed, ie.AdditionalMonitoringTime},
		"an application that is exempt":    {createURR([]uint8{0, 0}, ie.NewApplicationID("x")), failed, ie.ApplicationID},
		"pause of charging":                {createURR([]uint8{0, 0}, ie.NewMeasurementInformation(0x20)), failed, ie.MeasurementInformation},
		"the UPF's own ID":                 {ie.NewCreateURR(ie.NewURRID(InactivityURR), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0)), failed, ie.URRID},
		"time threshold that is not given": {createURR([]uint8{0x04, 0}), missing, ie.TimeThreshold},
		"time quota that is not given":     {createURR([]uint8{0, 0x02}), missing, ie.TimeQuota},
		"holding time that is not given":   {createURR([]uint8{0x08, 0}), missing, ie.QuotaHoldingTime},
		"inactivity without timer":         {createURR([]uint8{0, 0, 0x02}), missing, ie.UserPlaneInactivityTimer},
		"linked to nothing":                {createURR([]uint8{0x80, 0}), missing, ie.LinkedURRID},
		"subsequent to no Monitoring Time": {createURR([]uint8{0, 0}, ie.NewSubsequentVolumeThreshold(0x01, 1, 0, 0)), failed, ie.MonitoringTime},
		"a quota FAR that does not exist":  {createURR([]uint8{0, 0}, ie.NewFARID(9)), failed, ie.FARID},
		"a quota FAR that goes":            {ie.NewUpdateURR(ie.NewURRID(1), ie.NewFARID(9)), failed, ie.FARID},
		"a time that is cut short":         {createURR([]uint8{0, 0}, ie.New(ie.QuotaHoldingTime, []byte{0, 0})), ie.CauseInvalidLength, ie.QuotaHoldingTime},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Plan(established(t), message(t, tt.ie), policy())
			var r *pfcp.Reject
			if !errors.As(err, &r) {
				t.Fatalf("not refused: %v", err)
			}
			if r.Cause != tt.cause || r.Offending != tt.offending {
				t.Errorf("refused with %v", r)
			}
		})
	}
}

func TestUserPlaneInactivityTimerIsAURROfEveryPDR(t *testing.T) {
	base := established(t)
	c, err := Plan(base, message(t, ie.NewUserPlaneInactivityTimer(5*time.Second)), policy())
	if err != nil {
		t.Fatal(err)
	}
	if u := c.Next.URRs.Get(InactivityURR); u == nil || u.Rest().PlaneInactivity != 5 || !u.Timed() {
		t.Fatalf("URR %+v", u)
	}
	if diff := cmp.Diff([]uint32{1, InactivityURR}, c.Next.PDRs.Get(1).URRs); diff != "" {
		t.Errorf("URRs of the PDR (-want +got):\n%s", diff)
	}
	// An update of the PDR's own list does not lose it, a PDR that comes later gets it.
	c, err = Plan(c.Next, message(t, ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewURRID(1)), pdr(4)), policy())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := c.Next.PDRs.Get(1).URRs, c.Next.PDRs.Get(4).URRs; len(a) != 2 || len(b) != 1 {
		t.Errorf("URRs of the PDRs %v and %v", a, b)
	}
	if c, err := Plan(c.Next, message(t, ie.NewPFCPSMReqFlags(0x04)), policy()); err != nil || len(c.Query) != 1 {
		t.Errorf("queried %v (%v), want the CP function's own URR", c.Query, err)
	}
	if _, err := Plan(c.Next, message(t, ie.NewRemoveURR(ie.NewURRID(InactivityURR))), policy()); err == nil {
		t.Error("the CP function can remove it as a URR")
	}
	c, err = Plan(c.Next, message(t, ie.NewUserPlaneInactivityTimer(0)), policy())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Next.URRs) != 1 || len(c.Next.PDRs.Get(1).URRs) != 1 || len(c.Next.PDRs.Get(4).URRs) != 0 || len(c.RemovedURRs) != 0 {
		t.Errorf("a timer of 0 leaves %+v", c.Next)
	}
}

func TestAfterMonitoring(t *testing.T) {
	u := &URR{ID: 1, Threshold: Volume{Has: HasTotal, Total: 1}, TimeThreshold: 2,
		More: &URRMore{Monitoring: 9, NextThreshold: Volume{Has: HasUL, UL: 3}, NextQuota: Volume{Has: HasDL, DL: 4}, HasNextTimeQuota: true}}
	want := &URR{ID: 1, Threshold: Volume{Has: HasUL, UL: 3}, TimeThreshold: 2, More: &URRMore{Quota: Volume{Has: HasDL, DL: 4}, HasTimeQuota: true}}
	if diff := cmp.Diff(want, u.AfterMonitoring()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if u.More.Monitoring != 9 {
		t.Error("the URR itself was changed")
	}
}

func TestUnixSeconds(t *testing.T) {
	for v, want := range map[uint32]time.Time{
		2_208_988_800:  time.Unix(0, 0),
		math.MaxUint32: time.Date(2036, 2, 7, 6, 28, 15, 0, time.UTC),
		0:              time.Date(2036, 2, 7, 6, 28, 16, 0, time.UTC),
	} {
		if got := unixSeconds(v); got != want.Unix() {
			t.Errorf("%d is %v, want %v", v, time.Unix(got, 0), want)
		}
	}
}
