package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

// amf is an AMF with its gNBs and UEs: it asks the SMF, at whatever pod answers, and takes what it is given for UEs.
type amf struct {
	r      *rig
	root   string
	server *http.Server
	client *http.Client
	turn   atomic.Uint64
	// transfers are what UEs and gNBs were told.
	transfers atomic.Int64
	teids     atomic.Uint32

	mu     sync.Mutex
	accept map[string]chan time.Time // by SUPI: when the transfer came
	ended  map[string]bool
}

func newAMF(r *rig) (*amf, error) {
	a := &amf{r: r, accept: map[string]chan time.Time{}, ended: map[string]bool{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a.root = fmt.Sprintf("https://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /namf-comm/v1/ue-contexts/{supi}/n1-n2-messages", a.transfer)
	mux.HandleFunc("POST /status/{supi}", func(w http.ResponseWriter, q *http.Request) {
		a.mu.Lock()
		a.ended[q.PathValue("supi")] = true
		a.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	a.server = &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = a.server.Serve(tls.NewListener(listener, r.identity.Server())) }()
	t := r.identity.Transport()
	t.DialContext = a.dial
	t.IdleConnTimeout = time.Minute
	a.client = &http.Client{Transport: t, Timeout: 5 * time.Second}
	return a, nil
}

func (a *amf) close() { _ = a.server.Close() }

// dial the shard's Service: one pod after the other, as a Service does, and the next where one refuses.
func (a *amf) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var failed error
	for range a.r.pods {
		n := int(a.turn.Add(1)) % len(a.r.pods)
		conn, err := (&net.Dialer{Timeout: 500 * time.Millisecond}).DialContext(ctx, network, fmt.Sprintf("%s:%d", podAddress(n), sbiPort))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (a *amf) transfer(w http.ResponseWriter, q *http.Request) {
	at := time.Now()
	a.transfers.Add(1)
	_, _ = io.Copy(io.Discard, q.Body)
	a.mu.Lock()
	c := a.accept[q.PathValue("supi")]
	a.mu.Unlock()
	if c != nil {
		select {
		case c <- at:
		default: // once more, by a new holder
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"cause":"N1_N2_TRANSFER_INITIATED"}`)
}

// ue is a UE with one PDU session.
type ue struct {
	supi string
	ref  string
	teid uint32
	// first is from Create to the N2 request, all to the end of the set-up.
	first, all time.Duration
}

func (a *amf) newUE(n int) *ue { return &ue{supi: fmt.Sprintf("imsi-20893%010d", n)} }

// establish a session, asking again as an AMF does where the SMF does not answer.
func (a *amf) establish(ctx context.Context, u *ue) error {
	came := make(chan time.Time, 1)
	a.mu.Lock()
	a.accept[u.supi] = came
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.accept, u.supi)
		a.mu.Unlock()
	}()
	began := time.Now()
	n1Request := []byte{0x2e, 1, 1, byte(n1.EstablishmentRequestType), 0xff, 0xff, 0x91}
	create := map[string]any{
		"supi": u.supi, "pduSessionId": 1, "dnn": "internet", "sNssai": map[string]any{"sst": 1, "sd": "010203"}, "servingNfId": "0b1c2d3e-0000-4000-8000-000000000001",
		"servingNetwork": map[string]string{"mcc": "208", "mnc": "93"}, "anType": "3GPP_ACCESS", "ratType": "NR", "requestType": "INITIAL_REQUEST",
		"smContextStatusUri": a.root + "/status/" + u.supi, "n1SmMsg": map[string]string{"contentId": "n1"},
	}
	answer, err := a.insist(ctx, "/nsmf-pdusession/v1/sm-contexts", create, part{"n1", "application/vnd.3gpp.5gnas", n1Request})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	u.ref = answer.location[strings.LastIndexByte(answer.location, '/')+1:]
	select {
	case at := <-came:
		u.first = at.Sub(began)
	case <-time.After(20 * time.Second):
		return errors.New("the N2 request did not come")
	}
	u.teid = a.teids.Add(1)
	if err := a.tunnel(ctx, u); err != nil {
		return err
	}
	u.all = time.Since(began)
	return nil
}

func (a *amf) tunnel(ctx context.Context, u *ue) error {
	b, err := (&n2.SetupResponse{Downlink: n2.FlowTunnel{
		Tunnel: record.Tunnel{TEID: u.teid, IPv4: netip.MustParseAddr("172.30.3.100")}, Flows: []n2.AssociatedFlow{{QFI: 1}},
	}}).Encode()
	if err != nil {
		return err
	}
	update := map[string]any{"n2SmInfo": map[string]string{"contentId": "n2"}, "n2SmInfoType": "PDU_RES_SETUP_RSP"}
	_, err = a.insist(ctx, "/nsmf-pdusession/v1/sm-contexts/"+u.ref+"/modify", update, part{"n2", "application/vnd.3gpp.ngap", b})
	if err != nil {
		return fmt.Errorf("tunnel: %w", err)
	}
	return nil
}

// alive: the SMF knows the session, and answers about it.
func (a *amf) alive(ctx context.Context, u *ue) error {
	_, err := a.insist(ctx, "/nsmf-pdusession/v1/sm-contexts/"+u.ref+"/modify", map[string]any{"pei": "imei-000000000000000"})
	return err
}

type part struct {
	id, kind string
	content  []byte
}

type reply struct {
	status   int
	location string
	body     []byte
}

var errRefused = errors.New("refused")

// insist until there is an answer that is one.
func (a *amf) insist(ctx context.Context, path string, data any, parts ...part) (reply, error) {
	deadline := time.Now().Add(processes.Patience)
	for {
		r, err := a.post(ctx, path, data, parts)
		switch {
		case err == nil && r.status < 300:
			return r, nil
		case err == nil && r.status != http.StatusServiceUnavailable && r.status != http.StatusGatewayTimeout:
			return r, fmt.Errorf("%w: %d %s", errRefused, r.status, r.body)
		case time.Now().After(deadline) || ctx.Err() != nil:
			return r, fmt.Errorf("no answer: status %d, %w", r.status, err)
		}
		time.Sleep(20 * time.Millisecond) // then again, as an AMF
	}
}

func (a *amf) post(ctx context.Context, path string, data any, parts []part) (reply, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return reply{}, err
	}
	body, kind := bytes.NewBuffer(text), "application/json"
	if len(parts) > 0 {
		body = new(bytes.Buffer)
		w := multipart.NewWriter(body)
		add := func(id, kind string, content []byte) {
			p, _ := w.CreatePart(textproto.MIMEHeader{"Content-Type": {kind}, "Content-Id": {id}})
			_, _ = p.Write(content)
		}
		add("json", "application/json", text)
		for _, p := range parts {
			add(p.id, p.kind, p.content)
		}
		_ = w.Close()
		kind = mime.FormatMediaType("multipart/related", map[string]string{"boundary": w.Boundary()})
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("https://%s:8000%s", shardName, path), body)
	if err != nil {
		return reply{}, err
	}
	q.Header.Set("Content-Type", kind)
	answer, err := a.client.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	return reply{answer.StatusCode, answer.Header.Get("Location"), b}, err
}
