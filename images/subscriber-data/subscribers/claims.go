package subscribers

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// What one subscriber alone may have: its GPSI, its static addresses, and in a data network the networks behind its UE. Nobody else looks at rows: the
// operator judges objects, and the database holds GPSIs apart. So who writes rows compares them with all rows that have addresses, read once and only where
// they are wanted, and with the Subscriber objects of the core, which were there first. Whether two data networks are one network instance is not known here:
// networks behind UEs are compared in one data network only, and addresses in all of them, as the operator does.

// claim is whose something is.
type claim struct {
	digits uint64 // of the SUPI, with a 1 in front
	dn     uint32
	from   origin
}

type origin uint8

const (
	fromRow    origin = iota // as it was in the database before
	fromObject               // a Subscriber's
	fromInput                // of this command
)

// behind names a network in a data network.
type behind struct {
	dn     uint32
	prefix netip.Prefix
}

type claims struct {
	around *around
	// objects by the digits of their SUPIs: their names.
	objects   map[uint64]string
	gpsis     map[string]claim // of objects
	addresses map[netip.Prefix]claim
	networks  map[behind]claim
	dns       map[string]uint32
	// rows says that those of the database are among them; changed whether this command has written a row already: what it had is not its any more.
	rows    bool
	changed func(digits uint64) bool
}

func newClaims(changed func(uint64) bool) *claims {
	return &claims{
		objects: map[uint64]string{}, gpsis: map[string]claim{}, addresses: map[netip.Prefix]claim{}, networks: map[behind]claim{}, dns: map[string]uint32{}, changed: changed,
	}
}

// digitsOf a SUPI, with a 1 in front; 0 of what is none.
func digitsOf(supi string) uint64 {
	n, err := strconv.ParseUint("1"+strings.TrimPrefix(supi, "imsi-"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (c *claims) supi(digits uint64) string { return "imsi-" + strconv.FormatUint(digits, 10)[1:] }

// owner says who has something, for people.
func (c *claims) owner(of claim) string {
	if of.from == fromObject {
		return fmt.Sprintf("Subscriber %s (%s)", c.objects[of.digits], c.supi(of.digits))
	}
	return c.supi(of.digits)
}

// dataNetwork of a Slice: case makes no difference (TS 23.003 9.1).
func (c *claims) dataNetwork(slice string, dnn v1alpha1.DNN) uint32 {
	name := slice + "/" + strings.ToLower(string(dnn))
	n, known := c.dns[name]
	if !known {
		n = uint32(len(c.dns))
		c.dns[name] = n
	}
	return n
}

// each static address, as a prefix, and each network behind the UE. What cannot be read CheckSpec refuses.
func (c *claims) each(s *v1alpha1.SubscriberSpec, address, network func(behind)) {
	for i := range s.Slices {
		slice := &s.Slices[i]
		for _, a := range slice.Addresses {
			dn := c.dataNetwork(slice.Name, a.DNN)
			if ip, err := netip.ParseAddr(string(a.IPv4)); err == nil {
				address(behind{dn, netip.PrefixFrom(ip, ip.BitLen())})
			}
			if p, err := netip.ParsePrefix(string(a.IPv6Prefix)); err == nil {
				address(behind{dn, p.Masked()})
			}
		}
		for _, f := range slice.FramedRoutes {
			for _, text := range f.Prefixes {
				if p, err := netip.ParsePrefix(string(text)); err == nil {
					network(behind{c.dataNetwork(slice.Name, f.DNN), p.Masked()})
				}
			}
		}
	}
}

// add what a subscriber has. Who has had something keeps it.
func (c *claims) add(s *v1alpha1.SubscriberSpec, from origin) {
	is := claim{digits: digitsOf(s.SUPI), from: from}
	c.each(s, func(b behind) {
		is.dn = b.dn
		if was, has := c.addresses[b.prefix]; !has || c.gone(was) || was.digits == is.digits && was.from != fromObject {
			c.addresses[b.prefix] = is
		}
	}, func(b behind) {
		is.dn = b.dn
		if was, has := c.networks[b]; !has || c.gone(was) || was.digits == is.digits && was.from != fromObject {
			c.networks[b] = is
		}
	})
	if from == fromObject && s.GPSI != "" {
		c.gpsis[s.GPSI] = is
	}
}

// addObject of a Subscriber.
func (c *claims) addObject(s *v1alpha1.Subscriber) {
	c.objects[digitsOf(s.Spec.SUPI)] = s.Name
	c.add(&s.Spec, fromObject)
}

// gone says whether a row has given something up, as far as this command has written it: what it has now was added again.
func (c *claims) gone(of claim) bool { return of.from == fromRow && c.changed(of.digits) }

// check says what of a row is another's, and adds the rest of it.
func (c *claims) check(ctx context.Context, d *postgresql.Database, s *v1alpha1.SubscriberSpec) error {
	mine := digitsOf(s.SUPI)
	others := func(of claim, has bool) bool { return has && of.digits != mine && !c.gone(of) }
	if of, has := c.gpsis[s.GPSI]; others(of, has) {
		return fmt.Errorf("GPSI %s is that of %s: write another, or leave it out", s.GPSI, c.owner(of))
	}
	wants := false
	c.each(s, func(behind) { wants = true }, func(behind) { wants = true })
	if !wants {
		return nil
	}
	if !c.rows {
		if err := d.Addressed(ctx, func(row *v1alpha1.SubscriberSpec) { c.add(row, fromRow) }); err != nil {
			return err
		}
		c.rows = true
	}
	var problem error
	refuse := func(format string, arguments ...any) {
		if problem == nil {
			problem = fmt.Errorf(format, arguments...)
		}
	}
	// around finds a network of another's that a prefix of a data network lies in.
	around := func(b behind) (behind, claim, bool) {
		for bits := b.prefix.Bits(); bits > 0; bits-- {
			at := behind{b.dn, netip.PrefixFrom(b.prefix.Addr(), bits).Masked()}
			if of, has := c.networks[at]; others(of, has) {
				return at, of, true
			}
		}
		return behind{}, claim{}, false
	}
	c.each(s, func(b behind) {
		if of, has := c.addresses[b.prefix]; others(of, has) {
			refuse("address %s belongs to %s already: write another one, or take it from that one first", shortest(b.prefix), c.owner(of))
		} else if at, of, in := around(b); in {
			refuse("address %s lies in network %s, which is behind the UE of %s: write another one", shortest(b.prefix), at.prefix, c.owner(of))
		}
	}, func(b behind) {
		if at, of, in := around(b); in {
			refuse("network %s overlaps network %s behind the UE of %s: write another one", b.prefix, at.prefix, c.owner(of))
			return
		}
		var first netip.Prefix // of what lies in it: a map has no order
		lies := func(p netip.Prefix, dn uint32, of claim) bool {
			return dn == b.dn && b.prefix.Overlaps(p) && others(of, true) && (!first.IsValid() || p.Compare(first) < 0)
		}
		for at, of := range c.networks {
			if lies(at.prefix, at.dn, of) {
				first = at.prefix
			}
		}
		if first.IsValid() {
			refuse("network %s overlaps network %s behind the UE of %s: write another one", b.prefix, first, c.owner(c.networks[behind{b.dn, first}]))
			return
		}
		for address, of := range c.addresses {
			if lies(address, of.dn, of) {
				first = address
			}
		}
		if first.IsValid() {
			refuse("network %s has the address %s of %s: write another one", b.prefix, shortest(first), c.owner(c.addresses[first]))
		}
	})
	if problem == nil {
		c.add(s, fromInput)
	}
	return problem
}

func shortest(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
