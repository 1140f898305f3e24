// What the worker answers itself: ICMP echo, GTP-U Echo, Error Indication, End Marker.
#include <errno.h>
#include <string.h>

#include <rte_icmp.h>

#include "frames.h"
#include "packet/gtpu_header.h"
#include "packet/ipv4.h"
#include "rules.h"
#include "tests.h"

static void
icmp_echo_is_answered_on_every_own_address(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct frame f;

	(void)state;
	for (uint32_t addr = RIG_IP(172, 30, 3, 16); addr <= RIG_IP(172, 30, 3, 31); addr++) {
		struct ip_fields ip = {.src = RIG_GNB,
			.dst = addr,
			.proto = IPPROTO_ICMP,
			.ttl = 1,
			.payload = 48};
		struct rte_icmp_hdr *icmp;
		struct rte_ipv4_hdr *out;
		struct rte_mbuf *m;

		frame_eth_ip(&f, &ip);
		icmp = (void *)(f.data + 34);
		*icmp = (struct rte_icmp_hdr){.icmp_type = 8, .icmp_ident = 7};
		icmp->icmp_cksum = (rte_be16_t)~rte_raw_cksum(icmp, 56);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		m = rig_sent(rig, UPF_PORT_N3);
		assert_non_null(m);
		out = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
		assert_int_equal(ipv4_valid_length(out, 76), 76);
		assert_int_equal(out->src_addr, rte_cpu_to_be_32(addr));
		assert_int_equal(out->dst_addr, rte_cpu_to_be_32(RIG_GNB));
		assert_int_equal(((struct rte_icmp_hdr *)(out + 1))->icmp_type, 0);
		assert_int_equal(rte_raw_cksum(out + 1, 56), 0xffff);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rig->shm.workers[0].local.icmp_echo, 16);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
other_icmp_to_us_is_dropped(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct frame f;

	(void)state;
	frame_eth_ip(
		&f, &(struct ip_fields){.src = RIG_GNB, .dst = RIG_N6_ADDR, .proto = IPPROTO_ICMP});
	f.data[34] = 13; // timestamp request
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	// Cut inside its header.
	frame_ip_header(&f)->total_length = rte_cpu_to_be_16(27);
	frame_ip_seal(&f);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_PORT), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
gtpu_echo_is_answered_with_its_sequence_number(void **state)
{
	static const uint8_t want[] = {0x32, 2, 0, 6, 0, 0, 0, 0, 0x55, 0xaa, 0, 0, 14, 0};
	struct rig *rig = rig_create(1, true);
	struct frame f;
	struct rte_mbuf *m;

	(void)state;
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 1, 0, "\x55\xaa\0\0", 4);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 42 + sizeof(want));
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42), want, sizeof(want));
	assert_int_equal(
		ipv4_valid_length(rte_pktmbuf_mtod_offset(m, void *, 14), 28 + sizeof(want)),
		28 + sizeof(want));
	rte_pktmbuf_free(m);
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 2, 0, "\x55\xaa\0\0\x0e\0", 6);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 254, 5, NULL, 0);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig->shm.workers[0].local.gtpu_echo_requests, 1);
	assert_int_equal(rig->shm.workers[0].local.gtpu_echo_responses, 1);
	assert_int_equal(rig->shm.workers[0].local.end_markers_received, 1);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_free(rig);
}

static void
unknown_teid_gets_error_indications_within_the_rate(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct rte_mbuf *m;
	struct frame f;
	// With the sender's UDP port in an extension header.
	uint8_t want[28] = {0x36, 26, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0x08, 0x68, 0, 16, 0, 0,
		0xde, 0xad, 133, 0, 4, 172, 30, 3, 17};
	unsigned sent;

	(void)state;
	// 100 a second: the bucket holds a tenth of a second.
	frame_gpdu(
		&f, RIG_N3_ADDR, 0xdead, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	for (unsigned i = 0; i < 100; i++)
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 42 + sizeof(want));
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42), want, sizeof(want));
	rte_pktmbuf_free(m);
	sent = 1 + rig_count_sent(rig, UPF_PORT_N3);
	assert_in_range(sent, 10, 14);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_TEID), sent);
	assert_int_equal(rig_dropped(rig, UPF_DROP_RATE_LIMITED), 100 - sent);
	assert_int_equal(rig->shm.workers[0].local.error_indications_sent, sent);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
no_error_indications_before_the_sessions_are_here(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct transaction t;
	struct frame f;

	(void)state;
	rig->worker[0]->synced = &rig->base.synced;
	frame_gpdu(
		&f, RIG_N3_ADDR, 0xdead, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_TEID), 1);
	for (uint32_t restoring = UPF_META_RESTORING; restoring != 0; restoring--) {
		transaction_begin(&t);
		transaction_blob(&t, UPF_REC_META, restoring, "they are restored");
		assert_int_equal(transaction_do(rig, &t, NULL), 0);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
		assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_TEID), 1);
	}
	transaction_begin(&t);
	transaction_blob(&t, UPF_REC_META, 0, "all are here");
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_TEID), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
error_indication_becomes_an_event(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;
	struct frame f;

	(void)state;
	// A Recovery first, and the UDP port extension header before all.
	frame_gtpu(&f, RIG_N3_ADDR, 0x36, 26, 0,
		"\0\0\0\x40\1\x08\x68\0\x0e\0\x10\0\0\x12\x34\x85\0\4\1\2\3\4", 22);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	rig_assert_no_other_drops(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_ERROR_IND);
	assert_int_equal(event.rec.length, sizeof(struct upf_ev_error_ind));
	assert_int_equal(event.error_ind.teid, 0x1234);
	assert_memory_equal(event.error_ind.peer_addr, "\1\2\3\4\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_false(rig_event(rig, &event));
	// The ring is bounded: what does not fit is counted.
	for (unsigned i = 0; i < 16500; i++) {
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_RATE_LIMITED), 16500 - 16383);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
extension_that_must_be_understood_is_answered(void **state)
{
	static const uint8_t want[] = {0x32, 31, 0, 13, 0, 0, 0, 0, 0, 0, 0, 0, 141, 7, 0x85, 0x40,
		0xc0, 0x82, 0x81, 0x83, 0x84};
	struct rig *rig = rig_create(1, true);
	struct rte_mbuf *m;
	struct frame f;

	(void)state;
	frame_gtpu(&f, RIG_N3_ADDR, 0x34, 255, 0x100, "\0\0\0\xc5\1\0\0\0", 8);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNSUPPORTED_GTPU), 1);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 42 + sizeof(want));
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42), want, sizeof(want));
	rte_pktmbuf_free(m);
	assert_int_equal(rig->shm.workers[0].local.supported_extensions_sent, 1);
	// What a peer says of its own is counted; one that need not be understood is passed over, so
	// that this is about a tunnel that is not there.
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 31, 0, "\0\1\0\0\x8d\1\x85", 7);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_gtpu(&f, RIG_N3_ADDR, 0x34, 255, 0x100, "\0\0\0\x20\1\0\0\x45\1\0\0\0", 12);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig->shm.workers[0].local.supported_extensions_received, 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_TEID), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
echo_is_asked_and_its_answer_is_an_event(void **state)
{
	static const uint8_t want[] = {0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0};
	static const upf_addr gnb = {172, 30, 3, 100}, us = {172, 30, 3, 17};
	struct upf_echo echo = {
		.rec = {.type = UPF_REC_ECHO, .length = sizeof(echo)},
		.peer_addr = {172, 30, 3, 100},
		.local_addr = {172, 30, 3, 17},
		.sequence = 0x1234,
		.ohc = UPF_OHC_GTPU4,
	};
	struct rig *rig = rig_create(1, true);
	static struct transaction t;
	struct event event;
	struct rte_mbuf *m;
	struct frame f;

	(void)state;
	transaction_begin(&t);
	transaction_add(&t, &echo, sizeof(echo));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 42 + sizeof(want));
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42), want, sizeof(want));
	rte_pktmbuf_free(m);
	assert_int_equal(rig->shm.workers[0].local.gtpu_echo_requests_sent, 1);
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 2, 0, "\x12\x34\0\0\x0e\0", 6);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_ECHO);
	assert_int_equal(event.rec.length, sizeof(struct upf_echo));
	assert_int_equal(event.echo.sequence, 0x1234);
	assert_int_equal(event.echo.ohc, UPF_OHC_GTPU4);
	assert_memory_equal(event.echo.peer_addr, gnb, 4);
	assert_memory_equal(event.echo.local_addr, us, 4);
	// Without a number it answers nothing.
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 2, 0, "\x0e\0", 2);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_GTPU), 1);
	// From an address that is not ours.
	echo.local_addr[3] = 1;
	transaction_begin(&t);
	transaction_add(&t, &echo, sizeof(echo));
	assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
end_marker_is_sent_on_command(void **state)
{
	struct upf_end_marker marker = {
		.rec = {.type = UPF_REC_END_MARKER, .length = sizeof(marker)},
		.ohc = UPF_OHC_GTPU4,
		.teid = 0x77,
		.peer_port = 2152,
	};
	static const uint8_t want[] = {0x30, 254, 0, 0, 0, 0, 0, 0x77};
	static const uint8_t want_flow[] = {
		0x34, 254, 0, 8, 0, 0, 0, 0x77, 0, 0, 0, 0x85, 1, 0, 9, 0};
	struct rig *rig = rig_create(1, true);
	static struct transaction t;
	struct rte_mbuf *m;

	(void)state;
	rules_ipv4(marker.peer_addr, RIG_GNB);
	rules_ipv4(marker.local_addr, RIG_N3_ADDR);
	transaction_begin(&t);
	transaction_add(&t, &marker, sizeof(marker));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 42 + sizeof(want));
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42), want, sizeof(want));
	rte_pktmbuf_free(m);
	assert_int_equal(rig->shm.workers[0].local.end_markers_sent, 1);
	// Of one flow.
	marker.qfi = 9;
	transaction_begin(&t);
	transaction_add(&t, &marker, sizeof(marker));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 42 + sizeof(want_flow));
	assert_memory_equal(
		rte_pktmbuf_mtod_offset(m, uint8_t *, 42), want_flow, sizeof(want_flow));
	rte_pktmbuf_free(m);
	marker.qfi = 0;
	// Nowhere to send it.
	rules_ipv4(marker.peer_addr, RIG_IP(9, 9, 9, 9));
	transaction_begin(&t);
	transaction_add(&t, &marker, sizeof(marker));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_ROUTE), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_local(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icmp_echo_is_answered_on_every_own_address),
		cmocka_unit_test(other_icmp_to_us_is_dropped),
		cmocka_unit_test(gtpu_echo_is_answered_with_its_sequence_number),
		cmocka_unit_test(unknown_teid_gets_error_indications_within_the_rate),
		cmocka_unit_test(no_error_indications_before_the_sessions_are_here),
		cmocka_unit_test(error_indication_becomes_an_event),
		cmocka_unit_test(extension_that_must_be_understood_is_answered),
		cmocka_unit_test(echo_is_asked_and_its_answer_is_an_event),
		cmocka_unit_test(end_marker_is_sent_on_command),
	};

	return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
