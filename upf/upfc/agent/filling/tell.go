package filling

import (
	"errors"
	"slices"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
)

// stationEvents are a session's stations as upf-u is told of them.
func stationEvents(index uint32, list []rules.Station) []abi.EvMac {
	var out []abi.EvMac
	for _, s := range list {
		e := abi.EvMac{Session: index, Mac: s.MAC, CVid: s.CVID, SVid: s.SVID}
		if s.HasCTag {
			e.Flags |= abi.MacCTag
		}
		if s.HasSTag {
			e.Flags |= abi.MacSTag
		}
		out = append(out, e)
	}
	return out
}

// tellStations tells upf-u of stations that it has not heard itself.
func tellStations(conn *dataplane.Conn, list []abi.EvMac) error {
	for part := range slices.Chunk(list, stationsPerBatch) {
		refused, err := tellTogether(conn, part)
		if err != nil {
			return err
		}
		if !refused {
			continue
		}
		for one := range slices.Chunk(part, 1) { // one of the sessions was given up meanwhile
			if _, err := tellTogether(conn, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellTogether says whether upf-u has refused all of them, because of one.
func tellTogether(conn *dataplane.Conn, list []abi.EvMac) (refused bool, err error) {
	t := dataplane.NewBatch()
	for _, s := range list {
		t.Station(s)
	}
	err = conn.Transact(t)
	var why *dataplane.Refused
	if errors.As(err, &why) {
		return true, nil
	}
	return false, err
}

// stationsPerBatch: upf-u takes so many commands at a time.
const stationsPerBatch = 1024
