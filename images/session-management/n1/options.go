package n1

import (
	"encoding/binary"
	"net/netip"
)

// Option is one container of the protocol configuration options (TS 24.008 10.5.6.3).
type Option struct {
	ID      uint16
	Content []byte
}

// Options are extended protocol configuration options (TS 24.501 9.11.4.6).
type Options []Option

// What a UE asks for, and the network answers under the same number.
const (
	OptionPCSCFv6 uint16 = 0x0001
	OptionDNSv6   uint16 = 0x0003
	OptionPCSCFv4 uint16 = 0x000c
	OptionDNSv4   uint16 = 0x000d
	OptionMTUv4   uint16 = 0x0010
	// OptionMTUEthernet is that of a frame's payload.
	OptionMTUEthernet uint16 = 0x0020
	// OptionIPCP is PPP's IP control protocol, by which many UEs ask for DNS servers (RFC 1332, RFC 1877).
	OptionIPCP uint16 = 0x8021
)

const (
	pppConfiguration = 0x80 // "PPP for use with IP PDU session type"; extension bit

	ipcpRequest, ipcpAck, ipcpNak, ipcpReject = 1, 2, 3, 4
	ipcpAddress, ipcpDNS1, ipcpDNS2           = 3, 129, 131
)

// decodeOptions reads as many containers as are whole.
func decodeOptions(b []byte) (options Options) {
	if len(b) == 0 {
		return nil
	}
	for b = b[1:]; len(b) >= 3 && len(b)-3 >= int(b[2]); b = b[3+int(b[2]):] {
		options = append(options, Option{ID: binary.BigEndian.Uint16(b), Content: b[3 : 3+int(b[2])]})
	}
	return options
}

func (o Options) encode() []byte {
	b := []byte{pppConfiguration}
	for _, c := range o {
		b = append(binary.BigEndian.AppendUint16(b, c.ID), byte(len(c.Content)))
		b = append(b, c.Content...)
	}
	return b
}

// Has says whether the UE has asked for it.
func (o Options) Has(id uint16) bool {
	for _, c := range o {
		if c.ID == id {
			return true
		}
	}
	return false
}

// Configuration is what a UE may ask for.
type Configuration struct {
	// DNS and PCSCF are servers of both versions, best first.
	DNS, PCSCF []netip.Addr
	// MTU of the link for IPv4, octets; 0: not told.
	MTU uint16
	// EthernetMTU is that of a frame's payload, of a session of type Ethernet; 0: not told.
	EthernetMTU uint16
}

// Answer gives the UE what it has asked for, of the versions that the session has, and nothing else.
func (c Configuration) Answer(asked Options, v4, v6 bool) (answer Options) {
	add := func(id uint16, servers []netip.Addr, is4 bool) {
		if !asked.Has(id) {
			return
		}
		for _, a := range servers {
			if a.Is4() == is4 {
				answer = append(answer, Option{ID: id, Content: a.AsSlice()})
			}
		}
	}
	if v4 {
		add(OptionPCSCFv4, c.PCSCF, true)
		add(OptionDNSv4, c.DNS, true)
	}
	if v6 {
		add(OptionPCSCFv6, c.PCSCF, false)
		add(OptionDNSv6, c.DNS, false)
	}
	if v4 && c.MTU != 0 && asked.Has(OptionMTUv4) {
		answer = append(answer, Option{ID: OptionMTUv4, Content: binary.BigEndian.AppendUint16(nil, c.MTU)})
	}
	if c.EthernetMTU != 0 && asked.Has(OptionMTUEthernet) {
		answer = append(answer, Option{ID: OptionMTUEthernet, Content: binary.BigEndian.AppendUint16(nil, c.EthernetMTU)})
	}
	for _, o := range asked {
		if o.ID == OptionIPCP && v4 {
			if reply := c.ipcp(o.Content); reply != nil {
				answer = append(answer, Option{ID: OptionIPCP, Content: reply})
			}
		}
	}
	return answer
}

// ipcp answers a Configure-Request: addresses of DNS servers that are to be told by a Configure-Nak, options that
// are not known by a Configure-Reject (RFC 1661 5.2 to 5.4). nil: it is no request, or cannot be read.
func (c Configuration) ipcp(request []byte) []byte {
	if len(request) < 4 || request[0] != ipcpRequest {
		return nil
	}
	length := int(binary.BigEndian.Uint16(request[2:]))
	if length < 4 || length > len(request) {
		return nil
	}
	var dns []netip.Addr
	for _, a := range c.DNS {
		if a.Is4() {
			dns = append(dns, a)
		}
	}
	var ack, nak, reject []byte
	for b := request[4:length]; len(b) > 0; {
		if len(b) < 2 || int(b[1]) < 2 || int(b[1]) > len(b) {
			return nil
		}
		option := b[:b[1]]
		b = b[b[1]:]
		n := map[byte]int{ipcpDNS1: 0, ipcpDNS2: 1}
		at, isDNS := n[option[0]]
		switch {
		case isDNS && len(option) == 6 && at < len(dns):
			if want := dns[at].As4(); [4]byte(option[2:]) == want {
				ack = append(ack, option...)
			} else {
				nak = append(append(nak, option[0], 6), want[:]...)
			}
		default: // also the UE's own address: it is told in the PDU address
			reject = append(reject, option...)
		}
	}
	code, options := byte(ipcpAck), ack
	if len(reject) > 0 {
		code, options = ipcpReject, reject
	} else if len(nak) > 0 {
		code, options = ipcpNak, nak
	}
	reply := binary.BigEndian.AppendUint16([]byte{code, request[1]}, uint16(4+len(options)))
	return append(reply, options...)
}
