// What a worker tells the control thread.
#ifndef UPFU_EVENTS_H
#define UPFU_EVENTS_H

#include <stdbool.h>

#include "packet/message.h"

struct worker;

// False: the ring is full.
bool worker_raise(struct worker *w, const struct event *event);
// After a poll that raised something.
void worker_wake_control(struct worker *w);

#endif
