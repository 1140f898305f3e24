package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/worlds"
)

// How long the world is unkind, and how long it is kind then at most.
const (
	unkind = time.Minute
	kind   = 6 * time.Minute
)

// subscribers in a world, or some more where they are to be too many.
const subscribers = 4

const plmnText, amfSet, amfRegion, amfPointer = "20893", 1, 1, 1

// plmn as it travels.
var plmn, _ = n2.MakePLMN("208", "93")

// Slices that there are.
var (
	broadband = record.Slice{SST: 1}
	meters    = record.Slice{SST: 2, SD: &[3]byte{0, 0, 7}}
)

// world is everything.
type world struct {
	*worlds.Story
	log      *slog.Logger
	store    *worlds.Store
	sealer   *sessionstore.Sealer
	settings *procedure.Settings
	shards   uint16
	pods     []*pod
	ends     []*end
	gnbs     []*gnb
	ues      []*ue
	counts   *counts
	ausf     *ausf
	udm      *udm
	pcf      *pcf
	smf      *smf
	listener *listener
	nef      *nef
	// others is another AMF set; nil: there is none. also has what happens by chance with that and in emergencies, so that worlds without are as they were before.
	others *others
	also   dice
	// strangers that a shard has room for; 0: for all. crowd has what happens by chance with that.
	strangers int
	crowd     dice
	// brittle: connections of workers often break behind what they ask a gNB.
	brittle bool
	// several: some gNBs have a second association for their NG interface. hasty: UEs that have to leave register at once. faint: some hear nothing more just
	// when they are told something. links has what happens by chance with that.
	several, hasty, faint bool
	links                 dice
	// offers: gNBs are told of terminators that come and go. news has what happens by chance with that.
	offers bool
	news   dice
	// sos: there are emergency services, where the settings do not say otherwise, as they did last at without. caller is who has nothing else; nil: nobody.
	sos     *procedure.Emergency
	without time.Time
	caller  *ue

	// faults: the world is unkind. forgetful: its store, too.
	faults, forgetful bool
	// deaf: SMFs often do not hear of tunnels.
	deaf bool
	// gmlc wants UEs; nil: nobody does.
	gmlc      *gmlc
	forgotten time.Time // when the store has, last
	// vanished is a UE that is not heard of any more, when all is well; nil: none.
	vanished *ue
	records  map[string]*record.UE
	// contexts are the SM contexts that a record has had.
	contexts map[string]bool
	// named are 5G-TMSIs and AMF UE NGAP IDs that there were, with the SUPI that they were given to.
	named   map[string]string
	tokens  procedure.Token
	waiting map[procedure.Token]*waiter
}

// waiter waits for a Reply.
type waiter struct {
	done func(body any)
	over bool
}

// newWorld of a seed; crowds: in some more UEs come than a shard has room for; since: in some there is what has been added since; offers: in some gNBs are told of
// terminators.
func newWorld(seed uint64, crowds, since, offers bool) (*world, error) {
	w := &world{
		Story: worlds.NewStory(worlds.NewClock(seed)), log: slog.New(slog.DiscardHandler), faults: true,
		records: map[string]*record.UE{}, named: map[string]string{}, contexts: map[string]bool{}, waiting: map[procedure.Token]*waiter{},
	}
	w.shards, w.forgetful = 1+uint16(w.Rand.IntN(3)), w.Chance(4)
	w.store = worlds.NewStore(w.Clock, w.written)
	w.counts = newCounts(w)
	w.also, w.crowd, w.links = dice{rand.New(rand.NewPCG(seed, 2))}, dice{rand.New(rand.NewPCG(seed, 3))}, dice{rand.New(rand.NewPCG(seed, 4))}
	w.several, w.hasty, w.faint = since && w.links.chance(3), since && w.links.chance(3), since && w.links.chance(3)
	w.news = dice{rand.New(rand.NewPCG(seed, 5))}
	w.offers = offers && w.news.chance(3)
	w.several = w.several || w.offers
	ues := subscribers
	if crowds && w.crowd.chance(4) {
		w.strangers, ues = 1+w.crowd.IntN(2), ues+w.crowd.IntN(5)
		w.brittle = since && w.links.chance(3)
	}
	var err error
	if w.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		return nil, err
	}
	w.settings = &procedure.Settings{
		Name: "AMF", Region: amfRegion, Set: amfSet, Pointer: amfPointer, Capacity: 255, PLMNs: []procedure.PLMN{{PLMN: plmnText, Slices: []record.Slice{broadband, meters}}},
		Integrity: []uint8{uint8(1 + w.Rand.IntN(3))}, Ciphering: []uint8{uint8(1 + w.Rand.IntN(3))}, Periodic: 54 * time.Minute, Backoff: 5 * time.Second,
	}
	if w.Chance(2) {
		w.settings.FullName = "world"
	}
	if w.Chance(4) {
		w.settings.Periodic = 2 * time.Minute
	}
	if w.also.chance(3) {
		w.allowEmergency()
	}
	if w.also.chance(3) {
		w.others = &others{w: w}
	}
	w.ausf, w.udm, w.pcf, w.smf, w.nef = newAUSF(w), newUDM(w), newPCF(w), newSMF(w), newNEF(w)
	for n := range 1 + w.Rand.IntN(2) {
		w.ends = append(w.ends, newEnd(w, fmt.Sprint("n2-", n)))
	}
	if w.offers {
		w.ends = append(w.ends, newEnd(w, fmt.Sprint("n2-", len(w.ends))))
		w.settings.Terminators = w.listed(w.everywhere()...)
		w.After(time.Second, w.retell)
	}
	for n := range 2 + w.Rand.IntN(2) {
		w.pods = append(w.pods, w.newPod(fmt.Sprint("pod-", n)))
	}
	for _, e := range w.ends {
		e.start()
	}
	for _, p := range w.pods {
		p.Start()
	}
	for n := range 3 {
		w.gnbs = append(w.gnbs, newGNB(w, uint32(n+1)))
	}
	for n := range ues {
		w.ues = append(w.ues, newUE(w, n))
		w.udm.add(w.ues[n].supi)
	}
	if w.sos != nil {
		w.caller = newCaller(w)
		w.ues = append(w.ues, w.caller)
	}
	if w.Chance(4) { // two phones of one SUPI
		twin := newUE(w, 0)
		twin.name, twin.twin, w.ues[0].twin = "twin", true, true
		w.ues = append(w.ues, twin)
	}
	w.checkpoint()
	w.listener = newListener(w)
	w.misfortune()
	return w, nil
}

// dice of a world.
type dice struct{ *rand.Rand }

func (d dice) chance(once int) bool { return d.IntN(once) == 0 }

func (w *world) upTo(d time.Duration) time.Time {
	return w.Now.Add(time.Duration(w.Rand.Int64N(int64(d))))
}

// misfortune strikes every other second.
func (w *world) misfortune() {
	if !w.faults {
		return
	}
	w.Soon(200*time.Millisecond, 4*time.Second, w.misfortune)
	p := w.pods[w.Rand.IntN(len(w.pods))]
	for _, holder := range w.pods { // more often who holds something
		if len(holder.held) > 0 && w.Chance(2) {
			p = holder
		}
	}
	e, g := w.ends[w.Rand.IntN(len(w.ends))], w.gnbs[w.Rand.IntN(len(w.gnbs))]
	switch w.Rand.IntN(17) {
	case 0, 1, 2:
		if p.Alive {
			p.Kill()
		}
	case 3:
		if p.Alive {
			p.End()
		}
	case 4, 5:
		w.Note("%s stands still", p.Name)
		p.Frozen = w.upTo(6 * time.Second)
	case 6:
		w.Note("the store is away")
		w.store.Away = w.upTo(4 * time.Second)
		if w.Chance(4) {
			w.store.Away = w.upTo(20 * time.Second)
		}
	case 7:
		w.Note("the store is slow")
		w.store.Slow = w.upTo(4 * time.Second)
	case 8:
		if e.alive {
			e.kill()
		}
	case 9, 10:
		p.cut(e)
	case 11:
		g.cut()
	case 12:
		g.reset()
	case 13:
		w.functionAway()
	case 14:
		w.udm.change()
	case 16:
		w.configure()
	case 15:
		if w.forgetful {
			w.forget()
		}
	}
}

// configure the network otherwise.
func (w *world) configure() {
	is := *w.settings
	is.FullName = []string{"", "world", "another world"}[w.Rand.IntN(3)]
	is.Name = []string{"AMF", "another AMF"}[w.Rand.IntN(2)]
	if is.PLMNs = is.PLMNs[:1:1]; w.Chance(2) {
		is.PLMNs = append(is.PLMNs, procedure.PLMN{PLMN: "00101", Slices: []record.Slice{broadband}})
	}
	is.Removed = w.Chance(6)
	w.reconfigured(&is)
	w.Note("the network is called %q, its AMF %q, of %d PLMNs, removed %v", is.FullName, is.Name, len(is.PLMNs), is.Removed)
	w.reconfigure(&is)
}

func (w *world) reconfigure(is *procedure.Settings) {
	w.settings = is
	for _, p := range w.pods { // each reads it in its time
		life := p.Life
		w.Soon(time.Millisecond, 2*time.Second, func() { p.In(life, p.configured) })
	}
}

// Run for a time with faults, and then until all has come to rest.
func (w *world) Run() error {
	end := w.Now.Add(unkind)
	w.Until(end)
	w.faults, w.store.Unkind, w.store.Away = false, false, time.Time{}
	w.Note("all is well from here on")
	for _, p := range w.pods {
		p.Frozen = time.Time{}
	}
	w.calm()
	w.Until(w.Now.Add(140 * time.Second))
	most := kind
	if w.vanished != nil { // mobile reachable, implicit deregistration: TS 24.501 5.3.7
		most += w.settings.Periodic + 8*time.Minute
	}
	for end := w.Now.Add(most); w.Wrong == nil; {
		w.Until(w.Now.Add(10 * time.Second))
		err := w.agree()
		switch {
		case w.Wrong != nil, err == nil:
			return w.Wrong
		case !w.Now.Before(end.Add(-10 * time.Second)):
			w.Fail("%w", err)
		}
	}
	return w.Wrong
}

// calm: subscriptions are as they should be, and of two phones of one SUPI one is switched off for good.
func (w *world) calm() {
	w.ausf.away, w.udm.away, w.pcf.away, w.smf.away = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	w.smf.watch()
	if w.sos != nil && w.settings.Emergency == nil {
		is := *w.settings
		w.reconfigured(&is)
		w.reconfigure(&is)
	}
	if w.offers {
		w.list(w.everywhere())
	}
	for _, s := range w.udm.list {
		w.udm.set(s, false, []record.Slice{broadband, meters})
	}
	for _, u := range w.ues {
		if u.name == "twin" {
			u.die()
		}
		u.calm()
	}
	if w.settings.Periodic < time.Hour/2 {
		w.After(time.Minute, func() {
			w.vanished = w.ues[subscribers-1]
			if w.caller != nil && w.caller.state == registered {
				w.vanished = w.caller
			}
			if w.vanished.away != nil {
				w.vanished = nil
				return
			}
			w.Note("%s is not heard of any more", w.vanished.name)
			w.vanished.vanish()
		})
	}
	w.After(100*time.Second, w.smf.probe)
	if w.gmlc != nil {
		w.After(130*time.Second, w.gmlc.probe)
	}
}

// Told so far.
func (w *world) Told() *worlds.Story { return w.Story }

func slicesTo(list []record.Slice) []n2.SNSSAI {
	var out []n2.SNSSAI
	for _, s := range list {
		x := n2.SNSSAI{SST: s.SST}
		if s.SD != nil {
			x.SD, x.HasSD = uint32(s.SD[0])<<16|uint32(s.SD[1])<<8|uint32(s.SD[2]), true
		}
		out = append(out, x)
	}
	return out
}

func slicesFrom(list n1.NSSAI) []record.Slice {
	var out []record.Slice
	for _, s := range list {
		x := record.Slice{SST: s.SST}
		if s.HasSD {
			x.SD = &s.SD
		}
		out = append(out, x)
	}
	return out
}
