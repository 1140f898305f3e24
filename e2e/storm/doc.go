// Package storm makes the load of bad days: an SMF of nobody's that fills a UPF with sessions and asks for
// what is not there, and GTP-U for tunnels that do not exist, which the suites run in pods (e2e/cmd/storm); and
// UEs that all register at once (`make bench-core`), with what the core's functions take for that.
package storm
