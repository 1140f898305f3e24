package n1

import (
	"errors"
	"fmt"
)

// MostFilters of a QoS rule (TS 24.501 9.11.4.13).
const MostFilters = 15

// EncodeFilters writes packet filters as a QoS rule has them (TS 24.501 9.11.4.13): about 20 octets each.
func EncodeFilters(list []Filter) (b []byte) {
	for _, f := range list {
		b = f.encode(b)
	}
	return b
}

// DecodeFilters reads what EncodeFilters writes.
func DecodeFilters(b []byte) (list []Filter, err error) {
	for len(b) > 0 {
		f, rest, cause, reason := decodeFilter(b, false)
		if cause != 0 {
			return nil, errors.New(reason)
		}
		list, b = append(list, f), rest
	}
	return list, nil
}

// How filters stand in what digests are made of. Digests are in records, and a session whose filters have another one is told them anew: none of this changes.
// What filters did not have from the beginning is written behind the rest, and only where a filter has it.
const (
	filterText      = "{%d %d %s %s %d {%d %d} {%d %d} %d %d %d %d}"
	frameText       = "{%s %s %d %d %d %d %d}"
	filterTextNamed = "{ID:%d Direction:%d Remote:%s Local:%s Protocol:%d RemotePorts:{First:%d Last:%d} LocalPorts:{First:%d Last:%d} TOS:%d TOSMask:%d SPI:%d FlowLabel:%d}"
	frameTextNamed  = "{Remote:%s Local:%s CVLAN:%d SVLAN:%d CPriority:%d SPriority:%d EtherType:%d}"
)

// AppendText of filters, for digests.
func AppendText(b []byte, list []Filter) []byte { return appendText(b, list, filterText, frameText) }

// AppendTextNamed has the names of a filter's parts.
func AppendTextNamed(b []byte, list []Filter) []byte {
	return appendText(b, list, filterTextNamed, frameTextNamed)
}

func appendText(b []byte, list []Filter, filter, frame string) []byte {
	b = append(b, '[')
	for n, f := range list {
		if n > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, filter, f.ID, f.Direction, f.Remote, f.Local, f.Protocol, f.RemotePorts.First, f.RemotePorts.Last, f.LocalPorts.First, f.LocalPorts.Last,
			f.TOS, f.TOSMask, f.SPI, f.FlowLabel)
		if g := f.Frame; f.OfFrames() {
			b = fmt.Appendf(b, frame, g.Remote, g.Local, g.CVLAN, g.SVLAN, g.CPriority, g.SPriority, g.EtherType)
		}
	}
	return append(b, ']')
}
