// Package integration runs upf-c and the real upf-u together, on veth interfaces in network
// namespaces, with GTP-U and the kernel as their neighbours. It has tests only; they need root and
// out/bin/upf-u, and say so when they are skipped.
package integration
