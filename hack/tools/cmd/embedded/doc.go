// Embedded runs a Kubernetes of one node, or of several (nodes.go), on a Linux machine that has containerd, runc and nft, without a
// container registry, without an init system and without touching the machine's routes, firewall or
// files.
//
// The daemons live in a sandbox: mount, network, UTS, IPC and process namespaces of their own, with a
// private /run, /var/lib and /var/log. This program is process 1 in there (`embedded init`): it mounts,
// sets up the network, starts the daemons, restarts those that end and collects orphans. When it is
// killed the kernel ends everything else in the sandbox, and with the last process go the sandbox's
// mounts and links.
//
// What the sandbox shares with the machine, `embedded down` puts back: the control groups below
// /core5g, the number of hugepages, one end of a veth pair, and the state directory.
//
//	machine                              sandbox
//	c5g-host 10.213.0.1 ── veth ── eth0 10.213.0.2   API server :6443, NodePorts
//	                                     pods 10.244.0.0/24 (CNI ptp), Services 10.96.0.0/16
package main
