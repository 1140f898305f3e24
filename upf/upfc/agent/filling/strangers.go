package filling

import (
	"fmt"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
)

// deleteStrangers removes what upf-u has and we have not, which of one that was filled ahead is known.
func (f *Filler) deleteStrangers(conn *dataplane.Conn) error {
	if conn.Hello().Sessions == 0 {
		return nil
	}
	ahead := f.filledAhead(conn)
	if ahead == nil {
		return f.deleteUnknown(conn)
	}
	var drop []uint32
	for index := range ahead.filled {
		if s := f.store.Lease(index, 0); s != nil {
			s.Drop()
		} else {
			drop = append(drop, index)
		}
	}
	for _, index := range drop {
		delete(ahead.filled, index)
	}
	return f.o.Sessions.DeleteIndexes(conn, drop)
}

// filledAhead is what upf-u has of before it was ours; nil: nothing that counts.
func (f *Filler) filledAhead(conn *dataplane.Conn) *Ahead {
	if f.takeover == nil || !f.takeover.Ahead.of(conn.Hello().BootId) {
		return nil
	}
	return f.takeover.Ahead
}

// deleteUnknown removes what upf-u has and we have not.
func (f *Filler) deleteUnknown(conn *dataplane.Conn) error {
	var present []uint32
	err := conn.Dump(func(body []byte) error {
		return dataplane.EachRecord(body, func(recType uint16, record []byte) error {
			index, _, err := dataplane.Blob(record)
			if recType == abi.RecSessionState && err == nil {
				present = append(present, index)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("DUMP: %w", err)
	}
	var drop []uint32
	for _, index := range present {
		// Whoever was changing it has seen the end of the old connection when it is locked.
		if s := f.o.Leases.Lock(index); s != nil {
			s.Unlock()
		} else {
			drop = append(drop, index)
		}
	}
	return f.o.Sessions.DeleteIndexes(conn, drop)
}

// Clear deletes all sessions of a upf-u whose unit another member serves: those that this one will take over may have their
// F-TEIDs and addresses.
func (f *Filler) Clear(conn *dataplane.Conn) error {
	if conn.Hello().Sessions == 0 {
		return nil
	}
	return f.deleteUnknown(conn)
}
