package nf

import (
	"errors"
	"net/http"
	_ "unsafe" // for go:linkname
)

// The two clients that free5GC's library calls others with, https and http URIs. They verify nothing, show no
// certificate, and wait for good for a connection whose first packet was lost; and there is no way to configure
// them. Each function has the library in a version of its own, so that it is not imported here: the linker finds
// them in the program.
var (
	//go:linkname httpsClient github.com/free5gc/openapi.innerHTTP2Client
	httpsClient *http.Client
	//go:linkname cleartextClient github.com/free5gc/openapi.innerHTTP2CleartextClient
	cleartextClient *http.Client
)

// Call has free5GC's library make all calls of this process with the transport.
func Call(transport http.RoundTripper) error {
	if httpsClient == nil || cleartextClient == nil {
		return errors.New("this program has no clients of free5GC's openapi library by the names innerHTTP2Client and innerHTTP2CleartextClient: " +
			"see what the version in its go.mod calls them")
	}
	httpsClient.Transport, cleartextClient.Transport = transport, transport
	return nil
}
