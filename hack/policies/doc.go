// Network-policies enforces NetworkPolicies on the node that it runs on, where the cluster's network does
// not: the embedded cluster's links and kind's network pass everything. It is kube-router's controller,
// without its routing and its proxy, as k3s runs it: iptables chains for each pod that a policy selects,
// ipsets for the peers. It needs no nfqueue, and no module that a usual kernel lacks.
//
// What it does not see: the interfaces that pods get from Multus beside their first one. N3 and N6 are
// not subject to NetworkPolicies.
package main
