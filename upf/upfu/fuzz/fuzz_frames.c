// Frames of Ethernet PDU sessions through the bridge, its table and the filters. The input is a row of frames: an octet that
// says whose it is and what to do then, a length, octets. Whatever comes in, nothing may break and every buffer must come back.
#include <string.h>

#include "frames.h"
#include "fuzz_rig.h"
#include "packet/bridge.h"

#define FROM 0x03u      // a session, or N6
#define KEEP_POLL 0x04u // else the worker polls after this frame
#define TIME 0x08u      // stations age
#define FRAMES 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct rig *rig = fuzz_rig_create_ethernet();
	struct worker *w = rig->worker[0];

	for (unsigned i = 0; i < FRAMES && in.left != 0; i++) {
		uint8_t how = input_octet(&in);
		size_t n = input_u16(&in) % 2048;
		const uint8_t *octets = input_octets(&in, &n);
		struct frame user = {.length = n}, f;

		memcpy(user.data, octets, n);
		if ((how & FROM) < FUZZ_BRIDGED) {
			frame_gpdu_of(&f, NULL, FUZZ_TEID + (how & FROM), 9, &user);
			rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		} else {
			rig_inject(rig, config_port_of(1), user.data, user.length);
		}
		if ((how & KEEP_POLL) == 0)
			rig_poll(rig);
		if ((how & TIME) != 0) {
			w->now = rte_rdtsc() + w->tsc_hz * 2;
			for (unsigned tick = 0; tick <= WORKER_TICKS_PER_SECOND; tick++)
				bridge_tick(w);
		}
	}
	fuzz_rig_free(rig);
	return 0;
}
