// Queues of packets that their worker writes and reads itself.
#include <limits.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "frames.h"
#include "hellos.h"
#include "packet/gtpu_header.h"
#include "packet/packet.h"
#include "stress.h"

#define MARK UINT32_C(0x53545253)
#define HEADERS \
	(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr))

// The last octets of a user's packet.
struct mark {
	uint32_t magic;
	uint16_t line;
	uint16_t octets; // of the user's packet
	uint32_t oldest; // struct line, when it was received
	uint32_t direction;
};

// ---- to the worker -----------------------------------------------------------------------------

// What the packet has room for begins as a UE's question for an address, or its answer: RIG_REMOTE.
static void
write_dns(struct frame *f, uint32_t payload, enum upf_direction direction)
{
	const rte_be32_t remote = rte_cpu_to_be_32(RIG_REMOTE);
	struct octets message;

	hello_dns_question(&message, 7, 1, STRESS_DOMAIN);
	if (direction == UPF_DL) {
		hello_dns_answer(&message);
		hello_dns_record(&message, NULL, 1, 1, &remote, sizeof(remote));
	}
	memcpy(f->data + f->length - payload, message.at, message.n);
}

static void
write_user_packet(struct queues *q, struct frame *f, enum upf_direction direction)
{
	unsigned k = stress_draw(&q->chance, STRESS_LINES);
	const struct line *line = &q->stress->line[k];
	struct ip_fields ip = {
		.src = RIG_REMOTE,
		.dst = stress_ue(k),
		.sport = 53,
		.dport = 5000,
		.payload = sizeof(struct mark) + stress_draw(&q->chance, STRESS_OCTETS_MAX - 50),
	};
	struct mark mark = {
		.magic = MARK,
		.line = (uint16_t)k,
		.octets = (uint16_t)(sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr) +
			ip.payload),
		.oldest = stress_load(&line->oldest),
		.direction = direction,
	};

	if (direction == UPF_DL) {
		frame_eth_ip(f, &ip);
	} else {
		ip.src = stress_ue(k);
		ip.dst = RIG_REMOTE;
		ip.sport = 5000;
		ip.dport = 53;
		frame_gpdu(f, RIG_N3_ADDR, stress_load(&line->teid), 9, &ip);
	}
	if (ip.payload >= sizeof(mark) + STRESS_DNS)
		write_dns(f, ip.payload, direction);
	memcpy(f->data + f->length - sizeof(mark), &mark, sizeof(mark));
	shm_add(&q->received, 1);
}

static struct rte_mbuf *
receive_frame(struct queues *q, enum upf_port port)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(q->worker->pool);
	struct frame f;

	if (m == NULL)
		return NULL;
	// Somebody on the link tells where it is: one worker hears it, and passes it on to all.
	if (port == UPF_PORT_N3 && stress_draw(&q->chance, 1024) == 0)
		frame_arp(&f, RTE_ARP_OP_REPLY, &rig_gnb_mac,
			RIG_GNB + 1 + stress_draw(&q->chance, 8), RIG_N3_ADDR);
	else
		write_user_packet(q, &f, port == UPF_PORT_N3 ? UPF_UL : UPF_DL);
	((struct rte_ether_hdr *)(void *)f.data)->dst_addr = q->worker->port[port].mac;
	memcpy(rte_pktmbuf_append(m, (uint16_t)f.length), f.data, f.length);
	return m;
}

static uint16_t
receive(struct queues *q, enum upf_port port, struct rte_mbuf **m, uint16_t room)
{
	uint16_t n = 0, want;

	if (stress_load(&q->stress->open) == 0 || q->worker->now < q->rests_until)
		return 0;
	// Long enough for its worker to fall asleep.
	if (stress_draw(&q->chance, 64) == 0)
		q->rests_until = q->worker->now +
			q->worker->tsc_hz / 1000000 * stress_draw(&q->chance, 2000);
	want = (uint16_t)stress_draw(&q->chance, RTE_MIN(room, BURST) + 1u);
	while (n < want && (m[n] = receive_frame(q, port)) != NULL)
		n++;
	return n;
}

static uint16_t
receive_n3(void *queue, struct rte_mbuf **m, uint16_t room)
{
	return receive(queue, UPF_PORT_N3, m, room);
}

static uint16_t
receive_n6(void *queue, struct rte_mbuf **m, uint16_t room)
{
	return receive(queue, UPF_PORT_N6, m, room);
}

int
nic_rests_ms(const struct queues *q)
{
	uint64_t now = rte_rdtsc();

	if (stress_load(&q->stress->open) == 0)
		return INT_MAX;
	return q->rests_until > now ? (int)((q->rests_until - now) * 1000 / q->worker->tsc_hz) + 1
				    : 0;
}

// ---- from the worker ---------------------------------------------------------------------------

static void
check_rules(const struct queues *q, const struct mark *mark, const struct rte_ipv4_hdr *ip,
	uint32_t generation, uint8_t qfi)
{
	const struct line *line = &q->stress->line[mark->line];
	uint32_t newest = stress_load(&line->newest);

	if (rte_be_to_cpu_32(ip->src_addr) != stress_local(generation) ||
		ip->type_of_service != stress_tos(generation) || qfi != stress_qfi(generation))
		stress_fail(
			"a packet of UE %u left by parts of several rule sets: TEID of %u, source "
			"%#x, ToS %#x, QFI %u",
			mark->line, generation, rte_be_to_cpu_32(ip->src_addr), ip->type_of_service,
			qfi);
	if (generation < mark->oldest)
		stress_fail(
			"a packet of UE %u left by rules %u: when it came, that was over, as of %u",
			mark->line, generation, mark->oldest);
	if (generation > newest)
		stress_fail("a packet of UE %u left by rules %u: its newest are %u", mark->line,
			generation, newest);
}

static void
look_at_frame(struct queues *q, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct rte_ipv4_hdr *ip = (const void *)(data + sizeof(struct rte_ether_hdr));
	const uint8_t *gtpu = data + HEADERS;
	uint32_t length = rte_pktmbuf_data_len(m), teid, session;
	struct mark mark;

	// ARP, and what else upf-u says by itself.
	if (length < HEADERS + 8 + sizeof(mark))
		return;
	memcpy(&mark, data + length - sizeof(mark), sizeof(mark));
	if (mark.magic != MARK)
		return;
	memcpy(&teid, gtpu + 4, sizeof(teid));
	teid = rte_be_to_cpu_32(teid);
	session = teid >> GENERATION_BITS;
	if (mark.line >= STRESS_LINES || session >= STRESS_SESSIONS) {
		stress_fail("a frame left with TEID %#x for UE %u", teid, mark.line);
		return;
	}
	// The QFI stands behind the container's length and type.
	check_rules(q, &mark, ip, teid & GENERATION_MASK, (gtpu[0] & 4) != 0 ? gtpu[14] & 0x3f : 0);
	shm_add(&q->left_octets[session][mark.direction], mark.octets);
	shm_add(&q->left, 1);
}

static uint16_t
transmit(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queues *q = queue;

	for (uint16_t i = 0; i < n; i++) {
		look_at_frame(q, m[i]);
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

void
nic_attach(struct stress *s)
{
	static void *queue[STRESS_WORKERS];
	static const struct {
		enum upf_port port;
		eth_rx_burst_t receive;
	} ports[] = {{UPF_PORT_N3, receive_n3}, {UPF_PORT_N6, receive_n6}};

	for (unsigned i = 0; i < STRESS_WORKERS; i++)
		queue[i] = &s->queues[i];
	for (unsigned i = 0; i < RTE_DIM(ports); i++) {
		struct rte_eth_fp_ops *ops =
			&rte_eth_fp_ops[s->rig->worker[0]->port[ports[i].port].ethdev];

		ops->rx_pkt_burst = ports[i].receive;
		ops->rxq.data = queue;
		ops->tx_pkt_burst = transmit;
		ops->txq.data = queue;
	}
}
