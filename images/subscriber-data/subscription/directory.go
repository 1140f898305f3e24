package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/util/flowcontrol"

	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/suci"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Objects are the objects of one core, as they are now. Missing ones are ErrNotFound, a SUPI without a
// Subscriber is ErrUnknownSubscriber. What is being deleted counts as deleted.
type Objects interface {
	Core5G(ctx context.Context) (*v1alpha1.Core5G, error)
	Slices(ctx context.Context) ([]v1alpha1.Slice, error)
	Subscriber(ctx context.Context, supi string) (*v1alpha1.Subscriber, error)
	Secret(ctx context.Context, name string) (map[string][]byte, error)
}

// Directory answers from Objects. It keeps nothing.
type Directory struct {
	objects       Objects
	confirmations flowcontrol.PassiveRateLimiter
}

// NewDirectory returns a directory over the objects of one core.
func NewDirectory(objects Objects) *Directory {
	return &Directory{objects: objects, confirmations: newConfirmations()}
}

// Changing are objects that tell of their changes: of those of one SUPI, or with "", of what may be of every one. Who is
// told is called by whoever has seen the change, and must not wait.
type Changing interface {
	OnChange(tell func(supi string))
}

// OnChange has changes of the objects told, where these do so.
func (d *Directory) OnChange(tell func(supi string)) {
	if c, ok := d.objects.(Changing); ok {
		c.OnChange(tell)
	}
}

// Core returns the core.
func (d *Directory) Core(ctx context.Context) (Core, error) {
	o, err := d.objects.Core5G(ctx)
	if err != nil {
		return Core{}, fmt.Errorf("core5g: %w", err)
	}
	var c Core
	for _, p := range o.Spec.PLMNs {
		c.PLMNs = append(c.PLMNs, PLMN{MCC: p.MCC, MNC: p.MNC})
	}
	for _, s := range o.Spec.Catalogue() {
		c.Catalogue = append(c.Catalogue, ts29571.MakeSNSSAI(s.SST, s.SD))
	}
	return c, nil
}

// Slices returns the slices that exist.
func (d *Directory) Slices(ctx context.Context) ([]Slice, error) {
	objects, err := d.objects.Slices(ctx)
	if err != nil {
		return nil, fmt.Errorf("slices: %w", err)
	}
	slices := make([]Slice, 0, len(objects))
	for i := range objects {
		slices = append(slices, resolveSlice(&objects[i]))
	}
	return slices, nil
}

// Subscriber returns the subscription of a SUPI. Slices that it names and that do not exist are left
// out, and so are DNNs that the slice does not have. It is as the objects have it, which may be behind: see Confirmed.
func (d *Directory) Subscriber(ctx context.Context, supi string) (Subscriber, error) {
	o, err := d.objects.Subscriber(ctx, supi)
	if err != nil {
		return Subscriber{}, err
	}
	return d.resolve(ctx, o)
}

// resolve what a Subscriber names.
func (d *Directory) resolve(ctx context.Context, o *v1alpha1.Subscriber) (Subscriber, error) {
	slices, err := d.Slices(ctx)
	if err != nil {
		return Subscriber{}, err
	}
	own, err := d.ownControlPlane(ctx)
	if err != nil {
		return Subscriber{}, err
	}
	byName := make(map[string]Slice, len(slices))
	for _, s := range slices {
		byName[s.Name] = s
	}
	sub := Subscriber{SUPI: o.Spec.SUPI, GPSI: o.Spec.GPSI, AMBR: resolveAMBR(o.Spec.AMBR), Barred: o.Spec.Barred}
	anyDefault := false
	for _, want := range o.Spec.Slices {
		slice, ok := byName[want.Name]
		if !ok {
			continue
		}
		slice.DataNetworks = allowed(slice.DataNetworks, want.DNNs)
		subscribed := SubscribedSlice{Slice: slice, Default: want.Default}
		if own {
			subscribed.Addresses, subscribed.Routes, subscribed.Flows = addressesOf(slice, want.Addresses), routesOf(slice, want.FramedRoutes), want.Flows
		}
		sub.Slices = append(sub.Slices, subscribed)
		anyDefault = anyDefault || want.Default
	}
	// TS 23.501 5.15.3: at least one subscribed S-NSSAI is a default.
	if !anyDefault && len(sub.Slices) > 0 {
		sub.Slices[0].Default = true
	}
	return sub, nil
}

// ownControlPlane says whether the SMF is core5g's own: free5GC's would give a static address to a UE whose UPF it has not
// told of it. A core that is not there (yet) has none.
func (d *Directory) ownControlPlane(ctx context.Context) (bool, error) {
	core, err := d.objects.Core5G(ctx)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("core5g: %w", err)
	}
	return core.OwnControlPlane(), nil
}

// addressesOf a subscription by the DNNs of its slice, which compare without case (TS 23.003 9.1).
func addressesOf(slice Slice, static []v1alpha1.StaticAddress) map[string]Addresses {
	out := make(map[string]Addresses, len(static))
	for _, a := range static {
		for _, dn := range slice.DataNetworks {
			if strings.EqualFold(dn.DNN, string(a.DNN)) {
				out[dn.DNN] = Addresses{IPv4: string(a.IPv4), IPv6Prefix: string(a.IPv6Prefix)}
			}
		}
	}
	return out
}

// routesOf a subscription likewise.
func routesOf(slice Slice, framed []v1alpha1.FramedRoutes) map[string]Routes {
	out := make(map[string]Routes, len(framed))
	for _, f := range framed {
		for _, dn := range slice.DataNetworks {
			if !strings.EqualFold(dn.DNN, string(f.DNN)) {
				continue
			}
			var r Routes
			for _, p := range f.Prefixes {
				if isIPv6(string(p)) {
					r.IPv6 = append(r.IPv6, string(p))
				} else {
					r.IPv4 = append(r.IPv4, string(p))
				}
			}
			out[dn.DNN] = r
		}
	}
	return out
}

// Credentials returns the keys of a SUPI. One of another PLMN than the core's is unknown here, whatever its Subscriber
// says: it is not this network that authenticates it (TS 33.501 6.1.2).
func (d *Directory) Credentials(ctx context.Context, supi string) (aka.Credentials, error) {
	o, err := d.known(ctx, supi)
	if err != nil {
		return aka.Credentials{}, err
	}
	if o.Spec.Barred {
		return aka.Credentials{}, ErrBarred
	}
	core, err := d.objects.Core5G(ctx)
	if err != nil {
		return aka.Credentials{}, fmt.Errorf("core5g: %w", err)
	}
	if !ofCore(core, supi) {
		return aka.Credentials{}, fmt.Errorf("%w: %s begins with no PLMN of the core", ErrUnknownSubscriber, supi)
	}
	name := o.Spec.Authentication.SecretRef.Name
	secret, err := d.objects.Secret(ctx, name)
	if err != nil {
		return aka.Credentials{}, fmt.Errorf("secret %q: %w", name, err)
	}
	c, err := aka.ParseCredentials(aka.Encoded{
		K:   string(secret[v1alpha1.SecretKeyK]),
		OPc: string(secret[v1alpha1.SecretKeyOPc]),
		OP:  string(secret[v1alpha1.SecretKeyOP]),
		AMF: cmp.Or(o.Spec.Authentication.AMF, v1alpha1.DefaultAMF),
	})
	if err != nil {
		return aka.Credentials{}, fmt.Errorf("secret %q: %w", name, err)
	}
	return c, nil
}

// HomeNetworkKey returns the private key that a SUCI's home network public key identifier and
// protection scheme stand for. Without one it is suci.ErrUnknownKey.
func (d *Directory) HomeNetworkKey(ctx context.Context, id uint8, scheme suci.Scheme) (suci.PrivateKey, error) {
	o, err := d.objects.Core5G(ctx)
	if err != nil {
		return suci.PrivateKey{}, fmt.Errorf("core5g: %w", err)
	}
	for _, k := range o.Spec.HomeNetworkKeys {
		if k.ID != int32(id) || string(k.Profile) != scheme.String() {
			continue
		}
		secret, err := d.objects.Secret(ctx, k.SecretRef.Name)
		if err != nil {
			return suci.PrivateKey{}, fmt.Errorf("secret %q of home network key %d: %w", k.SecretRef.Name, id, err)
		}
		field := k.SecretRef.Key
		if field == "" {
			field = v1alpha1.SecretKeyPrivateKey
		}
		key, err := suci.ParsePrivateKey(scheme, string(secret[field]))
		if err != nil {
			return suci.PrivateKey{}, fmt.Errorf("secret %q, key %q: %w", k.SecretRef.Name, field, err)
		}
		return key, nil
	}
	return suci.PrivateKey{}, suci.ErrUnknownKey
}

// IsUnknown reports whether the error says that a subscription does not exist.
func IsUnknown(err error) bool { return errors.Is(err, ErrUnknownSubscriber) }

func resolveSlice(o *v1alpha1.Slice) Slice {
	s := Slice{Name: o.Name, SNSSAI: ts29571.MakeSNSSAI(o.Spec.SNSSAI.SST, o.Spec.SNSSAI.SD)}
	for _, dn := range o.Spec.DataNetworks {
		s.DataNetworks = append(s.DataNetworks, DataNetwork{
			DNN:          string(dn.DNN),
			AMBR:         resolveAMBR(dn.AMBR),
			FiveQI:       cmp.Or(dn.FiveQI, v1alpha1.DefaultFiveQI),
			ARP:          resolveARP(dn.ARP),
			SessionTypes: sessionTypes(dn),
		})
	}
	return s
}

// The defaults below are those of the custom resource definitions; they matter where no API server has
// applied them.

func resolveAMBR(a v1alpha1.AMBR) AMBR {
	return AMBR{
		Uplink:   string(cmp.Or(a.Uplink, v1alpha1.DefaultUplink)),
		Downlink: string(cmp.Or(a.Downlink, v1alpha1.DefaultDownlink)),
	}
}

func resolveARP(a v1alpha1.ARP) ARP {
	arp := ARP{PriorityLevel: cmp.Or(a.PriorityLevel, v1alpha1.DefaultPriorityLevel), PreemptCap: "NOT_PREEMPT", PreemptVuln: "NOT_PREEMPTABLE"}
	if a.PreemptionCapability == v1alpha1.MayPreempt {
		arp.PreemptCap = "MAY_PREEMPT"
	}
	if a.PreemptionVulnerability == v1alpha1.Preemptable {
		arp.PreemptVuln = "PREEMPTABLE"
	}
	return arp
}

// sessionTypes are the PDU session types that a data network allows, or else that the UE pools have addresses for.
func sessionTypes(dn v1alpha1.DataNetwork) []string {
	if len(dn.SessionTypes) > 0 {
		var out []string
		for _, t := range dn.SessionTypes {
			out = append(out, strings.ToUpper(string(t))) // TS 29.571 5.4.3.1
		}
		return out
	}
	v4, v6 := len(dn.UEPools) == 0, false
	for _, p := range dn.UEPools {
		if isIPv6(string(p)) {
			v6 = true
		} else {
			v4 = true
		}
	}
	switch {
	case v4 && v6:
		return []string{"IPV4", "IPV6", "IPV4V6"}
	case v6:
		return []string{"IPV6"}
	}
	return []string{"IPV4"}
}

func isIPv6(cidr string) bool {
	for _, r := range cidr {
		if r == ':' {
			return true
		}
	}
	return false
}

// allowed narrows a slice's data networks to the DNNs of a subscription, in the order of the
// subscription; none named means all.
func allowed(networks []DataNetwork, dnns []v1alpha1.DNN) []DataNetwork {
	if len(dnns) == 0 {
		return networks
	}
	var out []DataNetwork
	for _, dnn := range dnns {
		for _, n := range networks {
			if n.DNN == string(dnn) {
				out = append(out, n)
			}
		}
	}
	return out
}
