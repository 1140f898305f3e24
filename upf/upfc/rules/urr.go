package rules

// Usage Reporting Rules: TS 29.244 5.2.2.2, 7.5.2.4 (Create URR), 7.5.4.4 (Update URR).

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Reporting Triggers (TS 29.244 8.2.19), octet 5 lowest.
const (
	Periodic           uint32 = 1 << 0
	VolumeThreshold    uint32 = 1 << 1
	TimeThreshold      uint32 = 1 << 2
	QuotaHoldingTime   uint32 = 1 << 3
	StartOfTraffic     uint32 = 1 << 4
	StopOfTraffic      uint32 = 1 << 5
	LinkedUsage        uint32 = 1 << 7
	VolumeQuota        uint32 = 1 << 8
	TimeQuota          uint32 = 1 << 9
	MACReporting       uint32 = 1 << 11 // MACAR
	QuotaValidityTime  uint32 = 1 << 15
	UserPlaneInactive  uint32 = 1 << 17
	supportedReporting        = Periodic | VolumeThreshold | TimeThreshold | QuotaHoldingTime | StartOfTraffic |
		StopOfTraffic | LinkedUsage | VolumeQuota | TimeQuota | MACReporting | QuotaValidityTime | UserPlaneInactive
)

// triggerNames are those of the bits, supported or not.
var triggerNames = [24]string{"PERIO", "VOLTH", "TIMTH", "QUHTI", "START", "STOPT", "DROTH", "LIUSA",
	"VOLQU", "TIMQU", "ENVCL", "MACAR", "EVETH", "EVEQU", "IPMJL", "QUVTI", "REEMR", "UPINT"}

// Measurement Information (TS 29.244 8.2.68) that is carried out.
const (
	BeforeQoS      uint8 = 0x01 // MBQE
	Paused         uint8 = 0x02 // INAM
	ReducedApp     uint8 = 0x04 // RADI: a report of an application carries nothing but its ID anyway
	ImmediateStart uint8 = 0x08 // ISTM
	CountPackets   uint8 = 0x10 // MNOP
	pauseCharging  uint8 = 0x20 | 0x40
)

// Volume is a Volume Threshold or Volume Quota (TS 29.244 8.2.13, 8.2.50), in octets. Has says which
// of the three are given.
type Volume struct {
	Has           uint8 // HasTotal, HasUL, HasDL
	Total, UL, DL uint64
}

func (v *Volume) dropZeros() {
	for bit, n := range []uint64{v.Total, v.UL, v.DL} {
		if n == 0 {
			v.Has &^= 1 << bit
		}
	}
}

// The flags TOVOL, ULVOL and DLVOL.
const (
	HasTotal uint8 = 0x01
	HasUL    uint8 = 0x02
	HasDL    uint8 = 0x04
)

// Seconds are how PFCP counts time.
type Seconds uint32

// Duration is the same for package time.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// InactivityURR is the ID under which the session's User Plane Inactivity Timer (TS 29.244 8.2.83)
// is kept: a URR that every PDR of the session applies and that measures nothing else. No CP
// function may use the ID itself.
const InactivityURR uint32 = 0xffffffff

// URR is TS 29.244 table 7.5.2.4-1.
type URR struct {
	ID            uint32
	MeasureVolume bool
	MeasureTime   bool
	Triggers      uint32
	Info          uint8 // Measurement Information
	Period        Seconds
	Threshold     Volume
	TimeThreshold Seconds // 0: none
	More          *URRMore
}

// URRMore is what few URRs have; nil is all of it absent.
type URRMore struct {
	Quota            Volume
	HasTimeQuota     bool
	TimeQuota        Seconds
	HasQuotaFAR      bool
	QuotaFAR         uint32 // FAR ID for Quota Action
	HoldingTime      Seconds
	ValidityTime     Seconds
	Inactivity       Seconds // Inactivity Detection Time
	PlaneInactivity  Seconds // User Plane Inactivity Timer
	Stations         Seconds // Ethernet Inactivity Timer: a MAC address that is silent for so long has gone
	Linked           []uint32
	HasReports       bool
	Reports          uint16 // Number of Reports
	Monitoring       int64  // Monitoring Time, Unix seconds; 0: none or past
	NextThreshold    Volume // Subsequent Volume Threshold
	NextQuota        Volume // Subsequent Volume Quota
	HasNextTimeQuota bool
	NextTimeQuota    Seconds // Subsequent Time Quota
	NextTime         Seconds // Subsequent Time Threshold, 0: none
}

var noMore = &URRMore{}

// Rest is what few URRs have; never nil and not to be changed.
func (u *URR) Rest() *URRMore {
	if u.More == nil {
		return noMore
	}
	return u.More
}

// Is says whether a bit of Measurement Information is set.
func (u *URR) Is(info uint8) bool { return u.Info&info != 0 }

// Wants says whether a reporting trigger is set.
func (u *URR) Wants(trigger uint32) bool { return u.Triggers&trigger != 0 }

// Timed says whether upf-u has to keep the times of packets.
func (u *URR) Timed() bool {
	return u.MeasureTime || u.Wants(QuotaHoldingTime|StopOfTraffic|UserPlaneInactive) || u.Rest().HoldingTime != 0
}

// QuietTime is how long traffic is quiet until it has stopped (STOPT): the Inactivity Detection Time, else half a minute.
func (u *URR) QuietTime() Seconds {
	if d := u.Rest().Inactivity; d != 0 {
		return d
	}
	return 30
}

// Granted says what of a URR a message gave anew, so that measuring against it begins again.
type Granted struct {
	URR                  uint32
	Volume, Time         bool // quotas
	Validity             bool
	Reports              bool // Number of Reports
	PlaneInactivityTimer bool
}

// AfterMonitoring is the URR once its Monitoring Time has passed (TS 29.244 5.2.2.2): the subsequent
// limits are the limits now.
func (u *URR) AfterMonitoring() *URR {
	next, more := *u, *u.Rest()
	if more.NextThreshold.Has != 0 {
		next.Threshold = more.NextThreshold
	}
	if more.NextTime != 0 {
		next.TimeThreshold = more.NextTime
	}
	if more.NextQuota.Has != 0 {
		more.Quota = more.NextQuota
	}
	if more.HasNextTimeQuota {
		more.HasTimeQuota, more.TimeQuota = true, more.NextTimeQuota
	}
	more.Monitoring, more.NextThreshold, more.NextTime = 0, Volume{}, 0
	more.NextQuota, more.HasNextTimeQuota, more.NextTimeQuota = Volume{}, false, 0
	next.More = &more
	return &next
}

// What of a URR this UPF does not carry out. Each is refused by name: to accept it and not report
// would lose the CP function's accounting.
var unsupportedInURR = []uint16{ie.DroppedDLTrafficThreshold, ie.EventThreshold, ie.EventQuota, ie.SubsequentEventThreshold,
	ie.SubsequentEventQuota, ie.TimeQuotaMechanism, ie.AggregatedURRs, ie.AdditionalMonitoringTime,
	ie.ApplicationID, ie.SDFFilter} // the last two: Exempted … for Quota Action

func (p *planner) urr(r *URR, group pfcp.Elements, create bool) error {
	fail := func(ieType uint16, format string, args ...any) error {
		return pfcp.RuleFailure(ieType, ie.RuleIDTypeURR, r.ID, format, args...)
	}
	lacks := func(ieType uint16, why string) error {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ieType,
			Rule: &pfcp.RuleRef{Type: ie.RuleIDTypeURR, ID: r.ID}, Detail: why}
	}
	if r.ID == InactivityURR {
		return fail(ie.URRID, "URR ID %#x is this UPF's own", r.ID)
	}
	types := group.Types() // most of what a URR can have, it has not
	for _, t := range unsupportedInURR {
		if types.May(t) && group.First(t) != nil {
			return fail(t, "not supported")
		}
	}
	if e := group.First(ie.MeasurementMethod); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		// MAC addresses are the only events there are.
		if v&0x04 != 0 && !reportsMACs(r, group) {
			return fail(e.Type, "event based measurement is not supported")
		}
		r.MeasureTime, r.MeasureVolume = v&0x01 != 0, v&0x02 != 0
	} else if create {
		return pfcp.Missing(ie.MeasurementMethod, "Create URR")
	}
	if e := group.First(ie.ReportingTriggers); e != nil {
		if len(e.Value) == 0 {
			return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Reporting Triggers are empty"}
		}
		r.Triggers = 0
		for i, o := range e.Value[:min(len(e.Value), 3)] {
			r.Triggers |= uint32(o) << (8 * i)
		}
		for bit := range 24 {
			if r.Triggers&^supportedReporting&(1<<bit) != 0 {
				return fail(e.Type, "reporting trigger %s (bit %d) is not supported", triggerNames[bit], bit+1)
			}
		}
	} else if create {
		return pfcp.Missing(ie.ReportingTriggers, "Create URR")
	}

	more := *r.Rest()
	given := Granted{URR: r.ID}
	if err := p.urrTimes(r, &more, &given, group, types, create, fail); err != nil {
		return err
	}
	for _, v := range []struct {
		ieType uint16
		into   *Volume
	}{{ie.VolumeThreshold, &r.Threshold}, {ie.VolumeQuota, &more.Quota}, {ie.SubsequentVolumeThreshold, &more.NextThreshold}, {ie.SubsequentVolumeQuota, &more.NextQuota}} {
		if !types.May(v.ieType) {
			continue
		}
		e := group.First(v.ieType)
		if e == nil {
			continue
		}
		if e.Removes(create) {
			*v.into = Volume{}
			continue
		}
		volume, err := parseVolume(e)
		if err != nil {
			return err
		}
		if v.ieType == ie.VolumeThreshold || v.ieType == ie.SubsequentVolumeThreshold {
			volume.dropZeros() // it would be reached without end
		}
		*v.into = volume
		given.Volume = given.Volume || v.ieType == ie.VolumeQuota
	}
	if e := group.First(ie.MeasurementInformation); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		if v&pauseCharging != 0 {
			return fail(e.Type, "pause of charging is not supported")
		}
		r.Info = v & (BeforeQoS | Paused | ReducedApp | ImmediateStart | CountPackets)
	}
	if e := group.First(ie.FARID); e.Removes(create) {
		more.HasQuotaFAR, more.QuotaFAR = false, 0
	} else if e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		more.HasQuotaFAR, more.QuotaFAR = true, v
	}
	if err := linkedURRs(&more, group, create); err != nil {
		return err
	}
	if e := group.First(ie.NumberOfReports); e.Removes(create) {
		more.HasReports, more.Reports = false, 0
	} else if e != nil {
		v, err := e.Uint16()
		if err != nil {
			return err
		}
		more.HasReports, more.Reports, given.Reports = true, v, true
	}

	// A trigger needs what it is to look at. VOLTH, VOLQU and QUVTI are let pass without: SMFs set
	// them before charging has told them the value, and give it in an update.
	switch {
	case r.Wants(Periodic) && r.Period == 0:
		return lacks(ie.MeasurementPeriod, "periodic reporting without Measurement Period")
	case r.Wants(TimeThreshold) && r.TimeThreshold == 0:
		return lacks(ie.TimeThreshold, "TIMTH without Time Threshold")
	case r.Wants(TimeQuota) && !more.HasTimeQuota:
		return lacks(ie.TimeQuota, "TIMQU without Time Quota")
	case r.Wants(QuotaHoldingTime) && more.HoldingTime == 0:
		return lacks(ie.QuotaHoldingTime, "QUHTI without Quota Holding Time")
	case r.Wants(UserPlaneInactive) && more.PlaneInactivity == 0:
		return lacks(ie.UserPlaneInactivityTimer, "UPINT without User Plane Inactivity Timer")
	case r.Wants(LinkedUsage) && len(more.Linked) == 0:
		return lacks(ie.LinkedURRID, "LIUSA without Linked URR ID")
	}
	r.More = nil
	if !more.empty() {
		kept := more // which stays here: few URRs have more
		r.More = &kept
	}
	if given != (Granted{URR: r.ID}) {
		p.change.Granted = append(p.change.Granted, given)
	}
	return nil
}

// reportsMACs says whether a URR will have the reporting trigger MACAR.
func reportsMACs(r *URR, group pfcp.Elements) bool {
	if e := group.First(ie.ReportingTriggers); e != nil {
		return len(e.Value) > 1 && uint32(e.Value[1])<<8&MACReporting != 0
	}
	return r.Wants(MACReporting)
}

func (m *URRMore) empty() bool {
	c := *m
	c.Linked = nil
	return len(m.Linked) == 0 && c.Quota == (Volume{}) && c.NextThreshold == (Volume{}) && c.NextQuota == (Volume{}) &&
		!c.HasTimeQuota && !c.HasQuotaFAR && !c.HasReports && !c.HasNextTimeQuota &&
		c.HoldingTime|c.ValidityTime|c.Inactivity|c.PlaneInactivity|c.Stations|c.NextTime == 0 && c.Monitoring == 0
}

// urrTimes reads the IEs that hold a time in seconds.
func (p *planner) urrTimes(r *URR, more *URRMore, given *Granted, group pfcp.Elements, types pfcp.Types, create bool, fail func(uint16, string, ...any) error) error {
	ignored := false
	for _, d := range []struct {
		ieType uint16
		into   *Seconds
		given  *bool
	}{
		{ie.MeasurementPeriod, &r.Period, &ignored},
		{ie.TimeThreshold, &r.TimeThreshold, &ignored},
		{ie.TimeQuota, &more.TimeQuota, &given.Time},
		{ie.QuotaHoldingTime, &more.HoldingTime, &ignored},
		{ie.QuotaValidityTime, &more.ValidityTime, &given.Validity},
		{ie.InactivityDetectionTime, &more.Inactivity, &ignored},
		{ie.UserPlaneInactivityTimer, &more.PlaneInactivity, &given.PlaneInactivityTimer},
		{ie.EthernetInactivityTimer, &more.Stations, &ignored},
		{ie.SubsequentTimeThreshold, &more.NextTime, &ignored},
		{ie.SubsequentTimeQuota, &more.NextTimeQuota, &more.HasNextTimeQuota},
	} {
		if !types.May(d.ieType) {
			continue
		}
		e := group.First(d.ieType)
		if e.Removes(create) {
			*d.into = 0
			switch d.ieType {
			case ie.TimeQuota:
				more.HasTimeQuota = false
			case ie.SubsequentTimeQuota:
				more.HasNextTimeQuota = false
			}
		} else if e != nil {
			v, err := e.Uint32()
			if err != nil {
				return err
			}
			*d.into, *d.given = Seconds(v), true
		}
	}
	more.HasTimeQuota = more.HasTimeQuota || given.Time
	if e := group.First(ie.MonitoringTime); e.Removes(create) {
		more.Monitoring, more.NextThreshold, more.NextTime = 0, Volume{}, 0
		more.NextQuota, more.HasNextTimeQuota, more.NextTimeQuota = Volume{}, false, 0
	} else if e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		more.Monitoring = unixSeconds(v)
	} else if more.Monitoring == 0 && (more.NextThreshold.Has != 0 || more.NextTime != 0 || more.HasNextTimeQuota ||
		group.First(ie.SubsequentVolumeThreshold) != nil || group.First(ie.SubsequentVolumeQuota) != nil) {
		return fail(ie.MonitoringTime, "subsequent limits without Monitoring Time")
	}
	return nil
}

// linkedURRs reads the list of Linked URR IDs; when present, it replaces.
func linkedURRs(more *URRMore, group pfcp.Elements, create bool) error {
	var linked []uint32
	for _, e := range group.All(ie.LinkedURRID) {
		if e.Removes(create) {
			more.Linked = nil
			return nil
		}
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		if !slices.Contains(linked, v) {
			linked = append(linked, v)
		}
	}
	if linked != nil {
		more.Linked = linked
	}
	return nil
}

// unixSeconds reads a time as IEs have it: seconds since 1900 of RFC 5905, era 1 from 2036 on.
func unixSeconds(v uint32) int64 {
	const from1900 = 2_208_988_800
	t := int64(v) - from1900
	if v < 1<<31 {
		t += 1 << 32
	}
	return t
}

// inactivity reads the session's User Plane Inactivity Timer; 0 stops it (TS 29.244 7.5.4.1).
func (p *planner) inactivity(message pfcp.Elements) error {
	n := p.change.Next
	if e := message.First(ie.UserPlaneInactivityTimer); e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		p.change.Rules = true
		n.URRs.Delete(InactivityURR)
		if v != 0 {
			n.URRs.Put(InactivityURR, &URR{ID: InactivityURR, Triggers: UserPlaneInactive, Info: BeforeQoS, More: &URRMore{PlaneInactivity: Seconds(v)}})
			p.change.Granted = append(p.change.Granted, Granted{URR: InactivityURR, PlaneInactivityTimer: true})
		}
	}
	return p.everyPDRApplies(InactivityURR)
}

// everyPDRApplies makes all PDRs of the session apply a URR, if there is such a one, and none if not.
func (p *planner) everyPDRApplies(id uint32) error {
	n := p.change.Next
	wanted := n.URRs.Get(id) != nil
	for pdr, r := range n.PDRs.All() {
		if slices.Contains(r.URRs, id) == wanted {
			continue
		}
		c := *r
		c.URRs = slices.DeleteFunc(slices.Clone(r.URRs), func(u uint32) bool { return u == id })
		if wanted {
			c.URRs = append(c.URRs, id)
		}
		if len(c.URRs) > abi.PdrUrrs {
			return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.URRID,
				Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(pdr)}, Detail: "no room for the User Plane Inactivity Timer beside the PDR's URRs"}
		}
		n.PDRs.Put(pdr, &c)
	}
	return nil
}

// checkURRs looks at what URRs name, and what the answers to queries are to be marked with.
func (p *planner) checkURRs(message pfcp.Elements) error {
	if e := message.First(ie.QueryURRReference); e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		p.change.HasQueryReference, p.change.QueryReference = true, v
	}
	n := p.change.Next
	for id, u := range n.URRs.All() {
		if u.Wants(MACReporting) && !n.Ethernet {
			return pfcp.RuleFailure(ie.ReportingTriggers, ie.RuleIDTypeURR, id, "URR %d reports MAC addresses (MACAR) in a session that is not of Ethernet", id)
		}
		if more := u.More; more != nil && more.HasQuotaFAR && n.FARs.Get(more.QuotaFAR) == nil {
			return pfcp.RuleFailure(ie.FARID, ie.RuleIDTypeURR, id, "URR %d names FAR %d for its quota action, which does not exist", id, more.QuotaFAR)
		}
	}
	return nil
}

// parseVolume reads a Volume Threshold or Volume Quota: flags TOVOL, ULVOL, DLVOL, then those given.
func parseVolume(e *pfcp.Element) (Volume, error) {
	flags, err := e.Uint8()
	if err != nil {
		return Volume{}, err
	}
	v := Volume{Has: flags & (HasTotal | HasUL | HasDL)}
	b := e.Value[1:]
	for bit, into := range []*uint64{&v.Total, &v.UL, &v.DL} {
		if flags&(1<<bit) == 0 {
			continue
		}
		if len(b) < 8 {
			return v, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "volume is cut short"}
		}
		*into, b = binary.BigEndian.Uint64(b), b[8:]
	}
	return v, nil
}
