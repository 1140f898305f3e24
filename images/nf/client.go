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

// Call has free5GC's library call https URIs with one transport and http URIs with the other. A core with TLS has http
// URIs too, of functions that have not restarted yet since it was switched on.
func Call(https, cleartext http.RoundTripper) error {
	if httpsClient == nil || cleartextClient == nil {
		return errors.New("this program has no clients of free5GC's openapi library by the names innerHTTP2Client and innerHTTP2CleartextClient: " +
			"see what the version in its go.mod calls them")
	}
	httpsClient.Transport, cleartextClient.Transport = https, cleartext
	return nil
}
