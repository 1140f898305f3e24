package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/associations"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/runner"
)

// meeting is what became of the last attempt to have an association with a unit.
type meeting struct {
	associated bool
	err        error
}

var (
	errSilent = errors.New("it does not answer heartbeats any more")
	errGaveUp = errors.New("it has given the association up")
	// errUnreachable: see Identity.Waits.
	errUnreachable = errors.New("no load balancer has given the shard an address yet that UPFs outside of the cluster reach: see the Services of type LoadBalancer")
)

// noteMeeting of an event; on the loop.
func (s *Shard) noteMeeting(e pfcp.Event) {
	switch e := e.(type) {
	case pfcp.Associated:
		s.met[e.Unit] = meeting{associated: true}
	case pfcp.NotAssociated:
		s.met[e.Unit] = meeting{err: e.Err}
	case pfcp.PathDown:
		s.met[e.Unit] = meeting{err: errSilent}
	case pfcp.AssociationLost:
		s.met[e.Unit] = meeting{err: errGaveUp}
	}
}

// associationsNow are those with all units that there are; on the loop.
func (s *Shard) associationsNow() associations.Shard {
	out := associations.Shard{Name: s.Name, Node: s.NodeID, Units: []associations.Unit{}}
	for _, node := range slices.Sorted(maps.Keys(s.live)) {
		met := s.met[node]
		unit := associations.Unit{NodeID: node, Associated: met.associated}
		if met.err != nil {
			unit.Problem = met.err.Error()
		}
		var unfit *pfcp.UnfitError
		if errors.As(met.err, &unfit) {
			for _, f := range unfit.Lacks {
				unit.Lacks = append(unit.Lacks, f.String())
			}
		}
		out.Units = append(out.Units, unit)
	}
	return out
}

// reportTime bounds a report.
const reportTime = 2 * time.Second

// Associations of the shards that the pod holds, and the sessions that all shards have at some units.
func (p *Pod) Associations(ctx context.Context, units []string) (associations.Report, error) {
	p.mu.Lock()
	held := slices.SortedFunc(maps.Values(p.held), func(a, b *Shard) int { return int(a.Number) - int(b.Number) })
	p.mu.Unlock()
	out := associations.Report{Shards: []associations.Shard{}}
	for _, s := range held {
		told := make(chan associations.Shard, 1)
		if !s.loop.Post(func() { told <- s.associationsNow() }) {
			continue
		}
		select {
		case shard := <-told:
			out.Shards = append(out.Shards, shard)
		case <-s.ctx.Done():
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	for _, node := range units {
		total := 0
		for _, id := range p.Shards {
			n, err := p.Store.Count(ctx, runner.UnitGroup(id.Number, node))
			if err != nil {
				return out, err
			}
			total += n
		}
		if out.Sessions == nil {
			out.Sessions = map[string]int64{}
		}
		out.Sessions[node] = int64(total)
	}
	return out, nil
}

// mostCounted is for how many units sessions are counted in one request.
const mostCounted = 64

// ServeAssociations answers GET associations.Path.
func (p *Pod) ServeAssociations(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), reportTime)
	defer cancel()
	units := r.URL.Query()[associations.Sessions]
	if len(units) > mostCounted {
		http.Error(w, fmt.Sprintf("too many units: ask for %d at a time", mostCounted), http.StatusBadRequest)
		return
	}
	report, err := p.Associations(ctx, units)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report) // who asked may have gone
}
