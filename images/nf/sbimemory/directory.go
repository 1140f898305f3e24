package sbimemory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"core5g.dev/core5g/images/nf/nrf"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// ErrNobody: no function of the program serves what is looked for.
var ErrNobody = errors.New("no function of this program serves it")

// Directory knows the functions of a program, as an NRF knows those of a core: each is there as long as it keeps itself so.
type Directory struct {
	mu        sync.Mutex
	functions []*nrf.Function
}

// Keep a function known until ctx ends. What it offers is asked for whenever somebody looks for it.
func (d *Directory) Keep(ctx context.Context, f nrf.Function) error {
	d.mu.Lock()
	d.functions = append(d.functions, &f)
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.functions = slices.DeleteFunc(d.functions, func(o *nrf.Function) bool { return o == &f })
	return nil
}

// Changed is for an NRF, which has to be told.
func (d *Directory) Changed() {}

// Finder of services: of functions of the program, and of others where another Finder knows them, which is asked for types that are not here; nil: there are
// none.
func (d *Directory) Finder(others sbi.Finder) sbi.Finder { return &finder{d, others} }

type finder struct {
	directory *Directory
	others    sbi.Finder
}

// Find implements sbi.Finder. Those of equal rank are in random order, so that each gets its share; of a service with an instance and a set, the instance is
// first, and then the others of the set.
func (f *finder) Find(ctx context.Context, s sbi.Service) ([]sbi.Endpoint, error) {
	f.directory.mu.Lock()
	known := slices.Clone(f.directory.functions)
	f.directory.mu.Unlock()
	var first, out []sbi.Endpoint
	here := false
	for _, function := range known {
		if function.Type != s.Type {
			continue
		}
		here = true
		e, sets := endpoint(function)
		if _, serves := function.Services[s.Name]; !serves || !offers(function, s) {
			continue
		}
		switch {
		case s.Instance != "" && e.Instance == s.Instance:
			first = append(first, e)
		case s.Set != "" && slices.Contains(sets, s.Set), s.Instance == "" && s.Set == "":
			out = append(out, e)
		}
	}
	if !here && f.others != nil {
		return f.others.Find(ctx, s)
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if out = append(first, out...); len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", s.Name, ErrNobody)
	}
	return out, nil
}

// Failed implements sbi.Finder.
func (f *finder) Failed(s sbi.Service, e sbi.Endpoint) {
	if f.others != nil {
		f.others.Failed(s, e)
	}
}

func endpoint(f *nrf.Function) (sbi.Endpoint, []string) {
	sets := slices.Clone(f.Sets)
	if f.Offers != nil {
		if a := f.Offers().AMF; a != nil {
			for _, g := range a.GUAMIs {
				sets = append(sets, g.Set())
			}
		}
	}
	e := sbi.Endpoint{Root: strings.TrimSuffix(f.URI, "/"), Instance: f.InstanceID()}
	if len(sets) > 0 {
		e.Set = sets[0]
	}
	return e, sets
}

// offers says whether a function serves what is asked for of it: the slice, the DNN in it, the GUAMI.
func offers(f *nrf.Function, s sbi.Service) bool {
	if s.SNSSAI == nil && s.DNN == "" && s.GUAMI == nil {
		return true
	}
	var o nrf.Offers
	if f.Offers != nil {
		o = f.Offers()
	}
	if s.GUAMI != nil && (o.AMF == nil || !slices.Contains(o.AMF.GUAMIs, *s.GUAMI)) {
		return false
	}
	if s.SNSSAI == nil && s.DNN == "" {
		return true
	}
	return slices.ContainsFunc(o.Slices, func(slice nrf.Slice) bool {
		return (s.SNSSAI == nil || slice.SNSSAI == ts29571.MakeSNSSAI(s.SNSSAI.SST, s.SNSSAI.SD)) &&
			(s.DNN == "" || slices.ContainsFunc(slice.DNNs, func(dnn string) bool { return strings.EqualFold(dnn, s.DNN) }))
	})
}
