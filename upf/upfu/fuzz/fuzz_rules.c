// Rule compilation: the input is the inside of SESSION_PUT records. Numbers of parts come from it, so
// that it divides into PDRs, FARs … as the mutator likes; what is accepted must carry traffic, can be
// replaced and goes again.
#include <string.h>

#include "fuzz_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint16_t
few(struct input *in, unsigned most)
{
	return (uint16_t)(input_octet(in) % (most + 1));
}

static void
put(struct rig *rig, struct input *in)
{
	static struct transaction t;
	static uint8_t record[32768];
	struct upf_session_put *head = (void *)record;
	size_t n;
	const uint8_t *octets;

	memset(head, 0, sizeof(*head));
	head->rec.type = UPF_REC_SESSION_PUT;
	head->session = input_octet(in) % (FUZZ_SESSIONS + 1);
	head->n_pdr = few(in, 5);
	head->n_far = few(in, 5);
	head->n_qer = few(in, 3);
	head->n_urr = few(in, 3);
	head->n_sdf = few(in, 4);
	head->n_sdf6 = few(in, 4);
	head->n_bar = few(in, 2);
	head->text_len = few(in, 40);
	head->blob_len = few(in, 16);
	n = head->n_pdr * sizeof(struct upf_pdr) + head->n_far * sizeof(struct upf_far) +
		head->n_qer * sizeof(struct upf_qer) + head->n_urr * sizeof(struct upf_urr) +
		head->n_bar * sizeof(struct upf_bar) + head->n_sdf * sizeof(struct upf_sdf) +
		head->n_sdf6 * sizeof(struct upf_sdf6) + head->text_len + head->blob_len;
	n = (n + 7) / 8 * 8;
	head->rec.length = (uint32_t)(sizeof(*head) + n);
	memset(head + 1, 0, n);
	octets = input_octets(in, &n);
	memcpy(head + 1, octets, n);
	transaction_begin(&t);
	transaction_add(&t, record, head->rec.length);
	if (transaction_do(rig, &t, NULL) == 0) {
		const struct upf_pdr *pdr = (const void *)(head + 1);

		for (unsigned i = 0; i < head->n_pdr; i++)
			fuzz_traffic(rig, pdr[i].teid, rte_be_to_cpu_32(pdr[i].ue_addr_be));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct rig *rig = fuzz_rig_create();
	static struct transaction t;

	do
		put(rig, &in);
	while (in.left != 0);
	for (uint32_t i = 0; i < rig->sessions.max; i++) {
		transaction_begin(&t);
		transaction_del(&t, i);
		transaction_do(rig, &t, NULL);
	}
	assert_int_equal(rig->sessions.present, 0);
	fuzz_rig_free(rig);
	return 0;
}
