package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
)

// SMF 1.2.4 knows one DNS server of a data network. The second is put behind it when the PDU SESSION ESTABLISHMENT
// ACCEPT passes on its way to the AMF: one more container 000DH (TS 24.008 10.5.6.3) where there is one, that is, where
// the UE has asked for DNS servers. The order is that of preference.

// secondServers are the second DNS servers of the configuration by DNN.
func secondServers(configPath string) (map[string]netip.Addr, error) {
	networks, err := dataNetworks(configPath)
	if err != nil {
		return nil, err
	}
	servers := map[string]netip.Addr{}
	for _, dn := range networks {
		if dn.DNS.Second == "" {
			continue
		}
		server, err := netip.ParseAddr(dn.DNS.Second)
		if err != nil || !server.Is4() {
			return nil, fmt.Errorf("%s: dns.second %q of DNN %s: write an IPv4 address", configPath, dn.DNS.Second, dn.DNN)
		}
		servers[dn.DNN] = server
	}
	return servers, nil
}

// secondDNS puts the second DNS server of the DNN into what the SMF has the AMF send to UEs.
type secondDNS struct {
	next    http.RoundTripper
	servers map[string]netip.Addr
}

func (d secondDNS) RoundTrip(request *http.Request) (*http.Response, error) {
	if len(d.servers) == 0 {
		return d.next.RoundTrip(request)
	}
	request, content, err := transfer(request)
	if err != nil {
		return nil, err
	}
	message := n1Message(request.Header.Get("Content-Type"), content)
	if longer := d.add(message); len(longer) > len(message) {
		at := bytes.Index(content, message)
		content = append(append(bytes.Clone(content[:at]), longer...), content[at+len(message):]...)
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		request.Body, _ = request.GetBody()
		request.ContentLength = int64(len(content))
	}
	return d.next.RoundTrip(request)
}

const containerDNSv4 = 0x000d // TS 24.008 10.5.6.3, network to MS

// add returns the message with the second server after the first. What is no accept, has no server, or cannot be read,
// is returned as it is.
func (d secondDNS) add(message []byte) []byte {
	options, dnn := acceptOptions(message)
	server, ok := d.servers[dnn]
	if !ok {
		return message
	}
	for rest := options.of(message); len(rest) >= 2; {
		id := binary.BigEndian.Uint16(rest)
		var content []byte
		if content, rest = lengthValue(rest[2:], 1); id != containerDNSv4 || len(content) != 4 {
			continue
		}
		container := append([]byte{0, containerDNSv4, 4}, server.AsSlice()...)
		length := options.end - options.begin + 1 + len(container)
		if length > math.MaxUint16 {
			return message
		}
		at := options.end - len(rest)
		longer := append(append(bytes.Clone(message[:at]), container...), message[at:]...)
		binary.BigEndian.PutUint16(longer[options.begin-3:], uint16(length))
		return longer
	}
	return message
}
