package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/worlds"
)

const slice, dnn = "internet", "internet"

// ims is a second data network with the same pools, in a network instance of its own. Every fourth world has it, and in these every other UE's session is to it.
const ims = "ims"

// anAddressTwice is what has come about where two sessions have one address, in two network instances.
const anAddressTwice = "an address twice"

// aSilentUE is what has come about where a UE, connected, has not answered a command, however often it was sent.
const aSilentUE = "a silent UE"

// How long the world is unkind, and how long it is kind then at most.
const (
	unkind = time.Minute
	kind   = 4 * time.Minute
)

// world is everything.
type world struct {
	*worlds.Story
	log    *slog.Logger
	store  *worlds.Store
	sealer *sessionstore.Sealer
	config *configuration.Snapshot
	units  []*unit
	pods   []*pod
	ues    []*ue
	shards uint16

	// faults: the world is unkind. forgetful: its store, too. fresh: it is none of the failed ones, which stay as they were.
	faults, forgetful, fresh bool
	forgotten                time.Time // when the store has, last

	records  map[string]*record.Session // as the store has them
	numbered map[uint64]bool            // CP SEIDs that there were
	heard    map[string]bool            // where the AMF was told of a context's end, and where that was lost
	unheard  map[string]bool
	// real: units are upf-c's own code. met is the stamp of a unit that a shard was last done with, by both names.
	real     bool
	twice    bool // there is a second data network
	met      map[[2]string]uint32
	deleting map[unitsSession]bool // sessions that units were asked to delete
	areas    *areas                // areas.go
	overload overload              // overload.go
	frames   bool                  // the second data network is of Ethernet
	byTheWay *rand.Rand            // whether the AMF is reached with what access networks are told by the way; of its own: other worlds go on as they did
	deaths   deaths                // deaths.go
	pcf      *pcf                  // nil: the Slice's rules hold
	chf      *chf                  // nil: nothing is charged

	tokens  procedure.Token
	waiting map[procedure.Token]waiting
}

func newWorld(seed uint64, ues int, fresh bool) (*world, error) {
	w := &world{
		Story: worlds.NewStory(worlds.NewClock(seed)), log: slog.New(slog.DiscardHandler), faults: true, fresh: fresh, records: map[string]*record.Session{},
		numbered: map[uint64]bool{}, heard: map[string]bool{}, unheard: map[string]bool{}, met: map[[2]string]uint32{},
		deleting: map[unitsSession]bool{},
	}
	w.byTheWay = rand.New(rand.NewPCG(seed, 8))
	w.shards, w.forgetful = 1+uint16(w.Rand.IntN(3)), w.Chance(4)
	w.real, w.twice = w.Chance(3), seed%4 == 3
	if w.fresh {
		w.deaths = newDeaths(seed, w.forgetful)
	}
	w.newAreas(seed)
	w.frames = w.areas == nil && bridging(seed) && (w.fresh || !w.real)
	w.store = worlds.NewStore(w.Clock, w.written)
	var err error
	if w.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		return nil, err
	}
	network := configuration.DataNetwork{
		DNN: dnn, Access: "access", Core: dnn, Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8}, MTU: 1400,
	}
	units := 2
	if w.areas != nil {
		units = 3
	}
	for n := range byte(units) {
		u := newUnit(w, n)
		w.units = append(w.units, u)
		if w.real {
			var err error
			if u.real, err = newUPF(w, u, n); err != nil {
				return nil, err
			}
		}
	}
	if err := w.configure(network); err != nil {
		return nil, err
	}
	for n := range 3 {
		p := w.newPod(fmt.Sprint("pod-", n))
		w.pods = append(w.pods, p)
		p.Start()
	}
	for n := range ues {
		u := &ue{w: w, supi: fmt.Sprintf("imsi-20893%010d", n+1), dnn: dnn, ending: map[string]bool{}}
		if w.twice && n%2 == 1 {
			u.dnn = ims
		}
		w.ues = append(w.ues, u)
		u.live()
	}
	w.pcf, w.chf = newPCF(w, seed), newCHF(w, seed)
	if w.pcf != nil || w.chf != nil {
		if err := w.configure(*w.config.Named(slice, dnn)); err != nil {
			return nil, err
		}
	}
	w.checkpoint()
	w.misfortune()
	w.settings()
	w.pathsFail()
	w.deafen(seed)
	w.overloads(seed)
	return w, nil
}

// configure the Slice's data network, and the units as they are.
func (w *world) configure(network configuration.DataNetwork) (err error) {
	units := w.lay(&network)
	network.Policy, network.Charging = w.pcf != nil, w.chf.mode()
	networks := []configuration.DataNetwork{network}
	if w.twice {
		second := network
		second.DNN, second.Core = ims, ims
		// What the configuration owns it may write into.
		second.Units, second.Breakouts, second.Flows = slices.Clone(network.Units), slices.Clone(network.Breakouts), slices.Clone(network.Flows)
		if w.frames {
			bridged(&second)
		}
		networks = append(networks, second)
	}
	w.config, err = configuration.New([]configuration.Slice{{Name: slice, SST: 1, DataNetworks: networks}}, units)
	return err
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
	u := w.units[w.Rand.IntN(len(w.units))]
	upTo := func(d time.Duration) time.Time { return w.Now.Add(time.Duration(w.Rand.Int64N(int64(d)))) }
	switch w.Rand.IntN(12) {
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
		p.Frozen = upTo(6 * time.Second)
	case 6:
		w.Note("the store is away")
		w.store.Away = upTo(4 * time.Second)
		if w.Chance(4) {
			w.store.Away = upTo(20 * time.Second)
		}
	case 7:
		w.Note("the store is slow")
		w.store.Slow = upTo(4 * time.Second)
	case 8:
		if !u.gone {
			u.forget()
		}
	case 9:
		w.Note("%s does not answer", u.nodeID)
		u.away = upTo(8 * time.Second)
		w.After(u.away.Sub(w.Now), func() { w.back(u) })
	case 10:
		if w.forgetful {
			w.forget()
		}
	case 11:
		if w.shards < 4 {
			w.addShard()
		}
	}
}

// back: a unit answers again, and holders have an association with it.
func (w *world) back(u *unit) {
	if u.real != nil {
		return // it is seen by itself
	}
	for _, p := range w.pods {
		for _, name := range w.shardNames() {
			if h := p.held[name]; p.Alive && h != nil {
				p.met(h, u)
			}
		}
	}
}

func (w *world) addShard() {
	w.shards++
	w.Note("there are %d shards", w.shards)
	for _, p := range w.pods {
		if p.Alive {
			if err := p.Keeper.SetShards(w.shardNames()); err != nil {
				w.Fail("SetShards: %v", err)
			}
			life := p.Life
			w.After(0, func() { p.In(life, p.Step) })
		}
	}
}

func (w *world) anyShard() uint16 { return 1 + uint16(w.Rand.IntN(int(w.shards))) }

func (w *world) unitNamed(nodeID string) *unit {
	for _, u := range w.units {
		if u.nodeID == nodeID {
			return u
		}
	}
	panic("no unit is called " + nodeID)
}

// withContext is the UE whose SM context has that CP SEID, as the store or the AMF has it.
func (w *world) withContext(cpSEID uint64) *ue {
	for _, u := range w.ues {
		rec := w.records[record.Key(u.supi, sessionID)]
		if u.ref == record.Ref(cpSEID) || rec != nil && rec.CPSEID == cpSEID {
			return u
		}
	}
	return w.ues[0] // nobody's: somebody has to be answered
}

func (w *world) ueOf(supi string) *ue {
	for _, u := range w.ues {
		if u.supi == supi {
			return u
		}
	}
	panic("a session of nobody: " + supi)
}

// Run for a time with faults, and then until all has come to rest.
func (w *world) Run() error {
	defer w.close()
	end := w.Now.Add(unkind)
	w.Until(end)
	w.faults, w.store.Unkind, w.store.Away = false, false, time.Time{}
	w.Note("all is well from here on; units are upf-c: %v", w.real)
	w.pcf.calm()
	w.chf.calm()
	w.silence()
	for _, p := range w.pods {
		p.Frozen = time.Time{}
	}
	for _, u := range w.units {
		if w.Now.Before(u.away) {
			u.away = time.Time{}
			w.back(u)
		}
	}
	for _, u := range w.ues {
		if u.excused { // it may have a session or not, and finds out
			u.create()
		}
	}
	for end := w.Now.Add(kind); w.Wrong == nil; {
		w.Until(w.Now.Add(10 * time.Second))
		for _, u := range w.ues {
			u.shows()
		}
		err := w.agree()
		switch {
		case err == nil && !w.unsettled():
			return w.Wrong
		case !w.Now.Before(end.Add(-10 * time.Second)):
			w.Fail("%w", err)
		}
	}
	return w.Wrong
}

// Told so far.
func (w *world) Told() *worlds.Story { return w.Story }

// close lets go of the units' threads.
func (w *world) close() {
	for _, u := range w.units {
		if u.real != nil {
			u.real.KillUPFU()
			u.real.KillUPFC()
		}
	}
}
