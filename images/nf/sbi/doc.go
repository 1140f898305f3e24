// Package sbi is the service based interface of core5g's own functions (TS 29.500), both sides of it.
//
// Server: operations on paths, answered with JSON, multipart/related or problem details, over HTTP/2 with TLS or
// without, counted one by one. Client: calls that end in a reply, or in an error that tells apart what the caller must
// know: refused, not sent, or sent and nobody knows.
//
//	server.go, router.go      what is served
//	content.go                what a request carries
//	multipart.go              JSON with binary parts beside it
//	problem.go                error answers
//	client.go, failure.go     calls, and how they fail
package sbi
