package postgresql

// What the API server asks of a Subscriber, asked here of those that it does not see.

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

var (
	supiForm    = regexp.MustCompile(`^imsi-[0-9]{5,15}$`)
	gpsiForm    = regexp.MustCompile(`^(msisdn-[0-9]{5,15}|extid-[^@]+@[^@]+)$`)
	amfForm     = regexp.MustCompile(`^[0-9A-Fa-f]{4}$`)
	bitRateForm = regexp.MustCompile(`^([1-9][0-9]{0,4}) (Kbps|Mbps|Gbps|Tbps)$`)
	dnnForm     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
)

// Limits of a Subscriber, as its kind has them.
const (
	maxSlices, maxDNNs, maxAddresses, maxFlows, maxRoutes = 8, 8, 8, 16, 16
	maxName, maxGPSI, maxDNN                              = 63, 128, 100
	// maxBitRate is the number before a unit, and what a gNB can be told (TS 38.413 9.3.1.4), by unit.
	maxBitRate = 32767
)

var mostOfUnit = map[string]int{"Gbps": 4000, "Tbps": 4}

// CheckSpec says what is wrong with a subscription, and what to write instead.
func CheckSpec(s *v1alpha1.SubscriberSpec) error {
	if !supiForm.MatchString(s.SUPI) {
		return fmt.Errorf("%q is no SUPI: write imsi- and 5 to 15 digits, for example imsi-208930000000001", s.SUPI)
	}
	if s.GPSI != "" && (!gpsiForm.MatchString(s.GPSI) || len(s.GPSI) > maxGPSI) {
		return fmt.Errorf("%q is no GPSI: write msisdn- and 5 to 15 digits, or extid-user@domain", s.GPSI)
	}
	if s.Authentication.AMF != "" && !amfForm.MatchString(s.Authentication.AMF) {
		return errors.New("amf must be 4 hexadecimal digits, for example 8000")
	}
	if err := errors.Join(checkBitRate("ambr.uplink", s.AMBR.Uplink), checkBitRate("ambr.downlink", s.AMBR.Downlink)); err != nil {
		return err
	}
	if len(s.Slices) < 1 || len(s.Slices) > maxSlices {
		return fmt.Errorf("%d slices: write 1 to %d", len(s.Slices), maxSlices)
	}
	seen := map[string]bool{}
	for i := range s.Slices {
		slice := &s.Slices[i]
		if slice.Name == "" || len(slice.Name) > maxName {
			return fmt.Errorf("slice %q: write the name of a Slice", slice.Name)
		}
		if seen[slice.Name] {
			return fmt.Errorf("slice %q stands twice: write it once", slice.Name)
		}
		seen[slice.Name] = true
		if err := checkSlice(slice); err != nil {
			return fmt.Errorf("slice %q: %w", slice.Name, err)
		}
	}
	return nil
}

func checkBitRate(field string, rate v1alpha1.BitRate) error {
	if rate == "" {
		return nil
	}
	parts := bitRateForm.FindStringSubmatch(string(rate))
	if parts == nil {
		return fmt.Errorf("%s %q: write a whole number from 1 to %d, a space and one of Kbps, Mbps, Gbps, Tbps, for example 100 Mbps", field, rate, maxBitRate)
	}
	n, err := strconv.Atoi(parts[1])
	most, limited := mostOfUnit[parts[2]]
	if err != nil || n > maxBitRate || limited && n > most {
		return fmt.Errorf("%s %q is more than a gNB can be told: write at most 4 Tbps, with a number up to %d", field, rate, maxBitRate)
	}
	return nil
}

func checkSlice(s *v1alpha1.SubscribedSlice) error {
	if len(s.DNNs) > maxDNNs || len(s.Addresses) > maxAddresses || len(s.Flows) > maxFlows || len(s.FramedRoutes) > maxDNNs {
		return fmt.Errorf("write at most %d dnns, %d addresses, %d flows and framedRoutes to %d dnns", maxDNNs, maxAddresses, maxFlows, maxDNNs)
	}
	seen := map[string]bool{}
	for _, dnn := range s.DNNs {
		if err := checkDNN(dnn, seen); err != nil {
			return err
		}
	}
	seen = map[string]bool{}
	for _, a := range s.Addresses {
		if err := checkDNN(a.DNN, seen); err != nil {
			return err
		}
		if err := checkAddress(a); err != nil {
			return err
		}
	}
	seen = map[string]bool{}
	for _, f := range s.FramedRoutes {
		if err := checkDNN(f.DNN, seen); err != nil {
			return err
		}
		if err := checkFramedRoutes(f); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, flow := range s.Flows {
		if flow == "" || len(flow) > maxName || names[flow] {
			return fmt.Errorf("flow %q: write the name of a flow of the Slice, once", flow)
		}
		names[flow] = true
	}
	return nil
}

// checkDNN also says where one stands twice; two that differ only in case are one (TS 23.003 9.1).
func checkDNN(dnn v1alpha1.DNN, seen map[string]bool) error {
	if len(dnn) > maxDNN || !dnnForm.MatchString(string(dnn)) {
		return fmt.Errorf("%q is no data network name: write for example internet or ims.operator", dnn)
	}
	if lower := strings.ToLower(string(dnn)); seen[lower] {
		return fmt.Errorf("DNN %q stands twice: write it once", dnn)
	} else {
		seen[lower] = true
	}
	return nil
}

func checkAddress(a v1alpha1.StaticAddress) error {
	if a.IPv4 == "" && a.IPv6Prefix == "" {
		return fmt.Errorf("addresses of DNN %q: write ipv4, ipv6Prefix or both", a.DNN)
	}
	if a.IPv4 != "" {
		if ip, err := netip.ParseAddr(string(a.IPv4)); err != nil || !ip.Is4() || !ip.IsGlobalUnicast() {
			return fmt.Errorf("%q is no IPv4 address that a UE can have: write for example 10.47.0.9", a.IPv4)
		}
	}
	if a.IPv6Prefix != "" {
		p, err := netip.ParsePrefix(string(a.IPv6Prefix))
		if err != nil || !p.Addr().Is6() || p.Bits() != 64 || p != p.Masked() || !p.Addr().IsGlobalUnicast() {
			return fmt.Errorf("%q is no IPv6 prefix that a UE can have: write one of 64 bits, for example 2001:db8:47:1::/64", a.IPv6Prefix)
		}
	}
	return nil
}

func checkFramedRoutes(f v1alpha1.FramedRoutes) error {
	if len(f.Prefixes) < 1 || len(f.Prefixes) > maxRoutes {
		return fmt.Errorf("framedRoutes of DNN %q: write 1 to %d prefixes", f.DNN, maxRoutes)
	}
	seen := map[netip.Prefix]bool{}
	for _, text := range f.Prefixes {
		p, err := netip.ParsePrefix(string(text))
		least, most := 8, 32
		if err == nil && p.Addr().Is6() {
			least, most = 16, 64
		}
		switch {
		case err != nil || p.Addr().Is4In6():
			return fmt.Errorf("%q is no CIDR: write a network address and a prefix length, for example 192.168.7.0/24", text)
		case p != p.Masked():
			return fmt.Errorf("%q has host bits set: write %s", text, p.Masked())
		case p.Bits() < least || p.Bits() > most || !p.Addr().IsGlobalUnicast():
			return fmt.Errorf("%q is no network that can be behind a UE: write one of IPv4 with a prefix length of 8 to 32, or of IPv6 with 16 to 64, for example 2001:db8:7::/48", text)
		case seen[p]:
			return fmt.Errorf("%q stands twice: write it once", text)
		}
		seen[p] = true
	}
	return nil
}
