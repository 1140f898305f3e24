package knock

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Protocols of a Door.
const (
	TCP   = "tcp"   // a connection
	PFCP  = "pfcp"  // a Heartbeat Request and its response, TS 29.244 7.4.2
	HTTP  = "http"  // a request in clear text
	HTTPS = "https" // a request, with the visit's certificate where it has one
)

// Patience is how long an answer may take.
const Patience = 3 * time.Second

// Door is something that listens.
type Door struct {
	Protocol string `json:"protocol"`
	Address  string `json:"address"` // host:port
	// Name that the certificate of an HTTPS door must be for.
	Name string `json:"name,omitempty"`
}

// Visit tries all doors at once.
type Visit struct {
	Doors map[string]Door `json:"doors"`
	// PEM; a visitor without authorities believes every certificate.
	Certificate []byte `json:"certificate,omitempty"`
	Key         []byte `json:"key,omitempty"`
	Authorities []byte `json:"authorities,omitempty"`
}

// Answer is what came of a door.
type Answer struct {
	// Open: the door did for the visitor what it is there for.
	Open bool `json:"open"`
	// Said is the answer, or the error.
	Said string `json:"said"`
	// Serial number of the certificate that an HTTPS door showed, also where it refused afterwards.
	Serial string `json:"serial,omitempty"`
}

// Try carries out a visit.
func Try(ctx context.Context, v Visit) (map[string]Answer, error) {
	var identity []tls.Certificate
	if len(v.Certificate) > 0 {
		pair, err := tls.X509KeyPair(v.Certificate, v.Key)
		if err != nil {
			return nil, err
		}
		identity = append(identity, pair)
	}
	var authorities *x509.CertPool
	if len(v.Authorities) > 0 {
		authorities = x509.NewCertPool()
		if !authorities.AppendCertsFromPEM(v.Authorities) {
			return nil, errors.New("authorities: no certificate in them")
		}
	}
	answers := map[string]Answer{}
	var mutex sync.Mutex
	var doors sync.WaitGroup
	for name, door := range v.Doors {
		doors.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, Patience)
			defer cancel()
			answer := door.try(ctx, identity, authorities)
			mutex.Lock()
			defer mutex.Unlock()
			answers[name] = answer
		})
	}
	doors.Wait()
	return answers, nil
}

func (d Door) try(ctx context.Context, identity []tls.Certificate, authorities *x509.CertPool) Answer {
	var a Answer
	var err error
	switch d.Protocol {
	case TCP:
		a.Said, err = connect(ctx, d.Address)
	case PFCP:
		a.Said, err = heartbeat(ctx, d.Address)
	case HTTP:
		a.Said, err = request(ctx, "http://"+d.Address, nil)
	case HTTPS:
		a.Said, err = request(ctx, "https://"+d.Address, &tls.Config{
			ServerName: d.Name, RootCAs: authorities, InsecureSkipVerify: authorities == nil, Certificates: identity,
			VerifyConnection: func(s tls.ConnectionState) error {
				a.Serial = s.PeerCertificates[0].SerialNumber.Text(16)
				return nil
			},
		})
	default:
		err = fmt.Errorf("there is no protocol %q", d.Protocol)
	}
	if a.Open = err == nil; err != nil {
		a.Said = err.Error()
	}
	return a
}

func connect(ctx context.Context, address string) (string, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	return "connected", c.Close()
}

// heartbeat asks a few times: a datagram may be lost.
func heartbeat(ctx context.Context, address string) (string, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	const requestType, responseType = 1, 2
	ask := []byte{
		0x20, requestType, 0, 12, // version 1, no SEID; length
		0, 0, 1, 0, // sequence number, spare
		0, 96, 0, 4, 0xe8, 0, 0, 0, // Recovery Time Stamp
	}
	answer := make([]byte, 1500)
	for ctx.Err() == nil {
		if _, err = c.Write(ask); err != nil {
			return "", err
		}
		if err := c.SetReadDeadline(time.Now().Add(Patience / 4)); err != nil {
			return "", err
		}
		var n int
		n, err = c.Read(answer)
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout():
		case err != nil:
			return "", err
		case n < 8 || answer[1] != responseType:
			return "", fmt.Errorf("answered % x", answer[:n])
		default:
			return "Heartbeat Response", nil
		}
	}
	return "", fmt.Errorf("no answer: %w", err)
}

func request(ctx context.Context, url string, config *tls.Config) (string, error) {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	if err != nil {
		return "", err
	}
	said := strings.TrimSpace(response.Status + " " + string(body))
	// Go's servers say so themselves, in clear text, where they speak TLS only.
	if response.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte("HTTP request to an HTTPS server")) {
		return "", errors.New(said)
	}
	return said, nil
}
