#include "rules.h"

#include <string.h>

#include <rte_ip.h>

void
transaction_begin(struct transaction *t)
{
	memset(&t->msg, 0, sizeof(t->msg));
	t->msg = (struct upf_msg){
		.magic = UPF_ABI_MAGIC,
		.version = UPF_ABI_VERSION,
		.op = UPF_OP_TRANSACTION,
		.length = sizeof(t->msg),
	};
	t->length = sizeof(t->msg);
}

static void
append(struct transaction *t, const void *data, size_t length)
{
	assert_true(t->length + length <= sizeof(t->bytes));
	if (length != 0)
		memcpy(t->bytes + t->length, data, length);
	t->length += length;
	t->msg.length = (uint32_t)t->length;
}

void
transaction_add(struct transaction *t, const void *record, size_t length)
{
	append(t, record, length);
	t->msg.records++;
}

static void
pad(struct transaction *t, size_t from)
{
	static const uint8_t zeros[8];

	append(t, zeros, (8 - t->length % 8) % 8);
	((struct upf_record *)(void *)(t->bytes + from))->length = (uint32_t)(t->length - from);
}

void
transaction_put(struct transaction *t, const struct session_rules_builder *s)
{
	size_t from = t->length;
	struct upf_session_put put = {
		.rec = {.type = UPF_REC_SESSION_PUT},
		.session = s->session,
		.blob_len = s->blob != NULL ? (uint32_t)strlen(s->blob) : 0,
		.n_pdr = (uint16_t)s->n_pdr,
		.n_far = (uint16_t)s->n_far,
		.n_qer = (uint16_t)s->n_qer,
		.n_urr = (uint16_t)s->n_urr,
		.n_sdf = (uint16_t)s->n_sdf,
		.n_sdf6 = (uint16_t)s->n_sdf6,
		.n_bar = (uint16_t)s->n_bar,
		.n_route = (uint16_t)s->n_route,
		.n_application = (uint16_t)s->n_application,
		.n_ethernet = (uint16_t)s->n_ethernet,
		.flags = s->flags,
		.group = s->group,
		.network = s->network,
		.nat_addr_be = rte_cpu_to_be_32(s->nat_addr),
		.nat_port = s->nat_port,
		.text_len = s->text != NULL ? (uint16_t)strlen(s->text) : 0,
	};

	transaction_add(t, &put, sizeof(put));
	append(t, s->pdr, s->n_pdr * sizeof(s->pdr[0]));
	append(t, s->far, s->n_far * sizeof(s->far[0]));
	append(t, s->qer, s->n_qer * sizeof(s->qer[0]));
	append(t, s->urr, s->n_urr * sizeof(s->urr[0]));
	append(t, s->bar, s->n_bar * sizeof(s->bar[0]));
	append(t, s->sdf, s->n_sdf * sizeof(s->sdf[0]));
	append(t, s->sdf6, s->n_sdf6 * sizeof(s->sdf6[0]));
	append(t, s->route, s->n_route * sizeof(s->route[0]));
	append(t, s->ethernet, s->n_ethernet * sizeof(s->ethernet[0]));
	for (unsigned i = 0; i < s->n_application; i++) {
		struct upf_application application = {
			.number = s->application[i], .quiet_ms = s->quiet_ms[i]};

		append(t, &application, sizeof(application));
	}
	append(t, s->text, put.text_len);
	append(t, s->blob, put.blob_len);
	pad(t, from);
}

void
transaction_del(struct transaction *t, uint32_t session)
{
	struct upf_session_ref ref = {
		.rec = {.type = UPF_REC_SESSION_DEL, .length = sizeof(ref)},
		.session = session,
	};

	transaction_add(t, &ref, sizeof(ref));
}

void
transaction_blob(struct transaction *t, uint16_t type, uint32_t session, const char *blob)
{
	size_t from = t->length;
	struct upf_session_ref ref = {
		.rec = {.type = type},
		.session = session,
		.blob_len = (uint32_t)strlen(blob),
	};

	transaction_add(t, &ref, sizeof(ref));
	append(t, blob, ref.blob_len);
	pad(t, from);
}

void
transaction_domains(struct transaction *t, const struct domain_of *list, unsigned n)
{
	size_t from = t->length;
	struct upf_domains head = {.rec = {.type = UPF_REC_DOMAINS}, .n = n};

	for (unsigned i = 0; i < n; i++)
		head.text_len += (uint32_t)strlen(list[i].name);
	transaction_add(t, &head, sizeof(head));
	for (uint32_t i = 0, at = 0; i < n; i++) {
		struct upf_domain domain = {.application = list[i].application,
			.text_first = at,
			.text_len = (uint8_t)strlen(list[i].name),
			.flags = list[i].flags};

		append(t, &domain, sizeof(domain));
		at += domain.text_len;
	}
	for (unsigned i = 0; i < n; i++)
		append(t, list[i].name, strlen(list[i].name));
	pad(t, from);
}

int
transaction_do(struct rig *rig, struct transaction *t, uint32_t *record)
{
	int rc = transaction_run(&rig->base, &t->msg, t->length, &rig->refusal);

	if (record != NULL)
		*record = rig->refusal.record;
	session_trash_collect(&rig->sessions);
	return rc;
}

void
rules_ipv4(upf_addr addr, uint32_t ipv4)
{
	rte_be32_t be = rte_cpu_to_be_32(ipv4);

	memset(addr, 0, sizeof(upf_addr));
	memcpy(addr, &be, sizeof(be));
}

void
rules_usual(struct session_rules_builder *s, uint32_t session, uint32_t ue, uint32_t teid)
{
	memset(s, 0, sizeof(*s));
	s->session = session;
	s->n_pdr = s->n_far = 2;
	s->n_qer = s->n_urr = 1;
	s->pdr[0] = (struct upf_pdr){
		.precedence = 255,
		.pdr_id = 1,
		.source_interface = UPF_IF_ACCESS,
		.flags = UPF_PDR_TEID | UPF_PDR_UE_IPV4 | UPF_PDR_REMOVE,
		.teid = teid,
		.ue_addr_be = rte_cpu_to_be_32(ue),
		.n_qer = 1,
		.n_urr = 1,
	};
	s->pdr[1] = (struct upf_pdr){
		.precedence = 255,
		.pdr_id = 2,
		.source_interface = UPF_IF_CORE,
		.flags = UPF_PDR_UE_IPV4,
		.ue_addr_be = rte_cpu_to_be_32(ue),
		.far = 1,
		.n_qer = 1,
		.n_urr = 1,
	};
	s->far[0] = (struct upf_far){
		.far_id = 1,
		.action = UPF_FAR_FORW,
		.destination_interface = UPF_IF_CORE,
		.bar = UPF_NONE16,
	};
	s->far[1] = (struct upf_far){
		.far_id = 2,
		.action = UPF_FAR_FORW,
		.destination_interface = UPF_IF_ACCESS,
		.ohc = UPF_OHC_GTPU4,
		.bar = UPF_NONE16,
		.teid = teid + 0x1000,
		.peer_port = 2152,
	};
	rules_ipv4(s->pdr[0].n3_addr, RIG_N3_ADDR);
	rules_ipv4(s->far[1].peer_addr, RIG_GNB);
	rules_ipv4(s->far[1].local_addr, RIG_N3_ADDR);
	s->qer[0] = (struct upf_qer){.qer_id = 1, .slot = session, .qfi = 9};
	s->urr[0] = (struct upf_urr){.urr_id = 1, .slot = session, .quota_far = UPF_NONE16};
}

void
rules_ethernet(struct session_rules_builder *s, uint32_t session, uint16_t network, uint32_t teid)
{
	rules_usual(s, session, 0, teid);
	s->flags = UPF_SESSION_ETHERNET;
	s->network = s->far[0].network = network;
	s->pdr[0].flags &= (uint8_t)~UPF_PDR_UE_IPV4;
	s->pdr[1].flags &= (uint8_t)~UPF_PDR_UE_IPV4;
}

void
rules_install(struct rig *rig, const struct session_rules_builder *s)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_put(&t, s);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
}

struct rig *
rig_without_neighbours(void)
{
	struct rig *rig = rig_create(1, false);
	struct session_rules_builder s;

	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	return rig;
}
