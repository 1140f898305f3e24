package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
)

// SMF 1.2.4 tells every UE that asks for it (TS 24.008 10.5.6.3, container 0010H) a link MTU of 1400 octets. What the
// data network's configuration says is put in its place when the PDU SESSION ESTABLISHMENT ACCEPT (TS 24.501 8.3.2)
// passes on its way to the AMF. Both are two octets, so that nothing else of the request changes.

// linkMTUs are the link MTUs of the configuration by DNN.
func linkMTUs(configPath string) (map[string]uint16, error) {
	networks, err := dataNetworks(configPath)
	if err != nil {
		return nil, err
	}
	mtus := map[string]uint16{}
	for _, dn := range networks {
		if dn.MTU != 0 {
			mtus[dn.DNN] = dn.MTU
		}
	}
	return mtus, nil
}

// linkMTU puts the link MTU of the DNN into what the SMF has the AMF send to UEs.
type linkMTU struct {
	next http.RoundTripper
	mtus map[string]uint16
}

func (l linkMTU) RoundTrip(request *http.Request) (*http.Response, error) {
	if len(l.mtus) == 0 {
		return l.next.RoundTrip(request)
	}
	request, content, err := transfer(request)
	if err != nil {
		return nil, err
	}
	if content != nil {
		l.write(n1Message(request.Header.Get("Content-Type"), content))
	}
	return l.next.RoundTrip(request)
}

// n1Message is the NAS message in the content of a request (TS 29.518 6.1.2.4), in place, or nil.
func n1Message(contentType string, content []byte) []byte {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil
	}
	for parts := multipart.NewReader(bytes.NewReader(content), parameters["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil {
			return nil
		}
		if part.Header.Get("Content-Type") != "application/vnd.3gpp.5gnas" {
			continue
		}
		message, err := io.ReadAll(part)
		if at := bytes.Index(content, message); err == nil && at >= 0 {
			return content[at : at+len(message)]
		}
	}
}

// Of a PDU SESSION ESTABLISHMENT ACCEPT (TS 24.501 8.3.2.1).
const (
	sessionManagement   = 0x2e
	establishmentAccept = 0xc2
	// acceptHead is what comes before the authorized QoS rules: discriminator, PDU session identity, PTI, message
	// type, PDU session type with SSC mode.
	acceptHead = 5
	acceptType = 3

	ieCause, ieRQTimer, ieOptions, ieDNN = 0x59, 0x56, 0x7b, 0x25

	containerLinkMTU = 0x0010 // TS 24.008 10.5.6.3, network to MS
)

// write changes the link MTU in an accept that has one, for a DNN that has one. What is no accept, or none that can
// be read, stays as it is.
func (l linkMTU) write(message []byte) {
	options, dnn := acceptOptions(message)
	mtu, ok := l.mtus[dnn]
	if !ok {
		return
	}
	for rest := options.of(message); len(rest) >= 2; {
		id := binary.BigEndian.Uint16(rest)
		var content []byte
		if content, rest = lengthValue(rest[2:], 1); id == containerLinkMTU && len(content) == 2 {
			binary.BigEndian.PutUint16(content, mtu)
		}
	}
}

// span is where in a message something stands.
type span struct{ begin, end int }

func (s span) of(message []byte) []byte { return message[s.begin:s.end] }

// acceptOptions finds the containers of the extended protocol configuration options (TS 24.501 9.11.4.6) of an accept,
// without the octet of the configuration protocol before them, and its DNN. The span is empty where there are none, and
// where the message is no accept, or none that can be read.
func acceptOptions(message []byte) (containers span, dnn string) {
	if len(message) < acceptHead || message[0] != sessionManagement || message[acceptType] != establishmentAccept {
		return span{}, ""
	}
	rules, rest := lengthValue(message[acceptHead:], 2)
	ambr, rest := lengthValue(rest, 1)
	if rules == nil || ambr == nil {
		return span{}, ""
	}
	var found span
	for len(rest) > 0 {
		var value []byte
		// The forms of information elements are those of TS 24.007 11.2.4; two of this message have a fixed length.
		switch id := rest[0]; {
		case id >= 0x80:
			rest = rest[1:]
			continue
		case id == ieCause || id == ieRQTimer:
			rest = rest[min(2, len(rest)):]
			continue
		case id&0xf0 == 0x70:
			if value, rest = lengthValue(rest[1:], 2); id == ieOptions && len(value) > 0 {
				end := len(message) - len(rest)
				found = span{end - len(value) + 1, end}
			}
		default:
			if value, rest = lengthValue(rest[1:], 1); id == ieDNN {
				dnn = dnnOf(value)
			}
		}
		if value == nil {
			return span{}, ""
		}
	}
	return found, dnn
}

// lengthValue takes a value with its length, of one or two octets, from the front. It is nil where there is none.
func lengthValue(b []byte, octets int) (value, rest []byte) {
	if len(b) < octets {
		return nil, nil
	}
	n := int(b[octets-1])
	if octets == 2 {
		n = int(binary.BigEndian.Uint16(b))
	}
	if b = b[octets:]; len(b) < n {
		return nil, nil
	}
	return b[:n:n], b[n:]
}

// dnnOf reads a DNN (TS 24.501 9.11.2.1B): labels, each with its length.
func dnnOf(value []byte) string {
	var labels []string
	for len(value) > 0 {
		var label []byte
		if label, value = lengthValue(value, 1); label != nil {
			labels = append(labels, string(label))
		}
	}
	return strings.Join(labels, ".")
}
