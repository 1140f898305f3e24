package n1

import "errors"

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
