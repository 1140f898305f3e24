// Package link prepares an interface towards a UPF: waiting for it, its address, MTU and routes, and
// the offloads of the kernel that a user-space data plane on the other end of a veth must not see.
package link
