// The PCI device behind a resource of a Kubernetes device plugin, which tells the container by its
// environment: PCIDEVICE_<RESOURCE>=<address>[,<address>…].
#ifndef UPFU_DEVICE_H
#define UPFU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

// Writes the nth address of the resource into device. {cell} in the resource stands for any number: the
// container has devices of the cell that it was placed on. -1: one sentence in error.
int device_of_resource(char *const *environment, const char *resource, unsigned nth, char *device,
	size_t device_size, char *error, size_t error_size);

// The PCI device stays with the kernel's driver, beside which DPDK's works (mlx5), and is not vfio-pci's. sysfs is
// where it is mounted.
bool device_is_kernels(const char *sysfs, const char *address);

#endif
