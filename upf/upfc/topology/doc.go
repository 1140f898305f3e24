// Package topology says where a UPF really is: the NUMA cells of upf-u's CPUs, ports and memory, as upf-u
// read them from the kernel. upf-c serves it as JSON at /topology beside its metrics.
package topology
