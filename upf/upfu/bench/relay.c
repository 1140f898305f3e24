// A gNB and its one UE on a path with a delay, for bench/tcp.py: packets of a TUN interface into GTP-U
// and back, each direction `delay` microseconds late. Kernels without netem have no other delay.
//
//   relay-upf-u TUN_FD UDP_FD UPF_ADDRESS TEID QFI DELAY_US
//
// TUN_FD without packet information, UDP_FD bound to the gNB's address. A line on standard output says that
// it runs; SIGUSR1 prints one line of what came down so far, and counts anew:
//
//   packets=… octets=… most=… lost=…
//
// octets of the users' packets, most: of those that came within any one second.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME 2048
#define HEAD 16u            // GTP-U with a PDU Session Container
#define UNDER_WAY 32768u    // packets of a direction; a power of two
#define ARRIVALS (1u << 20) // of a second; a power of two
#define SECOND UINT64_C(1000000000)
#define TURNS 64u // of one side before the other has its turn

struct packet {
	uint64_t due;
	uint32_t length;
	uint8_t octets[FRAME];
};

struct line { // what is under way in one direction
	struct packet *packet;
	uint32_t head, tail;
	uint64_t lost;
};

struct arrival {
	uint64_t at;
	uint32_t octets;
};

struct meter {
	struct arrival *arrival; // of the last second
	uint32_t head, tail;
	uint64_t second; // octets of them
	uint64_t packets, octets, most;
};

struct relay {
	int tun, udp;
	uint64_t delay;
	struct sockaddr_in upf;
	uint8_t head[HEAD];
	struct line up, down;
	struct meter meter;
};

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static struct packet *
room(struct line *l)
{
	static struct packet nowhere;

	if (l->tail - l->head < UNDER_WAY)
		return &l->packet[l->tail % UNDER_WAY];
	return &nowhere;
}

// The packet that was written to room() is on its way.
static void
depart(struct line *l, const struct packet *p)
{
	if (p == &l->packet[l->tail % UNDER_WAY] && l->tail - l->head < UNDER_WAY)
		l->tail++;
	else
		l->lost++;
}

static struct packet *
arrived(const struct line *l, uint64_t at)
{
	struct packet *p = &l->packet[l->head % UNDER_WAY];

	return l->head != l->tail && p->due <= at ? p : NULL;
}

static void
count(struct meter *m, uint64_t at, uint32_t octets)
{
	m->packets++;
	m->octets += octets;
	m->second += octets;
	if (m->tail - m->head < ARRIVALS)
		m->arrival[m->tail++ % ARRIVALS] = (struct arrival){at, octets};
	while (m->arrival[m->head % ARRIVALS].at + SECOND <= at)
		m->second -= m->arrival[m->head++ % ARRIVALS].octets;
	if (m->second > m->most)
		m->most = m->second;
}

static void
tell(struct relay *r)
{
	struct meter *m = &r->meter;

	printf("packets=%llu octets=%llu most=%llu lost=%llu\n", (unsigned long long)m->packets,
		(unsigned long long)m->octets, (unsigned long long)m->most,
		(unsigned long long)(r->up.lost + r->down.lost));
	fflush(stdout);
	*m = (struct meter){.arrival = m->arrival};
	r->up.lost = r->down.lost = 0;
}

// Where the user's packet begins in a G-PDU, 0: it is none (TS 29.281 5.1).
static uint32_t
user_packet(const uint8_t *g, uint32_t length)
{
	uint32_t at = 8;

	if (length < at || (g[0] & 0xf0) != 0x30 || g[1] != 255)
		return 0;
	if ((g[0] & 0x07) == 0)
		return at;
	at += 4;
	for (uint8_t next = g[11]; next != 0;) {
		if (at + 1 > length || g[at] == 0 || at + 4u * g[at] > length)
			return 0;
		at += 4u * g[at];
		next = g[at - 1];
	}
	return at < length ? at : 0;
}

// False: nothing has come.
static bool
take_up(struct relay *r)
{
	struct packet *p = room(&r->up);
	ssize_t n = read(r->tun, p->octets + HEAD, FRAME - HEAD);
	uint16_t behind;

	if (n <= 0)
		return false;
	memcpy(p->octets, r->head, HEAD);
	behind = htons((uint16_t)(n + HEAD - 8));
	memcpy(p->octets + 2, &behind, sizeof(behind));
	p->length = (uint32_t)n + HEAD;
	p->due = now() + r->delay;
	depart(&r->up, p);
	return true;
}

static bool
take_down(struct relay *r)
{
	struct packet *p = room(&r->down);
	ssize_t n = recv(r->udp, p->octets, FRAME, MSG_DONTWAIT);
	uint32_t at;

	if (n < 0)
		return false;
	at = user_packet(p->octets, (uint32_t)n);
	if (at == 0)
		return true;
	p->length = (uint32_t)n - at;
	memmove(p->octets, p->octets + at, p->length);
	p->due = now();
	count(&r->meter, p->due, p->length);
	p->due += r->delay;
	depart(&r->down, p);
	return true;
}

// Sends what has travelled long enough.
static void
deliver(struct relay *r)
{
	const struct packet *p;
	uint64_t at = now();

	for (; (p = arrived(&r->up, at)) != NULL; r->up.head++)
		r->up.lost += sendto(r->udp, p->octets, p->length, MSG_DONTWAIT,
				      (const struct sockaddr *)&r->upf, sizeof(r->upf)) < 0;
	for (; (p = arrived(&r->down, at)) != NULL; r->down.head++)
		r->down.lost += write(r->tun, p->octets, p->length) < 0;
}

static void
earliest(const struct line *l, uint64_t *due)
{
	if (l->head != l->tail && l->packet[l->head % UNDER_WAY].due < *due)
		*due = l->packet[l->head % UNDER_WAY].due;
}

static void
run(struct relay *r, int signals)
{
	struct signalfd_siginfo info;
	struct pollfd fds[] = {{r->tun, POLLIN, 0}, {r->udp, POLLIN, 0}, {signals, POLLIN, 0}};

	for (;;) {
		uint64_t due = UINT64_MAX, at;
		struct timespec left = {0};

		earliest(&r->up, &due);
		earliest(&r->down, &due);
		at = now();
		if (due > at)
			left = (struct timespec){
				(time_t)((due - at) / SECOND), (long)((due - at) % SECOND)};
		if (ppoll(fds, 3, due != UINT64_MAX ? &left : NULL, NULL) < 0 && errno != EINTR)
			return;
		for (unsigned i = 0; i < TURNS && take_up(r); i++)
			;
		for (unsigned i = 0; i < TURNS && take_down(r); i++)
			;
		deliver(r);
		if (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			if (info.ssi_signo != SIGUSR1)
				return;
			tell(r);
		}
	}
}

int
main(int argc, char **argv)
{
	static struct relay r;
	sigset_t set;
	uint32_t teid;
	int signals;

	if (argc != 7) {
		fprintf(stderr, "usage: %s TUN_FD UDP_FD UPF_ADDRESS TEID QFI DELAY_US\n", argv[0]);
		return EXIT_FAILURE;
	}
	r.tun = atoi(argv[1]);
	r.udp = atoi(argv[2]);
	r.upf = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(2152)};
	teid = htonl((uint32_t)strtoul(argv[4], NULL, 0));
	r.delay = strtoull(argv[6], NULL, 10) * 1000;
	memcpy(r.head,
		(uint8_t[HEAD]){0x34, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10,
			(uint8_t)atoi(argv[5])},
		HEAD);
	memcpy(r.head + 4, &teid, sizeof(teid));
	r.up.packet = calloc(UNDER_WAY, sizeof(struct packet));
	r.down.packet = calloc(UNDER_WAY, sizeof(struct packet));
	r.meter.arrival = calloc(ARRIVALS, sizeof(struct arrival));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (inet_pton(AF_INET, argv[3], &r.upf.sin_addr) != 1 || r.up.packet == NULL ||
		r.down.packet == NULL || r.meter.arrival == NULL || signals < 0) {
		fprintf(stderr, "%s: cannot start: %s\n", argv[0], strerror(errno));
		return EXIT_FAILURE;
	}
	prctl(PR_SET_TIMERSLACK, 1UL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	printf("ready\n");
	fflush(stdout);
	run(&r, signals);
	return EXIT_SUCCESS;
}
