// Package applications knows what CP functions have described to detect applications by: packet flow descriptions and domain
// names (PFDs, TS 29.244 6.2.5), of each CP function its own.
//
// It knows no session and no upf-u. Package sessions puts what it has into force.
package applications
