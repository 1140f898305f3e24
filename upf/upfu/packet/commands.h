// What the control thread asks of a worker.
#ifndef UPFU_COMMANDS_H
#define UPFU_COMMANDS_H

struct worker;

// Takes the next few; returns how many there were.
unsigned worker_take_commands(struct worker *w);

#endif
