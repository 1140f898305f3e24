package main

import (
	"net/http"
	_ "unsafe" // for go:linkname

	"core5g.dev/core5g/images/registration/sbitls"

	_ "github.com/free5gc/openapi" // has the client
)

// httpsClient is the one client that free5GC's library calls https URIs with. It verifies nothing and shows
// no certificate, and there is no way to configure it.
//
//go:linkname httpsClient github.com/free5gc/openapi.innerHTTP2Client
var httpsClient *http.Client

// callAs makes every call of this function one of the identity.
func callAs(identity *sbitls.Identity) { httpsClient.Transport = identity.Transport() }
