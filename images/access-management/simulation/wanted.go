package simulation

import (
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// gmlc wants to reach UEs, and to know where they are now (TS 29.518 5.4.2.3, 5.5.2.2).
type gmlc struct{ w *world }

func newGMLC(w *world) *gmlc {
	f := &gmlc{w: w}
	f.live()
	return f
}

func (f *gmlc) live() {
	if !f.w.faults {
		return
	}
	f.w.Soon(500*time.Millisecond, 4*time.Second, f.live)
	if len(f.w.ues) == 0 {
		return
	}
	supi := f.w.ues[f.w.Rand.IntN(len(f.w.ues))].supi
	if f.w.Chance(2) {
		f.reach(supi, func(any) {})
		return
	}
	f.locate(supi, func(any) {})
}

// reach a UE: who is said to have come is connected.
func (f *gmlc) reach(supi string, then func(body any)) {
	var from procedure.Token
	from = f.w.expect(10*time.Second, func(body any) {
		f.w.Note("%s is wanted by %d: %+v", supi, from, body)
		if _, is := body.(procedure.Reached); is {
			f.w.Ended["reached"]++
			if rec := f.w.records[record.Key(supi)]; f.w.forgotten.IsZero() && (rec == nil || rec.N2 == nil) {
				f.w.Fail("%s is said to have come, and is not there: %+v", supi, rec)
			}
		}
		then(body)
	})
	f.w.Note("%s is wanted by %d", supi, from)
	f.w.toAMF(supi, procedure.Reach{From: from})
}

// locate a UE: a gNB that is asked answers, so that who is told a place of now has one.
func (f *gmlc) locate(supi string, then func(body any)) {
	from := f.w.expect(10*time.Second, func(body any) {
		if p, is := body.(procedure.Placed); is && p.Current {
			f.w.Ended["located"]++
			if p.Place.TAC == 0 || p.Place.Cell == 0 {
				f.w.Fail("%s is somewhere now, and nobody says where: %+v", supi, p)
			}
		}
		then(body)
	})
	f.w.toAMF(supi, procedure.Locate{From: from, Current: true})
}

// probe all UEs, when all is well: each is reached, and where it is its gNB says.
func (f *gmlc) probe() {
	for _, u := range f.w.ues {
		if u.state != registered || u.away != nil || u.dead || u == f.w.vanished || f.w.vanished != nil && f.w.vanished.as == u.as {
			continue
		}
		f.reach(u.as, func(body any) {
			if _, is := body.(procedure.Reached); !is {
				if u.state == registered {
					f.w.Fail("%s is not reached when all is well: %+v", u.name, body)
				}
				return
			}
			f.locate(u.as, func(body any) {
				c := u.conn
				if p, is := body.(procedure.Placed); c != nil && c.set && (!is || !p.Current || p.Place.Cell != c.g.location().Cell.ID) {
					f.w.Fail("%s is at %s, and is said to be elsewhere: %+v", u.name, c.g.name(), body)
				}
			})
		})
	}
}
