// A upf-u with redundancy answers and forwards while it is granted an epoch, and at no other time.
#include <errno.h>
#include <time.h>

#include <rte_cycles.h>

#include "frames.h"
#include "link/neigh_table.h"
#include "packet/ipv6.h"
#include "packet/receive.h"
#include "packet/send.h"
#include "packet/silence.h"
#include "packet/stages.h"
#include "rules.h"
#include "tests.h"

static struct transaction t; // large

static struct rig *
create(unsigned workers)
{
	struct config config = rig_config6();
	struct rig *rig;
	struct session_rules_builder s;

	config.redundancy = true;
	rig_add_networks(&config, 2);
	rig = rig_create_with(&config, workers, true);
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	return rig;
}

static uint64_t
boottime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int
grant_with(struct rig *rig, uint64_t epoch, uint64_t until, uint32_t flags)
{
	struct upf_grant record = {
		.rec = {.type = UPF_REC_GRANT, .length = sizeof(record)},
		.epoch = epoch,
		.until_ns = until,
		.flags = flags,
	};

	transaction_begin(&t);
	transaction_add(&t, &record, sizeof(record));
	return transaction_do(rig, &t, NULL);
}

static int
grant(struct rig *rig, uint64_t epoch, uint64_t until)
{
	return grant_with(rig, epoch, until, 0);
}

static void
send_both_ways(struct rig *rig)
{
	struct frame f;

	frame_gpdu(
		&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	frame_arp(&f, 1, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

static unsigned
sent(struct rig *rig)
{
	return rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6) +
		rig_count_sent(rig, UPF_PORT_N9);
}

static void
it_begins_silent(void **state)
{
	struct rig *rig = create(1);

	(void)state;
	send_both_ways(rig);
	assert_int_equal(sent(rig), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SILENT), 3);
	assert_int_equal(rig->shm.workers[0].local.arp_requests, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A worker sleeps until its next timer: one that is long due would have it go round and round.
static void
it_can_sleep(void **state)
{
	struct rig *rig = create(1);
	struct worker *w = rig->worker[0];

	(void)state;
	w->next_tick = 0;
	rig_poll(rig);
	assert_true(w->silent);
	assert_true(w->next_tick > w->now);
	assert_true(w->next_tick <= w->now + w->tsc_hz / WORKER_TICKS_PER_SECOND);
	rig_free(rig);
}

// Gratuitous ARP and unsolicited Neighbour Advertisements are among what is sent.
static void
it_says_where_its_addresses_are_when_it_is_granted_them(void **state)
{
	struct rig *rig = create(2);
	unsigned arp[UPF_PORTS] = {0}, advertisements[UPF_PORTS] = {0}, others = 0;
	struct rte_mbuf *m;

	(void)state;
	rig_poll(rig);
	assert_int_equal(grant(rig, 1, UPF_GRANT_ALWAYS), 0);
	rig_poll(rig);
	for (enum upf_port port = 0; port < RIG_PORTS; port++) {
		while ((m = rig_sent(rig, port)) != NULL) {
			const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const void *);

			if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP))
				arp[port]++;
			else if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
				advertisements[port]++;
			else
				others++;
			rte_pktmbuf_free(m);
		}
	}
	// Each of the three times: the 16 addresses of N3, the one of each network instance's N6. There is no N9.
	assert_in_range(arp[UPF_PORT_N3], 16, 48);
	assert_in_range(advertisements[UPF_PORT_N3], 16, 48);
	for (unsigned network = 0; network < 2; network++) {
		assert_in_range(arp[config_port_of(network)], 1, 3);
		assert_in_range(advertisements[config_port_of(network)], 1, 3);
	}
	assert_int_equal(arp[UPF_PORT_N9], 0);
	assert_int_equal(others, 0);
	send_both_ways(rig);
	assert_in_range(sent(rig), 3, 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_grant_ends_by_the_clock(void **state)
{
	struct rig *rig = create(1);
	uint64_t deadline;

	(void)state;
	assert_int_equal(grant(rig, 1, boottime() + 50000000), 0);
	rig_poll(rig);
	assert_int_not_equal(sent(rig), 0);
	deadline = rte_rdtsc() + rte_get_tsc_hz() / 20;
	while (rte_rdtsc() < deadline)
		rte_pause();
	send_both_ways(rig);
	assert_int_equal(sent(rig), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SILENT), 3);
	assert_int_equal(grant(rig, 1, boottime() - 1), 0); // too late to be of use
	send_both_ways(rig);
	assert_int_equal(sent(rig), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SILENT), 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A poll that was held up: its grant ends between what it received and what it would send.
static void
what_was_under_way_does_not_leave_behind_a_grant(void **state)
{
	struct rig *rig = create(1);
	struct worker *w = rig->worker[0];
	struct frame f;

	(void)state;
	assert_int_equal(grant(rig, 1, UPF_GRANT_ALWAYS), 0);
	rig_poll(rig);
	sent(rig);
	frame_arp(&f, 1, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig->base.granted_until = rte_rdtsc() + rte_get_tsc_hz() / 100;
	w->now = rte_rdtsc();
	assert_false(silence_holds(w));
	rig->base.granted_until = rte_rdtsc();
	worker_rx(w, &w->burst, UPF_PORT_N6);
	parse_burst(w, &w->burst, UPF_PORT_N6);
	assert_int_equal(w->tx[UPF_PORT_N6].n, 1);
	worker_flush(w, UPF_PORT_N6);
	assert_int_equal(sent(rig), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SILENT), 1);
	rig_free(rig);
}

static void
it_can_be_silenced_at_once_and_an_older_epoch_is_refused(void **state)
{
	struct rig *rig = create(1);

	(void)state;
	assert_int_equal(grant(rig, 7, UPF_GRANT_ALWAYS), 0);
	assert_int_equal(grant(rig, 6, UPF_GRANT_ALWAYS), EPERM);
	rig_poll(rig);
	assert_int_not_equal(sent(rig), 0);
	assert_int_equal(grant(rig, 0, 0), 0);
	send_both_ways(rig);
	assert_int_equal(sent(rig), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SILENT), 3);
	assert_int_equal(grant(rig, 6, UPF_GRANT_ALWAYS), EPERM);
	assert_int_equal(grant(rig, 7, UPF_GRANT_ALWAYS), 0);
	send_both_ways(rig);
	assert_int_not_equal(sent(rig), 0);
	rig_free(rig);
}

// How many of the frames sent say where an address is: ARP, Neighbour Discovery. The others are left out.
static unsigned
said(struct rig *rig)
{
	unsigned n = 0;
	struct rte_mbuf *m;

	for (enum upf_port port = 0; port < RIG_PORTS; port++) {
		while ((m = rig_sent(rig, port)) != NULL) {
			const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const void *);

			n += eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP) ||
				(eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) &&
					((const struct ipv6_header *)(eth + 1))->next == IPV6_ICMP);
			rte_pktmbuf_free(m);
		}
	}
	return n;
}

static void
pass_ticks(struct rig *rig, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		rig->worker[0]->next_tick = 0;
		rig_poll(rig);
	}
}

// The other one has the addresses by now, or will have them.
static void
it_forwards_and_says_nothing_of_its_addresses(void **state)
{
	struct rig *rig = create(1);
	struct worker *w = rig->worker[0];
	struct frame f;

	(void)state;
	assert_int_equal(grant(rig, 1, UPF_GRANT_ALWAYS), 0);
	rig_poll(rig);
	assert_int_not_equal(said(rig), 0);
	// Two of three announcements are still to come.
	assert_int_equal(grant_with(rig, 1, UPF_GRANT_ALWAYS, UPF_GRANT_FORWARD), 0);
	pass_ticks(rig, 5);
	assert_int_equal(said(rig), 0);
	send_both_ways(rig); // a packet each way, and ARP
	assert_int_equal(sent(rig), 2);
	assert_int_equal(rig->shm.workers[0].local.arp_requests, 1);
	// A neighbour that would be asked whether it is still there, and then given up, stays.
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++)
		w->neigh[UPF_PORT_N6]->entry[i].due = 0;
	pass_ticks(rig, 20);
	assert_int_equal(sent(rig), 0);
	frame_gpdu(
		&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(sent(rig), 1);
	// It ends as every grant does.
	assert_int_equal(grant_with(rig, 1, 0, UPF_GRANT_FORWARD), 0);
	send_both_ways(rig);
	assert_int_equal(sent(rig), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SILENT), 3);
	// And may be followed by another one.
	assert_int_equal(grant(rig, 2, UPF_GRANT_ALWAYS), 0);
	rig_poll(rig);
	assert_int_not_equal(said(rig), 0);
	assert_int_equal(grant_with(rig, 3, UPF_GRANT_ALWAYS, 2), EINVAL);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
without_redundancy_there_are_no_grants(void **state)
{
	struct rig *rig = rig_create(1, true);

	(void)state;
	assert_int_equal(grant(rig, 1, 0), EOPNOTSUPP);
	rig_free(rig);
}

int
test_silence(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_silent),
		cmocka_unit_test(it_can_sleep),
		cmocka_unit_test(it_says_where_its_addresses_are_when_it_is_granted_them),
		cmocka_unit_test(a_grant_ends_by_the_clock),
		cmocka_unit_test(what_was_under_way_does_not_leave_behind_a_grant),
		cmocka_unit_test(it_can_be_silenced_at_once_and_an_older_epoch_is_refused),
		cmocka_unit_test(it_forwards_and_says_nothing_of_its_addresses),
		cmocka_unit_test(without_redundancy_there_are_no_grants),
	};

	return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
