// Package dn is the data network of the tests: the far end of N6, with a throughput server, an HTTP
// server that tells its clients their address, and the kernel's answers to pings.
package dn
