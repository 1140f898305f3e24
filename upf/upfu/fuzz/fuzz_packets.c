// Frames from both sides through worker_poll(). The input is a row of frames: an octet that says the
// port and what to put right, a length, octets. Putting lengths and checksums right lets the fuzzer
// get behind the first checks; whatever comes in, nothing may break and every buffer must come back.
#include <string.h>

#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "fuzz_rig.h"
#include "packet/ipv6.h"

#define ON_N6 0x01u
#define OTHER_NETWORK 0x40u // of N6: with a device that a third one shares
#define OTHER_MAC 0x02u     // else the frame is for us
#define KEEP_OUTER 0x04u    // else the first IP header's length and checksum become right
#define KEEP_INNER 0x08u    // else those of the one inside GTP-U, too
#define KEEP_POLL 0x10u     // else the worker polls after this frame
#define FRAMES 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
repair_ip6(uint8_t *at, size_t room)
{
	struct ipv6_header *h = (void *)at;
	uint16_t length = (uint16_t)(room - sizeof(*h));
	size_t field = h->next == IPV6_ICMP ? 2 : 6;
	uint16_t sum = 0;

	h->payload_len = rte_cpu_to_be_16(length);
	if ((h->next != IPV6_ICMP && h->next != IPPROTO_UDP) || length < 8)
		return;
	at += sizeof(*h);
	if (h->next == IPPROTO_UDP) {
		at[4] = (uint8_t)(length >> 8);
		at[5] = (uint8_t)length;
	}
	memcpy(at + field, &sum, sizeof(sum));
	sum = (uint16_t)~ipv6_upper_sum(h, at, length, h->next);
	memcpy(at + field, &sum, sizeof(sum));
}

static void
repair_ip(uint8_t *at, size_t room)
{
	struct rte_ipv4_hdr *h = (void *)at;

	if (room >= sizeof(struct ipv6_header) && at[0] >> 4 == 6) {
		repair_ip6(at, room);
		return;
	}

	if (room < sizeof(*h) || at[0] >> 4 != 4 || rte_ipv4_hdr_len(h) < sizeof(*h) ||
		rte_ipv4_hdr_len(h) > room)
		return;
	h->total_length = rte_cpu_to_be_16((uint16_t)room);
	h->hdr_checksum = 0;
	h->hdr_checksum = (rte_be16_t)~rte_raw_cksum(h, rte_ipv4_hdr_len(h));
}

// Behind the GTP-U header and its extension headers.
static size_t
inner_offset(const uint8_t *frame, size_t length)
{
	size_t at = 14 + (length > 14 && frame[14] >> 4 == 6 ? 40 : 20) + 8;

	if (length < at + 12)
		return length;
	if ((frame[at] & 7) == 0)
		return at + 8;
	at += 12;
	for (uint8_t next = frame[at - 1]; next != 0 && at < length && frame[at] != 0;) {
		at += (size_t)frame[at] * 4;
		if (at <= length)
			next = frame[at - 1];
	}
	return at < length ? at : length;
}

static void
inject(struct rig *rig, uint8_t how, const uint8_t *octets, size_t n)
{
	uint8_t frame[2048];
	enum upf_port port = (how & ON_N6) == 0
		? UPF_PORT_N3
		: config_port_of((how & OTHER_NETWORK) != 0 ? 1 : 0);

	memcpy(frame, octets, n);
	if ((how & OTHER_MAC) == 0 && n >= 6)
		memset(frame, 0, 6); // the rig puts the port's address here
	if ((how & KEEP_INNER) == 0 && port == UPF_PORT_N3) {
		size_t at = inner_offset(frame, n);

		repair_ip(frame + at, n - at);
	}
	if ((how & KEEP_OUTER) == 0 && n > 14)
		repair_ip(frame + 14, n - 14);
	rig_inject(rig, port, frame, n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct rig *rig = fuzz_rig_create();

	for (unsigned i = 0; i < FRAMES && in.left != 0; i++) {
		uint8_t how = input_octet(&in);
		size_t n = input_u16(&in) % 2048;
		const uint8_t *octets = input_octets(&in, &n);

		inject(rig, how, octets, n);
		if ((how & KEEP_POLL) == 0)
			rig_poll(rig);
	}
	fuzz_rig_free(rig);
	return 0;
}
