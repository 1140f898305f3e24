#define _GNU_SOURCE
#include "packet/sleep.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_power_intrinsics.h>
#include <rte_rcu_qsbr.h>

#include "packet/shaper.h"
#include "packet/sleep_state.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/session.h"

#define POLLS_BEFORE_SLEEP 64u

#ifndef PACKET_IGNORE_OUTGOING // Linux 4.20
#define PACKET_IGNORE_OUTGOING 23
#endif

// Readable when a frame has come in. It keeps one octet of each frame, and of few: once it is full the
// kernel passes it by.
static int
open_waking_socket(const char *interface)
{
	static struct sock_filter one_octet[] = {BPF_STMT(BPF_RET | BPF_K, 1)};
	const struct sock_fprog program = {.len = 1, .filter = one_octet};
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = rte_cpu_to_be_16(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	const int one = 1, few = 1;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (address.sll_ifindex == 0 ||
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)) < 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) < 0 ||
		bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int
sleep_init(struct sleeper *s, const struct config *config)
{
	struct rte_cpu_intrinsics cpu;

	*s = (struct sleeper){.max_us = config->sleep_max_us, .next_us = 1, .event_fd = -1};
	for (unsigned port = 0; port < UPF_PORTS; port++)
		s->socket[port] = -1;
	rte_cpu_get_intrinsics_support(&cpu);
	s->pauses = cpu.power_pause != 0;
	if (s->max_us == 0)
		return 0;
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event_fd < 0)
		return -1;
	for (unsigned port = 0; port < config->ports; port++) {
		const struct config_interface *in = &config->interface[port];

		if (in->present && in->device_of == port && in->driver == CONFIG_AF_PACKET)
			s->socket[port] = open_waking_socket(in->device);
	}
	return 0;
}

void
sleep_free(struct sleeper *s)
{
	for (unsigned port = 0; port < UPF_PORTS; port++) {
		if (s->socket[port] >= 0)
			close(s->socket[port]);
	}
	if (s->event_fd >= 0)
		close(s->event_fd);
	s->event_fd = -1;
}

static bool
listen_to(struct rte_epoll_event *event, int fd)
{
	*event = (struct rte_epoll_event){.epdata = {.event = EPOLLIN}};
	return rte_epoll_ctl(RTE_EPOLL_PER_THREAD, EPOLL_CTL_ADD, fd, event) == 0;
}

// DPDK's epoll instance is the thread's, and rx interrupts find it by that.
void
sleep_begin(struct worker *w)
{
	struct sleeper *s = &w->sleeper;

	s->listens = s->event_fd >= 0 && listen_to(&s->event_event, s->event_fd);
	for (unsigned i = 0; s->listens && i < w->devices; i++) {
		enum upf_port port = w->device[i];

		if (s->socket[port] >= 0)
			s->listens = listen_to(&s->socket_event[port], s->socket[port]);
		else
			s->listens = s->interrupt[port] =
				rte_eth_dev_rx_intr_ctl_q(w->port[port].ethdev, (uint16_t)w->index,
					RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL) == 0;
	}
}

void
sleep_ring(struct sleeper *s)
{
	const uint64_t one = 1;

	// Of several who ring at once, one does.
	if (__atomic_exchange_n(&s->asleep, 0, __ATOMIC_RELAXED) != 0 && s->event_fd >= 0 &&
		write(s->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		__atomic_store_n(&s->asleep, 1, __ATOMIC_RELAXED);
}

// Takes back what woke it the last time, and what came while it was busy.
static void
forget_wakes(const struct sleeper *s)
{
	uint64_t octets;

	while (read(s->event_fd, &octets, sizeof(octets)) > 0)
		;
	for (unsigned port = 0; port < UPF_PORTS; port++) {
		while (s->socket[port] >= 0 &&
			recv(s->socket[port], &octets, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0)
			;
	}
}

static void
set_interrupts(const struct worker *w, bool on)
{
	for (unsigned port = 0; port < w->ports; port++) {
		if (!w->sleeper.interrupt[port])
			continue;
		// A driver that has nothing to switch says -ENOTSUP.
		if (on)
			rte_eth_dev_rx_intr_enable(w->port[port].ethdev, (uint16_t)w->index);
		else
			rte_eth_dev_rx_intr_disable(w->port[port].ethdev, (uint16_t)w->index);
	}
}

// Packets that wait for their rate are not kept longer, but by a silent worker.
static uint64_t
at_most_until(const struct worker *w, uint64_t until)
{
	return w->silent ? until : RTE_MIN(until, shaper_due(&w->shaper));
}

// The first call asks to be woken, and the poll after it is the last; the second call waits.
static void
listen_and_wait(struct worker *w)
{
	struct sleeper *s = &w->sleeper;
	struct rte_epoll_event events[UPF_PORTS + 1];
	uint64_t now = rte_rdtsc(), until = at_most_until(w, w->next_tick);
	int ms = 0;

	// Relaxed, here and below: whoever rings takes it back at the same time.
	if (__atomic_load_n(&s->asleep, __ATOMIC_RELAXED) == 0) {
		forget_wakes(s);
		set_interrupts(w, true);
		__atomic_store_n(&s->asleep, 1, __ATOMIC_RELAXED);
		// Sequentially consistent: pairs with sleep_wake().
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		return;
	}
	if (until > now)
		ms = (int)((until - now) * 1000 / w->tsc_hz) + 1;
	rte_rcu_qsbr_thread_offline(w->sessions->qsbr, w->index);
	rte_epoll_wait(RTE_EPOLL_PER_THREAD, events, RTE_DIM(events), ms);
	rte_rcu_qsbr_thread_online(w->sessions->qsbr, w->index);
	__atomic_store_n(&s->asleep, 0, __ATOMIC_RELAXED);
	set_interrupts(w, false);
}

static void
wait_longer_each_time(struct worker *w)
{
	struct sleeper *s = &w->sleeper;
	uint64_t now = rte_rdtsc(), until = now + w->tsc_hz / 1000000 * s->next_us;
	struct timespec ts = {0};

	until = at_most_until(w, until);
	if (until > now)
		ts.tv_nsec = (long)((until - now) * 1000 / (w->tsc_hz / 1000000));
	rte_rcu_qsbr_thread_offline(w->sessions->qsbr, w->index);
	if (s->pauses && !w->shares_cpu)
		rte_power_pause(until);
	else
		nanosleep(&ts, NULL);
	rte_rcu_qsbr_thread_online(w->sessions->qsbr, w->index);
	s->next_us = s->next_us * 2 < s->max_us ? s->next_us * 2 : s->max_us;
}

void
sleep_after_empty_poll(struct worker *w)
{
	struct sleeper *s = &w->sleeper;

	if (s->max_us == 0 || (s->empty_polls < POLLS_BEFORE_SLEEP && !w->shares_cpu)) {
		s->empty_polls++;
		rte_pause();
	} else if (s->listens) {
		listen_and_wait(w);
	} else {
		wait_longer_each_time(w);
	}
}
