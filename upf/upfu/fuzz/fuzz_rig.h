// What the harnesses share: EAL, started with the first rig, and a UPF with a few sessions of every kind.
#ifndef UPFU_FUZZ_RIG_H
#define UPFU_FUZZ_RIG_H

#include <stdint.h>

#include "rules.h"

#define FUZZ_SESSIONS 64u
#define FUZZ_VLAN 5u
#define FUZZ_TEID 0x100u             // of session 0; the others follow
#define FUZZ_APPLICATION UINT64_C(7) // example.com, of session 6
#define FUZZ_UE RIG_UE               // likewise
// Of NAT44, which network 1 has; session FUZZ_SESSIONS is there.
#define FUZZ_PUBLIC RIG_IP(203, 0, 113, 1)

// Octets of the input, one after the other; zeros when there are none left.
struct input {
	const uint8_t *at;
	size_t left;
};

uint8_t input_octet(struct input *in);
uint16_t input_u16(struct input *in);
// Up to n octets; *n becomes how many there are.
const uint8_t *input_octets(struct input *in, size_t *n);

struct rig *fuzz_rig_create(void);
// One whose network 1 is a bridge, with a session for each of its filters: a VLAN, addresses, an SDF filter.
#define FUZZ_BRIDGED 3u
struct rig *fuzz_rig_create_ethernet(void);
// Runs what is left to run, and checks that every packet buffer came back.
void fuzz_rig_free(struct rig *rig);
// Sends one packet each way through the session with this F-TEID and UE.
void fuzz_traffic(struct rig *rig, uint32_t teid, uint32_t ue);

#endif
