// The control thread: the single writer of all tables. It serves upf-c on a Unix SEQPACKET socket,
// passes the workers' events on, looks at the links, frees what no worker uses any more, and ends on SIGTERM or SIGINT.
// With redundancy and a upf-c it ends when it is silent: upf-c has the time to hand the unit over.
//
// One upf-c at a time; a second one is told EBUSY and closed. When upf-c goes, forwarding goes on and
// everything is kept for the next one, which reads it back with DUMP. Events wait until the new
// upf-c has stored META: it does so when it knows, or has given, all sessions. Before that it could
// not tell whose they are.
#ifndef UPFU_CONTROL_H
#define UPFU_CONTROL_H

#include "control/transaction.h"
#include "link/carrier.h"
#include "link/gateways.h"
#include "process/log.h"

struct control {
	const struct config *config;
	struct rule_base base;
	struct carriers carriers; // of no port: nobody looks
	struct gateways_log gateways;
	uint32_t waits; // workers: wake me by wake_fd
	int wake_fd;
	int epoll_fd, listen_fd, signal_fd;
	int timer_fd;     // time to look at the links
	int peer_fd;      // upf-c, -1: none
	int line_fd;      // that upf-c had us hold (UPF_OP_LINE), -1: none
	int passed_fd;    // that came along with the datagram in hand, -1: none
	bool owns_socket; // its file is ours to remove
	bool peer_ready;  // it has stored META, so that it may get events
	bool peer_full;   // its socket takes no more events now
	bool stop;
	bool ending;              // as soon as nobody needs us any more: control_may_end()
	uint64_t end_by;          // TSC
	struct log_limit refused; // transactions
	uint8_t *in, *out;        // UPF_MSG_MAX each
};

// Makes this the only upf-u of its socket for as long as the process lives: a lock beside the socket, which
// the kernel gives back when it ends, however it ends. Returns the descriptor that holds it, -1: one sentence
// in error. To be asked before anything is touched that a running upf-u uses.
int control_lock(const struct config *config, char *error, size_t error_size);
// Keeps a low descriptor for the line (UPF_OP_LINE). The kernel closes the descriptors of a process that was
// killed in their order, and hugepages and packet sockets take it tens of milliseconds and more, in which the standby would wait for
// the line's end. To be called before anything else is opened.
void control_reserve_line(void);
int control_init(struct control *c, const struct config *config);
// Serves until a signal ends it.
void control_run(struct control *c);
// Lets go of the line, when no worker runs any more: nothing is sent from then on.
void control_drop_line(struct control *c);
void control_free(struct control *c);

// For tests: one datagram in, the answer or answers out through the peer's socket.
void control_take(struct control *c, size_t length);

#endif
