// Package leases is a session while somebody works on it: leased from the store, decoded, locked, and measured by what
// upf-u's memory says. So much of a session know both who executes requests on it (package sessions) and who reports
// of it (package reports); what each of them has begun with one stands beside it for as long as anybody holds a lease.
package leases
