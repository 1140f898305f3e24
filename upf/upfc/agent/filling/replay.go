package filling

import (
	"errors"
	"iter"
	"runtime/debug"
	"sync"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// replay gives upf-u every session again, many in one transaction. While one is under way the next
// ones are built.
func (f *Filler) replay(conn *dataplane.Conn, newBoot bool) error {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercentFilling))
	f.store.Begin(conn.Shm(), conn.Hello().BootId)
	if err := f.o.Sessions.TellDomains(conn); err != nil {
		return err
	}
	ahead := f.filledAhead(conn)
	all, over := iter.Pull(f.store.All(""))
	defer over()
	var mu sync.Mutex
	var failed error
	piece := func() (list []uint32) { // nil when there is no more, or no use
		mu.Lock()
		defer mu.Unlock()
		for failed == nil && len(list) < replayPiece {
			index, ok := all()
			if !ok {
				break
			}
			if list == nil {
				list = make([]uint32, 0, replayPiece)
			}
			list = append(list, index)
		}
		return list
	}
	f.divide(1+f.o.Machine.Threads(), func() {
		for list := piece(); list != nil; list = piece() {
			if err := f.replaySome(conn, list, newBoot, ahead); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		}
	})
	if failed != nil {
		return failed
	}
	f.store.Settle()
	store.DropCounters(f.o.Config.State.File)
	// Last: it tells upf-u that what it does not know now does not exist.
	if err := f.o.Sessions.WriteMeta(conn); err != nil {
		return err
	}
	if f.takeover != nil {
		f.takeover.Ahead = nil
	}
	return nil
}

// replayPiece is how many sessions one worker takes at a time.
const replayPiece = 512

// replaySome gives upf-u some sessions: whole, or of those that it has from ahead what is missing.
func (f *Filler) replaySome(conn *dataplane.Conn, list []uint32, newBoot bool, ahead *Ahead) error {
	t, batch := dataplane.NewBatch(), make([]uint32, 0, len(list))
	var stations []abi.EvMac
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := conn.Transact(t)
		var refused *dataplane.Refused
		if errors.As(err, &refused) {
			// Nothing of the transaction was applied. Find out which sessions upf-u cannot take.
			for _, index := range batch {
				if err := f.replayOne(conn, index); err != nil {
					return err
				}
			}
			err = nil
		}
		if err == nil {
			err = tellStations(conn, stations)
		}
		t, batch, stations = dataplane.NewBatch(), batch[:0], stations[:0]
		return err
	}
	var used state.Session
	for _, index := range list {
		s := f.store.LeaseOver(index, &used).Locked()
		if s == nil {
			continue
		}
		if f.otherNetworks {
			f.o.Sessions.KeepUEs(index, s.Rules)
		}
		attach(s, conn.Shm(), newBoot, ahead)
		renewed := f.o.Sessions.RenewBlock(s)
		put, err := rest(s, f.o.Sessions, ahead)
		if renewed {
			put, err = f.o.Sessions.Encode(s)
		}
		if err != nil {
			s.Unlock()
			f.o.Sessions.GiveUp(index, err)
			continue
		}
		s.Become(&s.Session, put.Blob)
		arms := arms(s)
		var has []abi.EvMac
		if newBoot {
			has = stationEvents(index, s.Stations)
			if len(s.Flows) > 0 {
				f.o.Reports.FlowsGone(index)
			}
		}
		s.Unlock()
		f.store.Leftover(s, &used)
		if t.Size()+put.Size()+armSize*len(arms) > batchMax {
			if err := flush(); err != nil {
				return err
			}
		}
		put.Add(t)
		for _, arm := range arms {
			t.Arm(arm)
		}
		batch, stations = append(batch, index), append(stations, has...)
	}
	return flush()
}

// batchMax bounds what sessions and armings take of a transaction: there is room for the records that accompany them.
const batchMax = abi.MsgMax - 1024

const armSize = int(unsafe.Sizeof(abi.UrrArm{}))

func (f *Filler) replayOne(conn *dataplane.Conn, index uint32) error {
	s := f.o.Leases.Lock(index)
	if s == nil {
		return nil
	}
	t := dataplane.NewBatch()
	put, err := f.o.Sessions.Encode(s)
	if err == nil {
		put.Add(t)
		for _, arm := range arms(s) {
			t.Arm(arm)
		}
	}
	s.Unlock()
	if err == nil {
		err = conn.Transact(t)
	}
	var refused *dataplane.Refused
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	if err != nil {
		f.o.Sessions.GiveUp(index, err)
	}
	return nil
}
