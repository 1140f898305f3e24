package sbimemory

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// grace is how long open requests may take when a function ends, as with a socket (sbi.Serve).
const grace = 3 * time.Second

// Network joins the functions of one program.
type Network struct {
	log *slog.Logger

	mu    sync.Mutex
	doors map[string]*Door // by authority
}

// New is a network where nobody serves yet.
func New(log *slog.Logger) *Network {
	return &Network{log: log, doors: map[string]*Door{}}
}

// Door is where a function is called, at one authority or more, such as core5g-amf:8000. Calls there never leave the program.
type Door struct {
	network     *Network
	authorities []string

	mu      sync.Mutex
	handler http.Handler // nil: it is not served
	open    int          // requests
	idle    chan struct{}
}

// Open a door for API roots, such as http://core5g-amf:8000. Whoever calls there is not reached before Serve, and not called elsewhere.
func (n *Network) Open(roots ...string) (*Door, error) {
	d := &Door{network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, root := range roots {
		u, err := url.Parse(root)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%q is no API root: write http://host:port or https://host:port", root)
		}
		authority := authorityOf(u)
		if n.doors[authority] != nil {
			return nil, fmt.Errorf("%s is served already, by another function of the program", authority)
		}
		d.authorities = append(d.authorities, authority)
	}
	for _, authority := range d.authorities {
		n.doors[authority] = d
	}
	return d, nil
}

// authorityOf a URI, always with a port.
func authorityOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Port() != "" {
		return host
	}
	return strings.TrimSuffix(host, ":") + map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
}

func (n *Network) door(u *url.URL) *Door {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.doors[authorityOf(u)]
}

// Serve answers with the handler until ctx ends; then it lets open requests finish, and closes the door.
func (d *Door) Serve(ctx context.Context, handler http.Handler) error {
	d.mu.Lock()
	d.handler = handler
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	d.handler = nil
	var idle chan struct{}
	if d.open > 0 {
		idle = make(chan struct{})
		d.idle = idle
	}
	d.mu.Unlock()
	if idle != nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-idle:
		case <-timer.C:
		}
	}
	d.Close()
	return nil
}

// Close a door that is not served.
func (d *Door) Close() {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	for _, authority := range d.authorities {
		if d.network.doors[authority] == d {
			delete(d.network.doors, authority)
		}
	}
}

// enter with a request; nil: nobody serves here.
func (d *Door) enter() http.Handler {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.handler != nil {
		d.open++
	}
	return d.handler
}

// leave when the request is answered.
func (d *Door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open--; d.open == 0 && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
}
