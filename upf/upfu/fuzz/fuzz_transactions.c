// IPC: whole datagrams, as they come from the socket. An input is a row of them: an octet (zero: as it
// is, else with a right header in front), a length, octets. The UPF must still work afterwards.
#include <string.h>

#include "fuzz_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DATAGRAMS 8u

static void
datagram(struct rig *rig, struct input *in)
{
	static struct transaction t;
	bool right = input_octet(in) != 0;
	size_t n = input_u16(in);
	const uint8_t *octets = input_octets(in, &n);

	n = n < sizeof(t.bytes) - sizeof(t.msg) ? n : sizeof(t.bytes) - sizeof(t.msg);
	if (right) {
		transaction_begin(&t);
		t.msg.records = n != 0 ? octets[0] % 8u : 0;
		memcpy(t.bytes + t.length, octets, n);
		t.length += n;
		t.msg.length = (uint32_t)t.length;
	} else {
		memcpy(t.bytes, octets, n);
		t.length = n;
		if (n < sizeof(t.msg)) // the control thread asks for a whole header first
			return;
	}
	transaction_do(rig, &t, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct rig *rig = fuzz_rig_create();

	for (unsigned i = 0; i < DATAGRAMS && in.left != 0; i++) {
		datagram(rig, &in);
		rig_poll(rig);
	}
	for (uint32_t i = 0; i < 8; i++)
		fuzz_traffic(rig, FUZZ_TEID + i, FUZZ_UE + i);
	fuzz_rig_free(rig);
	return 0;
}
