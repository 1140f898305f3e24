package usage

import (
	"encoding/binary"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Append appends the report as a Usage Report IE of the given type: the same content has one type in each of
// the messages that can carry it (TS 29.244 7.5.5.2, 7.5.7.2, 7.5.8.3). application is the
// Application ID that the URR's PDRs detect, if any.
func (r *Report) Append(b *pfcp.IEs, ieType uint16, application string) {
	at := b.Begin(ieType)
	b.Uint32(ie.URRID, r.URR)
	b.Uint32(ie.URSEQN, r.Sequence)
	b.Octets(ie.UsageReportTrigger, uint8(r.Trigger), uint8(r.Trigger>>8), uint8(r.Trigger>>16))
	event := r.Trigger&^(TriggerStart|TriggerStop) == 0
	if !event && r.Trigger != TriggerMAC { // table 7.5.8.3-1: not with the start or stop of traffic, or with MAC addresses
		b.Uint32(ie.StartTime, seconds(r.Start))
		b.Uint32(ie.EndTime, seconds(r.End))
	}
	if r.Volume {
		r.appendVolume(b)
	}
	if r.Duration {
		b.Uint32(ie.DurationMeasurement, r.Seconds)
	}
	switch f := r.Flow; {
	case f != nil:
		inner := b.Begin(ie.ApplicationDetectionInformation)
		b.Text(ie.ApplicationID, f.Application)
		b.Text(ie.ApplicationInstanceID, f.ID())
		description := f.Description()
		flow := b.Begin(ie.FlowInformation) // TS 29.244 8.2.61
		*b = append(binary.BigEndian.AppendUint16(append(*b, ie.FlowDirectionBidirectional), uint16(len(description))), description...)
		b.End(flow)
		b.End(inner)
	case event && application != "":
		inner := b.Begin(ie.ApplicationDetectionInformation)
		b.Text(ie.ApplicationID, application)
		b.End(inner)
	}
	if len(r.Detected)+len(r.Removed) > 0 {
		inner := b.Begin(ie.EthernetTrafficInformation)
		rules.AppendStations(b, ie.MACAddressesDetected, r.Detected)
		rules.AppendStations(b, ie.MACAddressesRemoved, r.Removed)
		b.End(inner)
	}
	if r.First != 0 {
		b.Uint32(ie.TimeOfFirstPacket, seconds(r.First))
	}
	if r.Last != 0 {
		b.Uint32(ie.TimeOfLastPacket, seconds(r.Last))
	}
	// Table 7.5.8.3-1: where there are two reports to be told apart, and only there; free5GC's SMF
	// drops a message with this IE as a whole.
	if r.Info != 0 {
		b.Octets(ie.UsageInformation, r.Info)
	}
	if r.HasQuery && ieType != ie.UsageReportWithinSessionDeletionResponse {
		b.Uint32(ie.QueryURRReference, r.Query)
	}
	b.End(at)
}

// appendVolume appends the Volume Measurement (TS 29.244 8.2.40): octets, and packets where they are counted.
func (r *Report) appendVolume(b *pfcp.IEs) {
	at := b.Begin(ie.VolumeMeasurement)
	flags := rules.HasTotal | rules.HasUL | rules.HasDL
	if r.Packets {
		flags |= 0x38 // TONOP, ULNOP, DLNOP
	}
	c := r.Counts
	out := append(*b, flags)
	for _, n := range [3]uint64{c.Total(), c.UL, c.DL} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	if r.Packets {
		for _, n := range [3]uint64{c.Packets(), c.ULPackets, c.DLPackets} {
			out = binary.BigEndian.AppendUint64(out, n)
		}
	}
	*b = out
	b.End(at)
}

// seconds is a Unix time in milliseconds as IEs have it: seconds since 1900, of which they have 32 bits.
func seconds(ms int64) uint32 { return uint32(ms/1000 + 2_208_988_800) }

// AppendAdditional says that n reports of a request follow in Session Report Requests (TS 29.244 8.2.91).
func AppendAdditional(b *pfcp.IEs, n int) {
	b.Uint16(ie.AdditionalUsageReportsInformation, uint16(min(n, 0x7fff)))
}
