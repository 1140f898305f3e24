package shard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/session-management/nsmf"

	"github.com/prometheus/client_golang/prometheus"
)

// headerPassed marks a request that a pod has passed on: it goes no further, so that two pods that each believe the
// other to hold a shard do not send it around.
const headerPassed = "Core5g-Passed-On"

// What pods ask of each other.
const (
	// pathAlive is where a pod says what it gives up, until it ends.
	pathAlive = "/core5g-shard/v1/alive"
	// pathN4 is where a pod brings a datagram that came for a shard that another pod holds. from names its sender.
	pathN4 = "/core5g-shard/v1/n4"
	// pathReplaced is where a pod says that the session of a key was asked for at another shard: what this one has of it ends.
	pathReplaced = "/core5g-shard/v1/replaced"
)

const (
	mostDatagram  = 1 << 16
	contentBinary = "application/octet-stream"
)

// Passing says how a pod reaches the others.
type Passing struct {
	// Root is the API root of a shard at the pod that has the name in leases, such as https://10.1.2.3:8001.
	Root      func(holder string, shard Identity) string
	Transport http.RoundTripper
	// From says whether a request is of another pod of the set; nil: all are that ask for what pods ask of each other.
	From func(*http.Request) bool
}

// Handler is the service based interface of a shard, at every pod: here where the shard is held, else by way of the pod that holds it.
func (p *Pod) Handler(id Identity, log *slog.Logger, reg prometheus.Registerer, o nsmf.Options) http.Handler {
	router := sbi.NewRouter(log, reg)
	requests := p.Requests(id.Name)
	nsmf.Register(router, requests, o)
	nsmf.RegisterCallbacks(router, requests, o)
	all := http.NewServeMux()
	all.HandleFunc("GET "+pathAlive, p.peers.Serve(p.ctx)) // the pod's, whoever has this shard
	all.HandleFunc("POST "+pathN4, p.peers.Only(func(w http.ResponseWriter, r *http.Request) { p.receive(id, w, r) }))
	all.HandleFunc("POST "+pathReplaced, p.peers.Only(func(w http.ResponseWriter, r *http.Request) { p.serveReplaced(id, w, r) }))
	all.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { p.serve(id, router, log, w, r) })
	return all
}

// mostAgain bounds the content, in octets, of a request that is passed on again.
const mostAgain = 1 << 18

// serve a request where its shard is held: here, or by way of the pod that holds it.
func (p *Pod) serve(id Identity, here http.Handler, log *slog.Logger, w http.ResponseWriter, r *http.Request) {
	if p.Passing.Root == nil {
		here.ServeHTTP(w, r)
		return
	}
	elsewhere := func() (*url.URL, string) {
		if r.Header.Get(headerPassed) != "" {
			return nil, ""
		}
		return p.elsewhere(id)
	}
	content, whole := sbi.Peek(r, mostAgain)
	put := func() {
		if whole {
			r.Body = io.NopCloser(bytes.NewReader(content))
		}
	}
	if !p.keeper.ToHolder(r.Context(), id.Name, elsewhere, func(to *url.URL, holder string, again bool) bool {
		put()
		return p.pass(id, to, holder, log, w, r, again && whole)
	}) {
		put()
		here.ServeHTTP(w, r)
	}
}

// pass a request on to the pod that holds its shard. false: that was not reached, so that nothing was done of the request, and it is to be passed on again.
func (p *Pod) pass(id Identity, to *url.URL, holder string, log *slog.Logger, w http.ResponseWriter, r *http.Request, again bool) (answered bool) {
	var delivery sbi.Delivery
	answered = true
	proxy := httputil.ReverseProxy{
		Transport: p.Passing.Transport, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(to)
			out.Out.Host = out.In.Host // Locations are told by what the caller knows us as
			out.Out.Header.Set(headerPassed, "1")
		},
		ModifyResponse: func(*http.Response) error {
			p.measures.passed.WithLabelValues(passedRequest, passedDone).Inc()
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			p.keeper.Unreached(holder, to.Host, err)
			if again && delivery.NotSent() {
				answered = false
				return
			}
			log.Warn("a request was not passed on", "shard", id.Name, "to", to.Host, "err", err)
			p.measures.passed.WithLabelValues(passedRequest, passedNotReached).Inc()
			nsmf.Refuse(w, r, &nsmf.Refused{Cause: nsmf.NFCongestion, Detail: "the shard moves to another pod", RetryAfter: time.Second})
		},
	}
	proxy.ServeHTTP(w, r.WithContext(delivery.Watched(r.Context())))
	return answered
}

// elsewhere is the API root of a shard that another pod holds, and that pod, which is the one that has died where the root refuses connections: another may
// hold the shard by then. nil where it is held here, or by nobody.
func (p *Pod) elsewhere(id Identity) (root *url.URL, holder string) {
	if p.Passing.Root == nil || p.Held(id.Name) != nil {
		return nil, ""
	}
	holder = p.keeper.Holder(id.Name)
	if holder == "" || holder == p.Holder {
		return nil, ""
	}
	root, err := url.Parse(p.Passing.Root(holder, id))
	if err != nil {
		return nil, ""
	}
	return root, holder
}

// others that hold shards, and where each says what it gives up.
func (p *Pod) others() map[string]*url.URL {
	out := map[string]*url.URL{}
	for _, id := range p.Shards {
		if root, holder := p.elsewhere(id); root != nil {
			out[holder] = root.JoinPath(pathAlive)
		}
	}
	return out
}

// receive a datagram by way of another pod.
func (p *Pod) receive(id Identity, w http.ResponseWriter, r *http.Request) {
	from, err := netip.ParseAddrPort(r.URL.Query().Get("from"))
	b, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, mostDatagram))
	if err = errors.Join(err, readErr); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s := p.Held(id.Name)
	if s == nil {
		http.Error(w, "the shard is not here", http.StatusServiceUnavailable)
		return
	}
	socket := s.serving(r.Context())
	if socket == nil { // the unit says it again
		http.Error(w, "the shard does not serve yet", http.StatusServiceUnavailable)
		return
	}
	socket.Receive(from, b)
	w.WriteHeader(http.StatusNoContent)
}

// relay listens on N4 for a shard that is held elsewhere.
type relay struct{ conn *net.UDPConn }

// openRelay for a shard. Where that is not possible, units repeat what they have to say until it is held here.
func (p *Pod) openRelay(id Identity) *relay {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(id.N4))
	if err != nil {
		p.Log.Warn("N4 of a shard that is held elsewhere", "shard", id.Name, "err", err)
		return &relay{}
	}
	r := &relay{conn: conn}
	go func() {
		buf := make([]byte, mostDatagram)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				p.passN4(id, from, append([]byte(nil), buf[:n]...))
			}
		}
	}()
	return r
}

func (r *relay) close() {
	if r != nil && r.conn != nil {
		_ = r.conn.Close()
	}
}

// passN4 brings a datagram to the holder. Nobody answers for one that was lost: its sender repeats it.
func (p *Pod) passN4(id Identity, from netip.AddrPort, b []byte) {
	root, holder := p.elsewhere(id)
	if root == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		to := root.JoinPath(pathN4)
		to.RawQuery = url.Values{"from": {from.String()}}.Encode()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(b))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", contentBinary)
		r.Header.Set(headerPassed, "1")
		answer, err := p.Passing.Transport.RoundTrip(r)
		if err != nil {
			p.measures.passed.WithLabelValues(passedDatagram, passedNotReached).Inc()
			p.keeper.Unreached(holder, root.Host, err)
			return
		}
		p.measures.passed.WithLabelValues(passedDatagram, passedDone).Inc()
		_ = answer.Body.Close()
	}()
}
