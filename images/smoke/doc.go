// Package smoke starts the network functions as built, with the configuration that the operator writes
// for them, in a network namespace of its own: they find each other, a UE gets a PDU session, and they
// find each other again after the NRF or the database has lost everything. The UPF is played by the test.
package smoke
