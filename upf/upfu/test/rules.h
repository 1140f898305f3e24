// Transactions by hand: builders that append records, PDRs, FARs … in the order of upf_abi.h.
#ifndef UPFU_TEST_RULES_H
#define UPFU_TEST_RULES_H

#include "rig.h"
#include "upf_abi.h"

#define RULES_PARTS 1100u

// A session under construction; rules_put() writes it out.
struct session_rules_builder {
	uint32_t session;
	uint16_t group;
	uint16_t network;
	uint32_t nat_addr; // 0: no NAT44 block
	uint16_t nat_port;
	struct upf_pdr pdr[UPF_SESSION_PDRS + 1];
	struct upf_far far[8];
	struct upf_qer qer[8];
	struct upf_urr urr[8];
	struct upf_sdf sdf[UPF_SESSION_PDRS + 1];
	struct upf_sdf6 sdf6[64];
	unsigned n_pdr, n_far, n_qer, n_urr, n_sdf, n_sdf6;
	const char *text; // redirect URLs
	struct upf_bar bar[UPF_SESSION_BARS];
	unsigned n_bar;
	struct upf_route route[UPF_SESSION_ROUTES + 1];
	unsigned n_route;
	uint64_t application[UPF_SESSION_APPLICATIONS + 1];
	uint32_t quiet_ms[UPF_SESSION_APPLICATIONS +
		1]; // of them; 0: upf-c hears nothing of its flows
	unsigned n_application;
	struct upf_ethernet_filter ethernet[16];
	unsigned n_ethernet;
	uint16_t flags;
	const char *blob;
};

struct transaction {
	union {
		struct upf_msg msg;
		uint8_t bytes[UPF_MSG_MAX];
	};
	size_t length;
};

void transaction_begin(struct transaction *t);
void transaction_add(struct transaction *t, const void *record, size_t length);
void transaction_put(struct transaction *t, const struct session_rules_builder *s);
void transaction_del(struct transaction *t, uint32_t session);
void transaction_blob(struct transaction *t, uint16_t type, uint32_t session, const char *blob);
// The domains of all applications.
struct domain_of {
	uint64_t application;
	const char *name;
	uint8_t flags; // UPF_DOMAIN_*
};
void transaction_domains(struct transaction *t, const struct domain_of *list, unsigned n);
// Runs it; returns the errno, and the refused record in *record (NULL: not wanted).
int transaction_do(struct rig *rig, struct transaction *t, uint32_t *record);

// An IPv4 address (host order) as the ABI holds it.
void rules_ipv4(upf_addr addr, uint32_t ipv4);

// The usual session: UL PDR 1 (F-TEID RIG_N3_ADDR/teid, UE) → FAR 1 core; DL PDR 2 (UE) → FAR 2 to
// the gNB with TEID teid + 0x1000; QER 1 with QFI 9 and URR 1, both in slot `session`.
void rules_usual(struct session_rules_builder *s, uint32_t session, uint32_t ue, uint32_t teid);
// An Ethernet PDU session of this network instance likewise: without an address, found by its F-TEID and by its bridge.
void rules_ethernet(
	struct session_rules_builder *s, uint32_t session, uint16_t network, uint32_t teid);
// Installs it, which must work.
void rules_install(struct rig *rig, const struct session_rules_builder *s);
// One worker with one usual session, RIG_UE's, that does not know its neighbours' MAC addresses yet.
struct rig *rig_without_neighbours(void);

#endif
