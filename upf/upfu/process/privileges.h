// The capabilities of the process: those that its interfaces need, and no other.
//
// The program's file carries them as permitted, not as effective, so that it starts in a container that
// allows none: virtual functions need none. It raises itself what it may have and needs.
#ifndef UPFU_PRIVILEGES_H
#define UPFU_PRIVILEGES_H

#include <stdint.h>

#include "process/config.h"

// A bit for each capability that the interfaces need. sysfs is where it is mounted.
uint64_t privileges_needed(const struct config *config, const char *sysfs);

// Before any other thread exists: they inherit it. Where all interfaces are vfio, whatever is not needed
// is given up for good.
int privileges_set(const struct config *config);

#endif
