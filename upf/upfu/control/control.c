#define _GNU_SOURCE
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "control/show.h"
#include "control/transaction.h"
#include "link/carrier.h"
#include "packet/message.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/log.h"
#include "rules/arena.h"
#include "rules/session.h"

#define DATAGRAM_MAX ((size_t)UPF_MSG_MAX)
#define EVENTS_PER_DATAGRAM 128u
#define TRACE_PER_DATAGRAM 32768u // octets
#define TRASH_WAIT_MS 1
#define END_WITHIN_S 8u   // of the 10 that a pod has, with redundancy
#define SEND_WAIT_MS 2000 // a upf-c that does not read for so long is gone

// Of answers to what was no transaction.
static const struct refusal nothing = {.what = UPF_REFUSED_RECORD};

// ---- sending -------------------------------------------------------------------------------------

static void
peer_close(struct control *c, const char *why)
{
	if (c->peer_fd < 0)
		return;
	log_info("upf-c disconnected", "reason=\"%s\" sessions=%u", why, c->base.sessions->present);
	transaction_trace(&c->base, &(struct upf_trace){0});
	transaction_listener_gone(&c->base);
	close(c->peer_fd); // leaves epoll by itself
	c->peer_fd = -1;
	c->peer_ready = false;
	c->peer_full = false;
}

// Answers are owed, so this waits for room, but not for ever.
static bool
peer_send(struct control *c, const struct iovec *iov, size_t n, int pass_fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ancillary = {0};
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = n};

	if (pass_fd >= 0) {
		struct cmsghdr *cmsg;

		message.msg_control = ancillary.space;
		message.msg_controllen = sizeof(ancillary.space);
		cmsg = CMSG_FIRSTHDR(&message);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &pass_fd, sizeof(int));
	}
	for (;;) {
		struct pollfd writable = {.fd = c->peer_fd, .events = POLLOUT};

		if (c->peer_fd < 0)
			return false;
		if (sendmsg(c->peer_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return true;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || poll(&writable, 1, SEND_WAIT_MS) == 0) {
			peer_close(
				c, errno == EAGAIN ? "does not read its answers" : strerror(errno));
			return false;
		}
	}
}

static struct upf_msg
message_head(uint16_t op, uint32_t seq, uint32_t length)
{
	return (struct upf_msg){
		.magic = UPF_ABI_MAGIC,
		.version = UPF_ABI_VERSION,
		.op = op,
		.seq = seq,
		.length = length,
	};
}

static void
send_answer(struct control *c, uint32_t seq, int status, struct refusal refusal)
{
	struct upf_msg msg = message_head(UPF_OP_ANSWER, seq, sizeof(msg));
	struct iovec iov = {&msg, sizeof(msg)};

	msg.status = status;
	msg.record = refusal.record;
	msg.refusal = refusal.what;
	msg.records = refusal.holder;
	peer_send(c, &iov, 1, -1);
}

static void
fill_endpoints(struct upf_endpoint *endpoint, const struct config_interface *in)
{
	for (unsigned i = 0; i < sizeof(uint32_t); i++)
		endpoint[0].addr[i] = (uint8_t)(in->address >> (24 - 8 * i));
	endpoint[0].prefix_len = in->block_len;
	memcpy(endpoint[1].addr, in->address6, sizeof(upf_addr));
	endpoint[1].prefix_len = in->block_len6;
}

static void
fill_network(struct upf_network *network, const struct config_interface *in)
{
	memcpy(network->name, in->network, sizeof(network->name));
	network->nat_ports = in->nat.ports;
	network->nat_prefixes = in->nat.prefixes;
	network->ethernet = in->ethernet;
	for (unsigned i = 0; i < in->nat.prefixes; i++) {
		network->nat_prefix[i].addr_be = rte_cpu_to_be_32(in->nat.prefix[i].address);
		network->nat_prefix[i].len = in->nat.prefix[i].len;
	}
}

static void
send_hello(struct control *c, uint32_t seq)
{
	const struct upf_shm *head = c->base.shm->head;
	struct upf_hello hello = {
		.boot_id = head->boot_id,
		.shm_size = c->base.shm->size,
		.sessions_max = c->config->limits.sessions_max,
		.qer_slots = head->pairs * UPF_LINE_SLOTS,
		.urr_slots = head->pairs * UPF_LINE_SLOTS,
		.sessions = c->base.sessions->present,
		.networks = c->config->networks,
	};
	struct upf_msg msg = message_head(UPF_OP_HELLO, seq, sizeof(msg) + sizeof(hello));
	struct iovec iov[2] = {{&msg, sizeof(msg)}, {&hello, sizeof(hello)}};

	fill_endpoints(&hello.endpoint[0], &c->config->interface[UPF_PORT_N3]);
	fill_endpoints(&hello.endpoint[2], &c->config->interface[UPF_PORT_N9]);
	for (unsigned i = 0; i < c->config->networks; i++)
		fill_network(&hello.network[i], &c->config->interface[config_port_of(i)]);
	peer_send(c, iov, 2, c->base.shm->fd);
}

// ---- DUMP ----------------------------------------------------------------------------------------

struct dump {
	struct control *c;
	uint32_t seq;
	uint32_t length, records; // of the datagram being filled in c->out
};

static void
dump_flush(struct dump *d)
{
	struct upf_msg msg = message_head(UPF_OP_DUMP, d->seq, d->length);
	struct iovec iov = {d->c->out, d->length};

	if (d->records == 0)
		return;
	msg.records = d->records;
	memcpy(d->c->out, &msg, sizeof(msg));
	peer_send(d->c, &iov, 1, -1);
	d->length = sizeof(msg);
	d->records = 0;
}

static void
dump_add(struct dump *d, uint16_t type, uint32_t session, const uint8_t *blob, uint32_t blob_len)
{
	uint32_t length = (uint32_t)(sizeof(struct upf_session_ref) + blob_len + 7) & ~7u;
	struct upf_session_ref ref = {
		.rec = {.type = type, .length = length},
		.session = session,
		.blob_len = blob_len,
	};

	// A blob came in one datagram beside larger heads, so it fits.
	if (d->length + length > UPF_MSG_MAX)
		dump_flush(d);
	memset(d->c->out + d->length, 0, length);
	memcpy(d->c->out + d->length, &ref, sizeof(ref));
	if (blob_len != 0)
		memcpy(d->c->out + d->length + sizeof(ref), blob, blob_len);
	d->length += length;
	d->records++;
}

static void
send_dump(struct control *c, uint32_t seq)
{
	struct dump d = {.c = c, .seq = seq, .length = sizeof(struct upf_msg)};
	struct upf_msg end = message_head(UPF_OP_DUMP_END, seq, sizeof(end));
	struct iovec iov = {&end, sizeof(end)};

	if (c->base.meta != NULL)
		dump_add(&d, UPF_REC_META, 0, c->base.meta, c->base.meta_len);
	for (uint32_t i = 0; i < c->base.sessions->max && c->peer_fd >= 0; i++) {
		const struct session_state *state = &c->base.sessions->state[i];

		if (state->part[0] != ARENA_NONE)
			dump_add(&d, UPF_REC_SESSION_STATE, i, state->blob, state->blob_len);
	}
	dump_flush(&d);
	peer_send(c, &iov, 1, -1);
}

static void
send_show(struct control *c, uint32_t seq, size_t length)
{
	const struct upf_session_ref *ref = (const void *)(c->in + sizeof(struct upf_msg));
	struct upf_msg msg = message_head(UPF_OP_SHOW, seq, sizeof(msg));
	struct iovec iov[2] = {{&msg, sizeof(msg)}, {c->out, 0}};

	if (length < sizeof(msg) + sizeof(*ref)) {
		msg.status = EINVAL;
	} else {
		iov[1].iov_len = show_session(
			&c->base, ref->session, (char *)c->out, DATAGRAM_MAX - sizeof(msg));
		msg.status = iov[1].iov_len == 0 ? ENOENT : 0;
		msg.length += (uint32_t)iov[1].iov_len;
	}
	peer_send(c, iov, 2, -1);
}

// ---- receiving -----------------------------------------------------------------------------------

static void
log_refused(struct control *c, const struct upf_msg *msg, const struct refusal *refusal, int status)
{
	static const char *const what[] = {
		[0] = "nothing",
		[UPF_REFUSED_RECORD] = "record",
		[UPF_REFUSED_FTEID] = "f_teid",
		[UPF_REFUSED_UE_IP] = "ue_ip_address",
		[UPF_REFUSED_MEMORY] = "memory",
		[UPF_REFUSED_BUSY] = "workers",
		[UPF_REFUSED_NAT] = "nat44_block",
	};
	unsigned kept;

	if (log_within(&c->refused, time(NULL), &kept))
		log_warning("transaction refused",
			"seq=%u records=%u record=%u refused=%s holder=%u error=\"%s\" "
			"suppressed=%u",
			msg->seq, msg->records, refusal->record, what[refusal->what],
			refusal->holder, strerror(status), kept);
}

static int line_place = -1; // of the process, as descriptors are

void
control_reserve_line(void)
{
	if (line_place < 0)
		line_place = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Holds what came along in place of what was held.
static int
take_line(struct control *c)
{
	if (c->passed_fd < 0)
		return EINVAL;
	if (line_place >= 0) {
		if (dup3(c->passed_fd, line_place, O_CLOEXEC) < 0)
			return errno;
		c->line_fd = line_place;
		return 0; // the other descriptor of it is dropped
	}
	if (c->line_fd >= 0)
		close(c->line_fd);
	c->line_fd = c->passed_fd;
	c->passed_fd = -1;
	return 0;
}

void
control_drop_line(struct control *c)
{
	if (c->line_fd >= 0)
		close(c->line_fd);
	if (c->line_fd == line_place)
		line_place = -1; // who opens something now may get that number
	c->line_fd = -1;
}

void
control_take(struct control *c, size_t length)
{
	const struct upf_msg *msg = (const void *)c->in;
	struct refusal refusal = {0};
	int status;

	if (length < sizeof(*msg) || msg->magic != UPF_ABI_MAGIC || msg->length != length) {
		send_answer(c, length >= sizeof(*msg) ? msg->seq : 0, EBADMSG, nothing);
		return;
	}
	if (msg->version != UPF_ABI_VERSION) {
		send_answer(c, msg->seq, EPROTONOSUPPORT, nothing);
		return;
	}
	switch (msg->op) {
	case UPF_OP_HELLO:
		send_hello(c, msg->seq);
		break;
	case UPF_OP_TRANSACTION:
		status = transaction_run(&c->base, msg, length, &refusal);
		if (status != 0)
			log_refused(c, msg, &refusal, status);
		send_answer(c, msg->seq, status, refusal);
		c->peer_ready = c->base.listener % 2 != 0;
		break;
	case UPF_OP_DUMP:
		send_dump(c, msg->seq);
		break;
	case UPF_OP_SHOW:
		send_show(c, msg->seq, length);
		break;
	case UPF_OP_LINE:
		send_answer(c, msg->seq, take_line(c), nothing);
		break;
	default:
		send_answer(c, msg->seq, EOPNOTSUPP, nothing);
		break;
	}
}

// As recv(), with the descriptor that comes along, if one does. More than one does not fit.
static ssize_t
peer_receive(struct control *c)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ancillary;
	struct iovec iov = {c->in, DATAGRAM_MAX};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ancillary.space,
		.msg_controllen = sizeof(ancillary.space)};
	ssize_t n = recvmsg(c->peer_fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *cmsg = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	c->passed_fd = -1;
	if (cmsg != NULL && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
		cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&c->passed_fd, CMSG_DATA(cmsg), sizeof(int));
	return n;
}

// Closes what came along and nobody took.
static void
drop_passed(struct control *c)
{
	if (c->passed_fd >= 0)
		close(c->passed_fd);
	c->passed_fd = -1;
}

static void
peer_readable(struct control *c)
{
	// A bounded number, so that events and signals have their turn.
	for (unsigned i = 0; i < 64 && c->peer_fd >= 0; i++) {
		ssize_t n = peer_receive(c);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			peer_close(c, n == 0 ? "closed by upf-c" : strerror(errno));
			return;
		}
		if ((size_t)n > DATAGRAM_MAX) // cut off: its head is still true
			send_answer(
				c, ((const struct upf_msg *)(void *)c->in)->seq, EMSGSIZE, nothing);
		else
			control_take(c, (size_t)n);
		drop_passed(c);
	}
}

static void
peer_accept(struct control *c)
{
	int size = 2 * (int)UPF_MSG_MAX;
	int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN};

	if (fd < 0)
		return;
	// Both may have become readable at once: the end of the old one and the beginning of its successor.
	if (c->peer_fd >= 0)
		peer_readable(c);
	if (c->peer_fd >= 0) {
		struct upf_msg busy = message_head(UPF_OP_ANSWER, 0, sizeof(busy));

		busy.status = EBUSY;
		if (send(fd, &busy, sizeof(busy), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			log_warning("second upf-c refused", "error=\"%s\"", strerror(errno));
		else
			log_warning("second upf-c refused", "reason=\"one is connected\"");
		close(fd);
		return;
	}
	// Best effort: the default holds one datagram of the greatest size.
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	event.data.fd = fd;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		close(fd);
		return;
	}
	c->peer_fd = fd;
	log_info("upf-c connected", "sessions=%u", c->base.sessions->present);
}

// ---- events --------------------------------------------------------------------------------------

static bool
peer_watch_writable(struct control *c, bool on)
{
	struct epoll_event event = {
		.events = on ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.fd = c->peer_fd,
	};

	c->peer_full = on;
	return epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->peer_fd, &event) == 0;
}

// False when the socket takes no more, or is gone.
static bool
event_datagram_send(struct control *c, struct iovec *iov, size_t n)
{
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = n};

	if (sendmsg(c->peer_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	if (errno == EAGAIN)
		peer_watch_writable(c, true);
	else if (errno != EINTR)
		peer_close(c, strerror(errno));
	return false;
}

static bool
events_send(struct control *c, const struct event *events, unsigned n)
{
	struct upf_msg msg = message_head(UPF_OP_EVENT, 0, sizeof(msg));
	struct iovec iov[1 + EVENTS_PER_DATAGRAM] = {{&msg, sizeof(msg)}};

	for (unsigned i = 0; i < n; i++) {
		iov[1 + i] = (struct iovec){(void *)(uintptr_t)&events[i], events[i].rec.length};
		msg.length += events[i].rec.length;
	}
	msg.records = n;
	return event_datagram_send(c, iov, 1 + n);
}

// Takes events out of a worker's ring only when they are on their way: a upf-c that is away gets
// them when it comes back.
static bool
worker_events(struct control *c, struct worker *w)
{
	struct event events[EVENTS_PER_DATAGRAM];
	unsigned n = rte_ring_dequeue_burst_elem_start(
		w->events, events, sizeof(events[0]), EVENTS_PER_DATAGRAM, NULL);

	if (n == 0)
		return false;
	if (!events_send(c, events, n)) {
		rte_ring_dequeue_elem_finish(w->events, 0);
		return false;
	}
	rte_ring_dequeue_elem_finish(w->events, n);
	return true;
}

static bool
worker_trace(struct control *c, struct worker *w)
{
	struct upf_msg msg = message_head(UPF_OP_EVENT, 0, sizeof(msg));
	size_t octets = trace_peek(w, c->out, TRACE_PER_DATAGRAM, &msg.records);
	struct iovec iov[2] = {{&msg, sizeof(msg)}, {c->out, octets}};

	msg.length += (uint32_t)octets;
	if (octets == 0 || !event_datagram_send(c, iov, 2))
		return false;
	trace_done(w, octets);
	return true;
}

static void
events_pump(struct control *c)
{
	for (unsigned i = 0; i < c->base.workers; i++) {
		while (c->peer_ready && !c->peer_full && worker_events(c, c->base.worker[i]))
			;
		while (c->peer_ready && !c->peer_full && worker_trace(c, c->base.worker[i]))
			;
	}
}

static bool
events_waiting(const struct control *c)
{
	for (unsigned i = 0; i < c->base.workers; i++) {
		if (rte_ring_count(c->base.worker[i]->events) != 0 ||
			trace_waiting(c->base.worker[i]))
			return true;
	}
	return false;
}

// ---- the loop ------------------------------------------------------------------------------------

static void
control_dispatch(struct control *c, const struct epoll_event *event)
{
	int fd = event->data.fd;
	uint64_t count;

	if (fd == c->listen_fd) {
		peer_accept(c);
	} else if (fd == c->wake_fd) {
		if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
			log_warning("cannot read the wake-up", "error=\"%s\"", strerror(errno));
	} else if (fd == c->signal_fd) {
		struct signalfd_siginfo info;

		if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			log_info("stopping", "signal=%u", info.ssi_signo);
			c->ending = true;
			c->end_by = rte_rdtsc() + END_WITHIN_S * rte_get_tsc_hz();
		}
	} else if (fd == c->timer_fd) {
		uint64_t times;

		if (read(fd, &times, sizeof(times)) == (ssize_t)sizeof(times)) {
			carriers_look(&c->carriers);
			gateways_log(&c->gateways);
		}
	} else if (fd == c->peer_fd) {
		if ((event->events & EPOLLOUT) != 0)
			peer_watch_writable(c, false);
		if ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
			peer_readable(c);
	}
}

// Whether a upf-u that is to end may: nobody needs it any more, or it has been asked for so long ago.
static bool
control_may_end(const struct control *c)
{
	uint64_t now = rte_rdtsc();

	return !c->config->redundancy || c->peer_fd < 0 || c->base.granted_until <= now ||
		c->end_by <= now;
}

void
control_run(struct control *c)
{
	while (!c->stop) {
		struct epoll_event events[8];
		bool trash = session_trash_collect(c->base.sessions);
		int timeout = trash ? TRASH_WAIT_MS : -1;
		int n;

		// Sequentially consistent: pairs with worker_wake_control(); see there.
		__atomic_store_n(&c->waits, 1, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (c->peer_ready && !c->peer_full && events_waiting(c))
			timeout = 0;
		n = epoll_wait(c->epoll_fd, events, 8, timeout);
		__atomic_store_n(&c->waits, 0, __ATOMIC_SEQ_CST);
		for (int i = 0; i < n; i++)
			control_dispatch(c, &events[i]);
		events_pump(c);
		if (c->ending && control_may_end(c))
			c->stop = true;
	}
}

// ---- life ----------------------------------------------------------------------------------------

static int
watch(struct control *c, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int
signals_init(struct control *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	c->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signal_fd < 0 || watch(c, c->signal_fd) < 0 ? -1 : 0;
}

static int
timer_init(struct control *c)
{
	const struct timespec every = {.tv_nsec = UPF_LINK_LOOK_MS * 1000000L};
	const struct itimerspec timer = {.it_interval = every, .it_value = every};

	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return c->timer_fd < 0 || timerfd_settime(c->timer_fd, 0, &timer, NULL) < 0 ||
			watch(c, c->timer_fd) < 0
		? -1
		: 0;
}

int
control_lock(const struct config *config, char *error, size_t error_size)
{
	char path[sizeof(config->socket) + sizeof(".lock")];
	mode_t mask = umask(0117);
	int fd;

	snprintf(path, sizeof(path), "%s.lock", config->socket);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
	umask(mask);
	if (fd < 0) {
		snprintf(error, error_size,
			"%s: %s; the folder of socket: must exist, and this user may write there",
			path, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (errno == EWOULDBLOCK)
		snprintf(error, error_size,
			"another upf-u is running with the socket %s; end it first, or give this "
			"one a socket: and interfaces of its own",
			config->socket);
	else
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
	close(fd);
	return -1;
}

// A socket file may be left over from a upf-u that was killed; one that takes a connection, or would if
// fewer waited, is in use.
static int
listen_init(struct control *c)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	memcpy(address.sun_path, c->config->socket, strlen(c->config->socket) + 1);
	c->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd < 0)
		return -1;
	if (connect(c->listen_fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
		errno == EAGAIN) {
		errno = EADDRINUSE;
		return -1;
	}
	if (unlink(c->config->socket) < 0 && errno != ENOENT)
		return -1;
	mask = umask(0117);
	rc = bind(c->listen_fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (rc < 0)
		return -1;
	c->owns_socket = true;
	return listen(c->listen_fd, 4) < 0 ? -1 : watch(c, c->listen_fd);
}

int
control_init(struct control *c, const struct config *config)
{
	memset(c, 0, sizeof(*c));
	c->config = config;
	c->listen_fd = c->signal_fd = c->peer_fd = c->wake_fd = c->timer_fd = -1;
	c->line_fd = c->passed_fd = -1;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->in = aligned_alloc(64, DATAGRAM_MAX);
	c->out = aligned_alloc(64, DATAGRAM_MAX);
	if (c->epoll_fd < 0 || c->wake_fd < 0 || c->in == NULL || c->out == NULL ||
		watch(c, c->wake_fd) < 0 || signals_init(c) < 0 || timer_init(c) < 0) {
		log_error("cannot start the control thread", "error=\"%s\"", strerror(errno));
		return -1;
	}
	if (listen_init(c) < 0) {
		log_error(
			"cannot listen", "socket=%s error=\"%s\"", config->socket, strerror(errno));
		return -1;
	}
	return 0;
}

void
control_free(struct control *c)
{
	if (c->owns_socket)
		unlink(c->config->socket);
	if (c->listen_fd >= 0)
		close(c->listen_fd);
	if (c->peer_fd >= 0)
		close(c->peer_fd);
	control_drop_line(c);
	if (c->signal_fd >= 0)
		close(c->signal_fd);
	if (c->timer_fd >= 0)
		close(c->timer_fd);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c->base.meta);
	free(c->out);
	free(c->in);
}
