package sbitls

import (
	"net/http"
	"time"
)

const (
	// pingAfter and pingTimeout find out that a peer has gone, as free5GC's own client does.
	pingAfter   = time.Second
	pingTimeout = time.Second
	// idleLimit is longer than the servers' own.
	idleLimit = 30 * time.Second
	callLimit = 5 * time.Second
)

// HTTP is a client for all of an identity's calls.
func (i *Identity) HTTP() *http.Client {
	i.once.Do(func() { i.client = &http.Client{Transport: i.Transport(), Timeout: callLimit} })
	return i.client
}

// Transport calls https URIs as the identity, over HTTP/2.
func (i *Identity) Transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http.Transport{
		Protocols: protocols, TLSClientConfig: i.Client(), IdleConnTimeout: idleLimit,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}
