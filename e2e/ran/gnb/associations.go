package gnb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
)

// A gNB that joins has an association with each of the AMF's addresses that it is told of, beside the one on which it has set itself up (TS 38.412 7, TS 38.413
// 8.7.3). One more begins with a RAN Configuration Update that names the gNB (8.7.2.2). UEs come by any of them, by their weights, and go on by another when one
// ends. One that is lost is made again until the AMF takes its address back; when none is left N2 is lost, as it is for who has one alone.

// port of NGAP, since an address is told without one.
const port = 38412

// evenWeight is that of an association of which nothing was said.
const evenWeight = 100

// joinTries is how often an association more is tried that the AMF does not know yet as one of the gNB's.
const joinTries = 4

// association of the NG interface. address is where it was dialled; removed: it was given up.
type association struct {
	address string
	weight  int
	removed bool
}

// AssociationStatus is one of them.
type AssociationStatus struct {
	AMF    string `json:"amf"`
	Weight int    `json:"weight"`
	// UEs that are spoken of by it.
	UEs int `json:"ues"`
}

// associations as they are shown. g.mu is held.
func (g *GNB) associations() (out []AssociationStatus) {
	if !g.cfg.Joins {
		return nil
	}
	for conn, a := range g.ways {
		s := AssociationStatus{AMF: a.address, Weight: a.weight}
		for _, c := range g.connections {
			if c.goesBy(conn) {
				s.UEs++
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b AssociationStatus) int { return strings.Compare(a.AMF, b.AMF) })
	return out
}

func (c *Connection) goesBy(conn n2.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.way == conn
}

// has says whether conn is one of the gNB's associations.
func (g *GNB) has(conn n2.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ways[conn] != nil
}

func (g *GNB) isAlone() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.alone
}

// choose an association for a UE, by the weights. g.mu is held.
func (g *GNB) choose() n2.Conn {
	all := 0
	for _, a := range g.ways {
		all += a.weight
	}
	if all == 0 {
		return g.n2
	}
	at := rand.IntN(all)
	for conn, a := range g.ways {
		if at -= a.weight; at < 0 {
			return conn
		}
	}
	return g.n2
}

// forgetWays: there is no association any more. g.mu is held.
func (g *GNB) forgetWays() {
	if len(g.ways) > 0 {
		clear(g.ways)
		close(g.alone)
	}
}

// lost an association; others go on. One that was not given up is made again.
func (g *GNB) lost(ctx context.Context, conn n2.Conn) (others bool) {
	g.mu.Lock()
	a := g.ways[conn]
	if a == nil { // the gNB has died
		g.mu.Unlock()
		return false
	}
	if len(g.ways) == 1 {
		g.forgetWays()
		g.mu.Unlock()
		return false
	}
	delete(g.ways, conn)
	if g.n2 == conn {
		for other, x := range g.ways {
			g.n2, g.status.AMF = other, x.address
			break
		}
	}
	alone := g.alone
	g.mu.Unlock()
	if !a.removed {
		g.beside.Go(func() { g.again(ctx, alone, *a) })
	}
	return true
}

// again make an association that was lost, as long as there are others.
func (g *GNB) again(ctx context.Context, alone <-chan struct{}, a association) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-alone:
			return
		case <-time.After(g.cfg.MaxBackoff):
		}
		if g.at(a.address) || g.isGivenUp(a.address) || g.join(ctx, a) == nil {
			return
		}
	}
}

// at says whether the gNB has an association with what it dials by that address.
func (g *GNB) at(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for conn, a := range g.ways {
		if host, _, err := net.SplitHostPort(address); a.address == address || err == nil && slices.Contains(addressesOf(conn, a), host) {
			return true
		}
	}
	return false
}

// isGivenUp says whether the AMF has taken an address back.
func (g *GNB) isGivenUp(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.givenUp[host]
}

// addressesOf the AMF's end of an association.
func addressesOf(conn n2.Conn, a *association) []string {
	if p, is := conn.(interface{ Peer() []string }); is {
		return p.Peer()
	}
	host, _, _ := net.SplitHostPort(a.address)
	return []string{host}
}

// configured: the AMF has changed (TS 38.413 8.7.3). What is told of its addresses takes its time, and is answered then.
func (g *GNB) configured(ctx context.Context, conn n2.Conn, m *ngapType.AMFConfigurationUpdate) error {
	l := m.ProtocolIEs.List
	t := told{n2.Find[ngapType.AMFTNLAssociationToAddList](l), n2.Find[ngapType.AMFTNLAssociationToRemoveList](l), n2.Find[ngapType.AMFTNLAssociationToUpdateList](l)}
	if !g.cfg.Joins || t == (told{}) {
		b, err := n2.Successful(n2.Reject, &ngapType.AMFConfigurationUpdateAcknowledge{})
		return g.send(conn, streamCommon, b, err)
	}
	if why := t.wrong(); g.cfg.Strict && why != nil {
		g.setError(why)
		f := &ngapType.AMFConfigurationUpdateFailure{}
		n2.Add(&f.ProtocolIEs.List, n2.Ignore, &ngapType.Cause{Present: ngapType.CausePresentProtocol, Protocol: &ngapType.CauseProtocol{Value: ngapType.CauseProtocolPresentSemanticError}})
		b, err := n2.Unsuccessful(n2.Reject, f)
		return g.send(conn, streamCommon, b, err)
	}
	g.beside.Go(func() {
		b, err := n2.Successful(n2.Reject, g.joinAll(ctx, t.add))
		if err := g.send(conn, streamCommon, b, err); err != nil {
			g.log.Warn("NGAP answer not sent", "err", err)
		}
		g.weigh(t.update)
		g.letGo(t.remove)
	})
	return nil
}

// told of the AMF's addresses.
type told struct {
	add    *ngapType.AMFTNLAssociationToAddList
	remove *ngapType.AMFTNLAssociationToRemoveList
	update *ngapType.AMFTNLAssociationToUpdateList
}

// wrong says what of the lists is not as it should be.
func (t told) wrong() error {
	seen := map[string]bool{}
	look := func(list string, a ngapType.CPTransportLayerInformation, weight *ngapType.TNLAddressWeightFactor) error {
		at := addressIn(a)
		switch {
		case at == "":
			return fmt.Errorf("AMF TNL Association to %s List: an address of %d bits", list, bits(a))
		case seen[at]:
			return fmt.Errorf("AMF TNL Association to %s List: %s is there twice", list, at)
		case weight != nil && (weight.Value < 0 || weight.Value > 255):
			return fmt.Errorf("AMF TNL Association to %s List: weight %d", list, weight.Value)
		}
		seen[at] = true
		return nil
	}
	if t.add != nil {
		for _, x := range t.add.List {
			if err := look("Add", x.AMFTNLAssociationAddress, &x.TNLAddressWeightFactor); err != nil {
				return err
			}
		}
	}
	if t.update != nil {
		for _, x := range t.update.List {
			if err := look("Update", x.AMFTNLAssociationAddress, x.TNLAddressWeightFactor); err != nil {
				return err
			}
		}
	}
	if t.remove != nil {
		for _, x := range t.remove.List {
			if err := look("Remove", x.AMFTNLAssociationAddress, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func bits(a ngapType.CPTransportLayerInformation) uint64 {
	if a.EndpointIPAddress == nil {
		return 0
	}
	return a.EndpointIPAddress.Value.BitLength
}

// addressIn a list; "" for one that is none (TS 38.414 5.1).
func addressIn(a ngapType.CPTransportLayerInformation) string {
	if n := bits(a); n != 32 && n != 128 {
		return ""
	}
	at, _ := netip.AddrFromSlice(a.EndpointIPAddress.Value.Bytes)
	return at.String()
}

// joinAll addresses at once, and say of each what has become of it.
func (g *GNB) joinAll(ctx context.Context, list *ngapType.AMFTNLAssociationToAddList) *ngapType.AMFConfigurationUpdateAcknowledge {
	out := &ngapType.AMFConfigurationUpdateAcknowledge{}
	if list == nil {
		return out
	}
	errs := make([]error, len(list.List))
	var all sync.WaitGroup
	for n, x := range list.List {
		at := addressIn(x.AMFTNLAssociationAddress)
		g.mu.Lock()
		delete(g.givenUp, at)
		g.mu.Unlock()
		all.Go(func() {
			a := association{address: net.JoinHostPort(at, strconv.Itoa(port)), weight: int(x.TNLAddressWeightFactor.Value)}
			if !g.at(a.address) {
				errs[n] = g.join(ctx, a)
			}
		})
	}
	all.Wait()
	made, failed := &ngapType.AMFTNLAssociationSetupList{}, &ngapType.TNLAssociationList{}
	for n, x := range list.List {
		if errs[n] == nil {
			made.List = append(made.List, ngapType.AMFTNLAssociationSetupItem{AMFTNLAssociationAddress: x.AMFTNLAssociationAddress})
			continue
		}
		g.log.Warn("no association with an address of the AMF's", "amf", addressIn(x.AMFTNLAssociationAddress), "err", errs[n])
		failed.List = append(failed.List, ngapType.TNLAssociationItem{
			TNLAssociationAddress: x.AMFTNLAssociationAddress,
			Cause: ngapType.Cause{Present: ngapType.CausePresentTransport, Transport: &ngapType.CauseTransport{
				Value: ngapType.CauseTransportPresentTransportResourceUnavailable,
			}},
		})
	}
	ies := &out.ProtocolIEs.List
	if len(made.List) > 0 {
		n2.Add(ies, n2.Ignore, made)
	}
	if len(failed.List) > 0 {
		n2.Add(ies, n2.Ignore, failed)
	}
	return out
}

// join by an association more.
func (g *GNB) join(ctx context.Context, a association) error {
	for try := 1; ; try++ {
		again, err := g.joinOnce(ctx, a)
		if err == nil || !again || try == joinTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second): // it says so with its Time to Wait
		}
	}
}

// joinOnce; again: the AMF may know by then that the gNB is there.
func (g *GNB) joinOnce(ctx context.Context, a association) (again bool, err error) {
	dialling, cancel := context.WithTimeout(ctx, g.cfg.SetupTimeout)
	conn, err := g.dial(dialling, a.address)
	cancel()
	if err != nil {
		return false, fmt.Errorf("dial: %w", err)
	}
	early, again, err := g.introduce(conn)
	if err != nil {
		_ = conn.Close()
		return again, err
	}
	g.mu.Lock()
	if g.n2 == nil {
		g.mu.Unlock()
		_ = conn.Close()
		return false, ErrNoN2
	}
	g.ways[conn] = &a
	g.mu.Unlock()
	g.log.Info("an association more", "amf", a.address)
	g.beside.Go(func() {
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		for _, m := range early {
			g.handle(ctx, conn, m)
		}
		err := g.read(ctx, conn)
		_ = conn.Close()
		g.log.Info("an association less", "amf", a.address, "err", err)
		g.lost(ctx, conn)
	})
	return false, nil
}

var errUnanswered = errors.New("no answer to the RAN Configuration Update")

// introduce the gNB on an association more.
func (g *GNB) introduce(conn n2.Conn) (early []any, again bool, err error) {
	m := &ngapType.RANConfigurationUpdate{}
	name := g.globalID(g.cfg.ID)
	n2.Add(&m.ProtocolIEs.List, n2.Ignore, &name)
	b, err := n2.Initiating(n2.Reject, m)
	if err != nil {
		return nil, false, err
	}
	if err := conn.Send(streamCommon, b); err != nil {
		return nil, false, err
	}
	timeout := time.AfterFunc(g.cfg.SetupTimeout, func() { _ = conn.Close() })
	defer timeout.Stop()
	for len(early) <= mostEarly {
		b, err := conn.Recv()
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", errUnanswered, err)
		}
		m, err := n2.Decode(b)
		if err != nil {
			return nil, false, err
		}
		switch m := m.(type) {
		case *ngapType.RANConfigurationUpdateAcknowledge:
			return early, false, nil
		case *ngapType.RANConfigurationUpdateFailure:
			wait := n2.Find[ngapType.TimeToWait](m.ProtocolIEs.List)
			return nil, wait != nil && wait.Value == ngapType.TimeToWaitPresentV1s, fmt.Errorf("refused: %s", n2.CauseText(n2.Find[ngapType.Cause](m.ProtocolIEs.List)))
		}
		early = append(early, m)
	}
	return nil, false, errUnanswered
}

// weigh associations anew.
func (g *GNB) weigh(list *ngapType.AMFTNLAssociationToUpdateList) {
	if list == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range list.List {
		for conn, a := range g.ways {
			if x.TNLAddressWeightFactor != nil && slices.Contains(addressesOf(conn, a), addressIn(x.AMFTNLAssociationAddress)) {
				a.weight = int(x.TNLAddressWeightFactor.Value)
			}
		}
	}
}

// letGo of associations, but for the last.
func (g *GNB) letGo(list *ngapType.AMFTNLAssociationToRemoveList) {
	if list == nil {
		return
	}
	var gone []n2.Conn
	g.mu.Lock()
	for _, x := range list.List {
		g.givenUp[addressIn(x.AMFTNLAssociationAddress)] = true
		for conn, a := range g.ways {
			if !a.removed && len(gone)+1 < len(g.ways) && slices.Contains(addressesOf(conn, a), addressIn(x.AMFTNLAssociationAddress)) {
				a.removed = true
				gone = append(gone, conn)
			}
		}
	}
	g.mu.Unlock()
	for _, conn := range gone {
		_ = conn.Close()
	}
}
