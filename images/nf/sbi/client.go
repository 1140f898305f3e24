package sbi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	// callLimit bounds a call whose context does not.
	callLimit = 4 * time.Second
	// connectLimit is how long a connection to one instance is waited for while there is another.
	connectLimit = time.Second
	// maxReply bounds an answer's content, as maxBody a request's; a list of profiles is larger than most.
	maxReply = 1 << 20
	// maxCauses bounds the label of the same name: causes are what peers write.
	maxCauses    = 64
	maxRedirects = 3
)

// Service says who is looked for (the query parameters of TS 29.510 6.2.3.2.3.1).
type Service struct {
	// Type of the network function, such as AMF, and Name of the service, such as namf-comm.
	Type, Name string
	// What it must serve; zero values ask for nothing.
	SNSSAI *ts29571.SNSSAI
	DNN    string
	GUAMI  *ts29571.GUAMI
	// Instance and Set name one function, and the set of those that know what it knows.
	Instance, Set string
}

// Endpoint is where a service is.
type Endpoint struct {
	// Root is the API root: scheme, host, port, prefix, without a slash at the end.
	Root          string
	Instance, Set string
}

// Finder knows where services are.
type Finder interface {
	// Find gives the endpoints of a service, the best first, at least one.
	Find(context.Context, Service) ([]Endpoint, error)
	// Failed says that an endpoint was not reached or did not answer.
	Failed(Service, Endpoint)
}

// Client calls services. Its methods may be called by many at a time.
type Client struct {
	transport http.RoundTripper
	finder    Finder
	calls     *prometheus.CounterVec
	duration  *prometheus.HistogramVec

	mu     sync.Mutex
	causes map[string]bool
}

// NewClient returns a client that counts into the registry, one for each.
func NewClient(transport http.RoundTripper, finder Finder, reg prometheus.Registerer) *Client {
	c := &Client{
		transport: transport, finder: finder, causes: make(map[string]bool),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_sbi_calls_total",
			Help: "Calls of other functions, by service, operation, result (HTTP status, not_sent or unknown) and the cause that the peer gave.",
		}, []string{"service", "operation", "result", "cause"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "core5g_sbi_call_duration_seconds",
			Help:    "Time until a call of another function was answered, or given up.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, 1},
		}, []string{"service"}),
	}
	reg.MustRegister(c.calls, c.duration)
	return c
}

// Call is a request to a service.
type Call struct {
	// Operation names the call, in metrics and errors.
	Operation string
	Method    string
	// Service is whom to call. Path is below its API root and begins with the service's name: /namf-comm/v1/...
	Service Service
	Path    string
	// URI is a resource that the service has made, or a callback: it is called instead. Where it does not answer and
	// Service has a Set, the resource of the same path is asked for at another of the set.
	URI string
	// Query parameters and headers beside the usual ones.
	Query  url.Values
	Header http.Header
	// JSON is the content, nil for none; Parts are beside it.
	JSON  any
	Parts []Part
	// ContentType of the JSON, where it is not application/json.
	ContentType string
	// Repeatable: asked twice, it does what it does asked once, so that it is asked elsewhere when nobody knows.
	Repeatable bool
}

// Reply is an answer that is no error.
type Reply struct {
	Status  int
	Header  http.Header
	Message Message
	// Endpoint that answered; only Root is set of a call by URI.
	Endpoint Endpoint
	// URI that was called.
	URI string
}

// Location is the absolute URI of the resource that the answer names, "" where it names none.
func (r *Reply) Location() string {
	text := r.Header.Get("Location")
	base, err := url.Parse(r.URI)
	if text == "" || err != nil {
		return text
	}
	location, err := base.Parse(text)
	if err != nil || location.Host == "" {
		return ""
	}
	return location.String()
}

// Into reads the answer's JSON.
func (r *Reply) Into(v any) error {
	if len(bytes.TrimSpace(r.Message.JSON)) == 0 {
		return errors.New("the answer has no content")
	}
	return json.Unmarshal(r.Message.JSON, v)
}

// Do makes a call. An error is a *Refused, a *NotSent or an *Unknown.
func (c *Client) Do(ctx context.Context, call Call) (*Reply, error) {
	start := time.Now()
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callLimit)
		defer cancel()
	}
	reply, err := c.do(ctx, call)
	service := call.Service.Name
	if service == "" {
		service = "callback"
	}
	result, cause := "", ""
	var refused *Refused
	var notSent *NotSent
	switch {
	case err == nil:
		result = strconv.Itoa(reply.Status)
	case errors.As(err, &refused):
		result, cause = strconv.Itoa(refused.Status), c.label(refused.Cause)
	case errors.As(err, &notSent):
		result = "not_sent"
	default:
		result = "unknown"
	}
	c.calls.WithLabelValues(service, call.Operation, result, cause).Inc()
	c.duration.WithLabelValues(service).Observe(time.Since(start).Seconds())
	return reply, err
}

func (c *Client) label(cause string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.causes[cause] {
		return cause
	}
	if len(c.causes) == maxCauses || len(cause) > 64 || strings.Trim(cause, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return "other"
	}
	c.causes[cause] = true
	return cause
}

func (c *Client) do(ctx context.Context, call Call) (*Reply, error) {
	var raw Raw
	if call.JSON != nil {
		var err error
		if raw, err = Related(call.JSON, call.Parts...); err != nil {
			return nil, &NotSent{call.Operation, err}
		}
		if call.ContentType != "" && len(call.Parts) == 0 {
			raw.ContentType = call.ContentType
		}
	}
	path := call.Path
	if call.URI != "" {
		endpoint, below := split(call.URI, call.Service.Name)
		reply, err := c.follow(ctx, call, endpoint, call.URI, raw, 0)
		if err == nil || call.Service.Set == "" || below == "" || !elsewhere(ctx, call, err) {
			return reply, err
		}
		c.failed(call.Service, endpoint, err)
		path = below
	}
	endpoints, err := c.finder.Find(ctx, call.Service)
	if err != nil {
		return nil, &NotSent{call.Operation, err}
	}
	last := error(&NotSent{call.Operation, fmt.Errorf("nobody serves %s", call.Service.Name)})
	for n, endpoint := range endpoints {
		limit := time.Duration(0)
		if n < len(endpoints)-1 {
			limit = connectLimit
		}
		reply, err := c.follow(ctx, call, endpoint, endpoint.Root+path, raw, limit)
		if err == nil {
			return reply, nil
		}
		c.failed(call.Service, endpoint, err)
		// What is not known stays so, whatever becomes of the same request elsewhere.
		var unknown *Unknown
		if !errors.As(last, &unknown) {
			last = err
		}
		if !elsewhere(ctx, call, err) {
			break
		}
	}
	return nil, last
}

// failed tells the finder of an endpoint that was not reached or did not answer.
func (c *Client) failed(s Service, e Endpoint, err error) {
	var refused *Refused
	if !errors.As(err, &refused) && !errors.Is(err, context.Canceled) {
		c.finder.Failed(s, e)
	}
}

// elsewhere reports whether a call that failed may be made at another instance.
func elsewhere(ctx context.Context, call Call, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	var refused *Refused
	var unknown *Unknown
	switch {
	case errors.As(err, &refused):
		return refused.Status == http.StatusServiceUnavailable // TS 29.500 6.4.3
	case errors.As(err, &unknown):
		return call.Repeatable
	}
	return true
}

// split parts the URI of a resource into the API root and the path below it, "" where the service is not in it.
func split(uri, service string) (Endpoint, string) {
	u, err := url.Parse(uri)
	if err != nil {
		return Endpoint{}, ""
	}
	n := strings.Index(u.EscapedPath(), "/"+service+"/")
	if service == "" || n < 0 {
		return Endpoint{Root: u.Scheme + "://" + u.Host}, ""
	}
	return Endpoint{Root: u.Scheme + "://" + u.Host + u.EscapedPath()[:n]}, u.EscapedPath()[n:]
}

// follow makes the request, and again where it is redirected to (TS 29.500 6.10.9).
func (c *Client) follow(ctx context.Context, call Call, endpoint Endpoint, uri string, raw Raw, limit time.Duration) (*Reply, error) {
	for range maxRedirects {
		reply, err := c.once(ctx, call, uri, raw, limit)
		if err != nil {
			return nil, err
		}
		reply.Endpoint = endpoint
		if reply.Status != http.StatusTemporaryRedirect && reply.Status != http.StatusPermanentRedirect {
			return reply, nil
		}
		if uri = reply.Location(); uri == "" {
			return nil, &Refused{Operation: call.Operation, Status: reply.Status, Detail: "the redirection leads nowhere"}
		}
		endpoint, _ = split(uri, call.Service.Name)
	}
	return nil, &Refused{Operation: call.Operation, Status: http.StatusTemporaryRedirect, Detail: "redirected too often"}
}

func (c *Client) once(ctx context.Context, call Call, uri string, raw Raw, limit time.Duration) (*Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var delivery Delivery
	if limit > 0 {
		timer := time.AfterFunc(limit, func() {
			if delivery.NotSent() {
				cancel(errors.New("there is no connection in time"))
			}
		})
		defer timer.Stop()
	}
	request, err := c.request(delivery.Watched(ctx), call, uri, raw)
	if err != nil {
		return nil, &NotSent{call.Operation, err}
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		if delivery.NotSent() {
			return nil, &NotSent{call.Operation, err}
		}
		return nil, &Unknown{call.Operation, err}
	}
	defer func() { _ = response.Body.Close() }()
	return readReply(call, uri, response)
}

func (c *Client) request(ctx context.Context, call Call, uri string, raw Raw) (*http.Request, error) {
	var body io.Reader
	if call.JSON != nil {
		body = bytes.NewReader(raw.Content)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, uri, body)
	if err != nil {
		return nil, err
	}
	if request.URL.Host == "" || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		return nil, fmt.Errorf("%.200q is no http or https URI", uri)
	}
	if len(call.Query) > 0 {
		request.URL.RawQuery = call.Query.Encode()
	}
	for name, values := range call.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if call.JSON != nil {
		request.Header.Set("Content-Type", raw.ContentType)
	}
	request.Header.Set("Accept", "application/json, multipart/related, application/problem+json")
	// TS 29.500 5.2.3.3.8: what comes later is for nobody.
	if deadline, ok := ctx.Deadline(); ok {
		request.Header.Set("3gpp-Sbi-Max-Rsp-Time", strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10))
	}
	return request, nil
}

func readReply(call Call, uri string, response *http.Response) (*Reply, error) {
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	refused := response.StatusCode >= http.StatusBadRequest
	switch {
	case refused:
		// The status says it, whatever became of the rest.
	case err != nil:
		return nil, &Unknown{call.Operation, fmt.Errorf("the answer %d is cut: %w", response.StatusCode, err)}
	case len(raw) > maxReply:
		return nil, &Unknown{call.Operation, fmt.Errorf("the answer %d is too large", response.StatusCode)}
	}
	var message Message
	if len(raw) > 0 {
		// Who says nothing means JSON.
		if message, err = Decode(cmp.Or(response.Header.Get("Content-Type"), "application/json"), raw); err != nil && !refused {
			return nil, &Unknown{call.Operation, fmt.Errorf("the answer %d cannot be read: %w", response.StatusCode, err)}
		}
	}
	if refused {
		return nil, refusal(call, response, message)
	}
	return &Reply{Status: response.StatusCode, Header: response.Header, Message: message, URI: uri}, nil
}

// refusal reads problem details, which many operations have in a member called error.
func refusal(call Call, response *http.Response, message Message) *Refused {
	r := &Refused{Operation: call.Operation, Status: response.StatusCode, Message: message}
	var outer struct {
		Problem
		Inner Problem `json:"error"`
	}
	_ = json.Unmarshal(message.JSON, &outer) // what cannot be read stays empty
	if r.Cause, r.Detail = outer.Cause, outer.Detail; r.Cause == "" {
		r.Cause, r.Detail = outer.Inner.Cause, outer.Inner.Detail
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.RetryAfter = time.Duration(min(seconds, 3600)) * time.Second
	}
	return r
}
