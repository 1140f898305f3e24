// A session as upf-u has it, for a human with upfctl: the compiled rules, what they resolve to, and
// what their token buckets and counters hold, in JSON.
#ifndef UPFU_SHOW_H
#define UPFU_SHOW_H

#include <stddef.h>
#include <stdint.h>

struct rule_base;

#define SHOW_ROOM_LEAST 20480u

// Writes at most room octets, which are SHOW_ROOM_LEAST at least, and returns how many; 0: the session
// is absent. PDRs for which there is no room are counted instead.
size_t show_session(const struct rule_base *base, uint32_t session, char *out, size_t room);

#endif
