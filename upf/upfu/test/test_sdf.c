// The SDF matcher against a naive one that is written from the filter's text, on random packets.
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "rig.h"
#include "stages.h"
#include "tests.h"

// TS 29.212 5.4.2 word by word: permit out PROTO from REMOTE to LOCAL; uplink with sides exchanged.
static bool
naive(const struct upf_sdf *s, const struct ip_fields *ip, bool dl)
{
	uint32_t remote = dl ? ip->src : ip->dst, local = dl ? ip->dst : ip->src;
	uint16_t remote_port = dl ? ip->sport : ip->dport, local_port = dl ? ip->dport : ip->sport;
	bool ports =
		ip->proto == IPPROTO_TCP || ip->proto == IPPROTO_UDP || ip->proto == IPPROTO_SCTP;

	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t b = UINT32_C(1) << bit;

		if ((rte_be_to_cpu_32(s->remote_mask_be) & b) != 0 &&
			(rte_be_to_cpu_32(s->remote_addr_be) & b) != (remote & b))
			return false;
		if ((rte_be_to_cpu_32(s->local_mask_be) & b) != 0 &&
			(rte_be_to_cpu_32(s->local_addr_be) & b) != (local & b))
			return false;
	}
	if (s->flags & UPF_SDF_PROTO && s->proto != ip->proto)
		return false;
	if (s->flags & UPF_SDF_TOS && (s->tos & s->tos_mask) != (ip->tos & s->tos_mask))
		return false;
	if (s->flags & UPF_SDF_PORTS) {
		if (!ports || (ip->fragment & 0x1fff) != 0)
			return false;
		if (!(s->remote_port_lo <= remote_port && remote_port <= s->remote_port_hi))
			return false;
		if (!(s->local_port_lo <= local_port && local_port <= s->local_port_hi))
			return false;
	}
	if (s->flags & UPF_SDF_SPI) { // the builder puts sport:dport where ESP has its SPI
		if (ip->proto != IPPROTO_ESP || (ip->fragment & 0x1fff) != 0)
			return false;
		if (s->spi != ((uint32_t)ip->sport << 16 | ip->dport))
			return false;
	}
	return true;
}

static uint32_t
pick(const uint32_t *from, unsigned n)
{
	return from[(unsigned)random() % n];
}

#define PICK(...) \
	pick((const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void
agrees_with_a_naive_matcher(void **state)
{
	unsigned matched = 0;

	(void)state;
	srandom(2);
	for (unsigned i = 0; i < 300000; i++) {
		struct ip_fields ip = {
			.src = PICK(0x0a2d0001, 0x0a2d0002, 0x08080808),
			.dst = PICK(0x0a2d0001, 0x0a2d0002, 0x08080808),
			.proto = (uint8_t)PICK(
				IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP, IPPROTO_ESP),
			.tos = (uint8_t)PICK(1, 0xb8, 0x28),
			.fragment = (uint16_t)PICK(0, 0, 0, 0x2000, 0x00b9),
			.sport = (uint16_t)PICK(79, 80, 81, 443, 65535),
			.dport = (uint16_t)PICK(79, 80, 81, 443, 65535),
			.payload = 16,
		};
		struct upf_sdf s = {
			.remote_addr_be = rte_cpu_to_be_32(PICK(0x08080808, 0x0a2d0002)),
			.remote_mask_be =
				rte_cpu_to_be_32(PICK(0, 0xffffffff, 0xffff0000, 0xfffffffe)),
			.local_addr_be = rte_cpu_to_be_32(0x0a2d0001),
			.local_mask_be = rte_cpu_to_be_32(PICK(0, 0xffffffff)),
			.remote_port_lo = (uint16_t)PICK(0, 80),
			.remote_port_hi = (uint16_t)PICK(80, 443, 65535),
			.local_port_lo = (uint16_t)PICK(0, 81),
			.local_port_hi = (uint16_t)PICK(81, 65535),
			.spi = PICK(80u << 16 | 443, 443u << 16 | 443),
			.flags = (uint8_t)PICK(0, 0, UPF_SDF_PROTO, UPF_SDF_PORTS, UPF_SDF_TOS,
				UPF_SDF_SPI, UPF_SDF_PROTO | UPF_SDF_PORTS,
				UPF_SDF_TOS | UPF_SDF_PORTS),
			.proto = (uint8_t)PICK(IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ESP),
			.tos = (uint8_t)PICK(0xb8, 0x28),
			.tos_mask = (uint8_t)PICK(0xff, 0xfc),
		};
		enum upf_direction direction = random() % 2 != 0 ? UPF_DL : UPF_UL;
		struct frame f;
		bool want = naive(&s, &ip, direction == UPF_DL);

		frame_ip(&f, &ip);
		assert_int_equal(
			sdf_matches(&s, (const void *)f.data, (uint16_t)f.length, direction), want);
		matched += want;
	}
	assert_in_range(matched, 10000, 290000); // both answers are exercised
}

static void
ports_need_a_whole_transport_header(void **state)
{
	struct upf_sdf s = {
		.flags = UPF_SDF_PORTS, .remote_port_hi = 65535, .local_port_hi = 65535};
	struct ip_fields ip = {.src = 1, .dst = 2, .sport = 1, .dport = 2};
	struct frame f;

	(void)state;
	frame_ip(&f, &ip);
	assert_true(sdf_matches(&s, (const void *)f.data, 24, UPF_UL));
	assert_false(sdf_matches(&s, (const void *)f.data, 23, UPF_UL));
}

int
test_sdf(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_naive_matcher),
		cmocka_unit_test(ports_need_a_whole_transport_header),
	};

	return cmocka_run_group_tests_name("sdf", tests, NULL, NULL);
}
