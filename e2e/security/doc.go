// Package security holds the stories of docs/security.md on a real cluster: pods that try what is none of
// their business are refused by the network; the SBI takes nobody without a certificate of the core, here
// of cert-manager; certificates are renewed under traffic; and the keys of subscribers are nowhere but in
// their Secrets. It runs on the cluster of `make up`, with cert-manager and an enforcer of NetworkPolicies:
//
//	make e2e-security
//
// It leaves the release as it found it. Files are named after their level: a story relies on those before it.
package security
