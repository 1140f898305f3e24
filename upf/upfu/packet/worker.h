// What a worker does: worker_poll() is the whole way of a packet, and each stage is a file.
#ifndef UPFU_WORKER_H
#define UPFU_WORKER_H

struct worker;

// One round: returns how many packets, commands and timers there were.
unsigned worker_poll(struct worker *w);
// Polls until *stop; an rte_eal_remote_launch() function.
int worker_run(void *arg);

#endif
