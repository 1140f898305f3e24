// Cluster-dns answers the names of a cluster's Services and Pods after the "Kubernetes DNS-Based Service
// Discovery" specification 1.1.0, straight from the API server's Services and EndpointSlices.
//
// It stands where CoreDNS stands in a larger cluster. CoreDNS's Kubernetes plug-in does not compile with
// the client library of the Kubernetes that is built here; this needs nothing that is not compiled
// already. Names outside the cluster's domain go to the servers of -forward, and are refused without it.
package main
