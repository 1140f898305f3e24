package pod

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// Member is how a pod was started that is a member of a core.
type Member struct {
	Config
	// Core is the name of the Core5G.
	Core, Namespace string
	// ConfigurationFile replaces Kubernetes by a file.
	ConfigurationFile string
	// Address is the pod's own.
	Address netip.Addr
	// NRF is its base URI, "" for none.
	NRF string
	// Roots are the base URIs of functions that the NRF is not asked for, by NF type, such as PCF; None for those that there are none of.
	Roots map[string]string

	address string
	peers   []string
}

// None switches a function off.
const None = "none"

// Flags of a member. what is in its ConfigurationFile stands in the description of that flag.
func (m *Member) Flags(f *flag.FlagSet, what string) {
	m.Config.Flags(f)
	m.Roots = map[string]string{}
	f.StringVar(&m.Core, "core", "core5g", "name of the Core5G to serve")
	f.StringVar(&m.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the objects (default $POD_NAMESPACE)")
	f.StringVar(&m.ConfigurationFile, "configuration", "", "YAML file of "+what+", instead of Kubernetes")
	f.StringVar(&m.address, "address", os.Getenv("POD_IP"), "address of this pod, by which others reach it (default $POD_IP)")
	f.StringVar(&m.NRF, "nrf", "", `base URI of the NRF (default http://<core>-nrf:8000; "none": functions are where their flags say)`)
}

// Peer declares the flag of a function that is asked for things, by its NF type. without says what it means that there is none, "" where there has to be one.
func (m *Member) Peer(f *flag.FlagSet, nfType, without string) {
	m.peers = append(m.peers, nfType)
	usage := "base URI of the " + nfType + ", where the NRF is not to be asked"
	if without != "" {
		usage += `; "none": ` + without
	}
	f.Func(strings.ToLower(nfType), usage, func(text string) error {
		if text == None && without == "" {
			return fmt.Errorf("nothing works without the %s: write http://host:port or https://host:port, or leave it out", nfType)
		}
		m.Roots[nfType] = text
		return nil
	})
}

// Check what the command line says. An error says what to write instead.
func (m *Member) Check() error {
	if err := m.Config.Check(); err != nil {
		return err
	}
	if m.ConfigurationFile == "" && m.Namespace == "" {
		return errors.New("-namespace is empty: set it, or POD_NAMESPACE, or read a file with -configuration")
	}
	address, err := netip.ParseAddr(m.address)
	if err != nil {
		return fmt.Errorf("-address %q: write the pod's address, or set POD_IP", m.address)
	}
	m.Address = address
	switch m.NRF {
	case "":
		m.NRF = "http://" + m.Core + "-nrf:8000"
	case None:
		m.NRF = ""
	}
	if m.NRF, err = root("nrf", m.NRF); err != nil {
		return err
	}
	for _, nfType := range m.peers {
		if m.Roots[nfType], err = root(strings.ToLower(nfType), m.Roots[nfType]); err != nil {
			return err
		}
	}
	return nil
}

// root is a base URI without a slash at its end.
func root(flag, text string) (string, error) {
	if text == "" || text == None {
		return text, nil
	}
	text = strings.TrimSuffix(text, "/")
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("-%s %q: write http://host:port or https://host:port", flag, text)
	}
	return text, nil
}

// Has says whether there is a function of the type, here or for the NRF to find.
func (m *Member) Has(nfType string) bool { return m.Roots[nfType] != None }

// Fixed are the roots of functions that the NRF is not asked for.
func (m *Member) Fixed() map[string]string {
	out := map[string]string{}
	for nfType, root := range m.Roots {
		if root != "" && root != None {
			out[nfType] = root
		}
	}
	return out
}
