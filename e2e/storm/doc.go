// Package storm makes the load of bad days: an SMF of nobody's that fills a UPF with sessions and asks for
// what is not there, and GTP-U for tunnels that do not exist. The suites run it in pods (e2e/cmd/storm).
package storm
