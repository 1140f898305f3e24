// Writes inputs to begin with, made by the builders of the tests:  seeds FOLDER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <netinet/in.h>

#include "frames.h"
#include "fuzz_rig.h"
#include "hellos.h"

static const char *folder;

static void
save(const char *harness, const char *name, const void *data, size_t length)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, harness);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", folder, harness, name);
	f = fopen(path, "wb");
	if (f == NULL || fwrite(data, 1, length, f) != length || fclose(f) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

// ---- packets -------------------------------------------------------------------------------------

static void
save_frame(const char *name, enum upf_port port, const struct frame *f)
{
	uint8_t input[3 + sizeof(f->data)] = {
		port == UPF_PORT_N6, (uint8_t)(f->length >> 8), (uint8_t)f->length};

	memcpy(input + 3, f->data, f->length);
	save("packets", name, input, 3 + f->length);
}

static void
save_packets(void)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP, IPPROTO_ESP};
	const uint8_t error[] = {16, 0, 0, 1, 0, 133, 0, 4, 172, 30, 3, 100};
	const uint8_t recovery[] = {0, 1, 0, 0, 14, 0};
	const struct rte_ether_addr mac = {{2, 0, 0, 0, 9, 9}};
	struct frame f;
	char name[64];

	for (unsigned session = 0; session < 8; session++) {
		for (unsigned i = 0; i < sizeof(protos); i++) {
			struct ip_fields up = {.src = FUZZ_UE + session,
				.dst = RIG_REMOTE,
				.proto = protos[i],
				.sport = 4000,
				.dport = 80,
				.payload = 24};
			struct ip_fields down = {.src = RIG_REMOTE,
				.dst = FUZZ_UE + session,
				.proto = protos[i],
				.sport = 80,
				.dport = 4000,
				.payload = 24};

			frame_gpdu(&f, RIG_N3_ADDR, FUZZ_TEID + session, i % 2 != 0 ? 9 : 0, &up);
			snprintf(name, sizeof(name), "up-%u-%u", session, protos[i]);
			save_frame(name, UPF_PORT_N3, &f);
			frame_eth_ip(&f, &down);
			snprintf(name, sizeof(name), "down-%u-%u", session, protos[i]);
			save_frame(name, UPF_PORT_N6, &f);
		}
	}
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 1, 0, recovery, 4);
	save_frame("echo-request", UPF_PORT_N3, &f);
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 2, 0, recovery, sizeof(recovery));
	save_frame("echo-response", UPF_PORT_N3, &f);
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 26, 0, error, sizeof(error));
	save_frame("error-indication", UPF_PORT_N3, &f);
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 254, FUZZ_TEID, NULL, 0);
	save_frame("end-marker", UPF_PORT_N3, &f);
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 255, 0x77777777, recovery, sizeof(recovery));
	save_frame("unknown-teid", UPF_PORT_N3, &f);
	frame_arp(&f, 1, &mac, RIG_GNB, RIG_N3_ADDR);
	save_frame("arp-request", UPF_PORT_N3, &f);
	frame_arp(&f, 2, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	save_frame("arp-reply", UPF_PORT_N6, &f);
	frame_eth_ip(&f,
		&(struct ip_fields){
			.src = RIG_REMOTE, .dst = FUZZ_UE, .fragment = 0x2000, .payload = 64});
	save_frame("fragment", UPF_PORT_N6, &f);
	frame_eth_ip(&f,
		&(struct ip_fields){.src = RIG_REMOTE,
			.dst = RIG_N6_ADDR,
			.proto = IPPROTO_ICMP,
			.sport = 0x0800,
			.payload = 32});
	save_frame("ping", UPF_PORT_N6, &f);
}

// A packet that makes a mapping of NAT44, one that comes back by it, in two fragments, and an ICMP error about it.
static void
save_nat(void)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};
	static uint8_t input[8192];

	for (unsigned i = 0; i < sizeof(protos); i++) {
		const uint16_t port = 1024 + 4000 % 64;
		const bool icmp = protos[i] == IPPROTO_ICMP;
		const struct ip_fields up = {.src = FUZZ_UE,
			.dst = RIG_REMOTE,
			.proto = protos[i],
			.sport = icmp ? 0x0800 : 4000,
			.dport = 80,
			.payload = 24};
		const struct ip_fields down[] = {
			{.src = RIG_REMOTE, .dst = FUZZ_PUBLIC, .dport = port, .payload = 24},
			{.src = RIG_REMOTE, .dst = FUZZ_PUBLIC, .dport = port, .fragment = 0x2000},
			{.src = RIG_REMOTE, .dst = FUZZ_PUBLIC, .fragment = 1, .payload = 8},
			{.src = RIG_REMOTE,
				.dst = FUZZ_PUBLIC,
				.proto = IPPROTO_ICMP,
				.sport = 0x0303,
				.payload = 28},
		};
		size_t at = 0;
		struct frame f;
		char name[64];

		for (unsigned j = 0; j < 5; j++) {
			struct frame quoted;

			if (j == 0) {
				frame_gpdu(&f, RIG_N3_ADDR, FUZZ_TEID + FUZZ_SESSIONS, 9, &up);
			} else {
				struct ip_fields ip = down[j - 1];

				if (ip.proto == 0)
					ip.proto = protos[i];
				frame_eth_ip(&f, &ip);
			}
			if (j == 4) {
				frame_ip(&quoted,
					&(struct ip_fields){.src = FUZZ_PUBLIC,
						.dst = RIG_REMOTE,
						.proto = protos[i],
						.sport = port});
				memcpy(f.data + 14 + 20 + 8, quoted.data, 28);
			}
			input[at++] = j == 0 ? 0 : 0x41; // N6 of the other network
			input[at++] = (uint8_t)(f.length >> 8);
			input[at++] = (uint8_t)f.length;
			memcpy(input + at, f.data, f.length);
			at += f.length;
		}
		snprintf(name, sizeof(name), "nat-%u", protos[i]);
		save("packets", name, input, at);
	}
}

// ---- rules and transactions ------------------------------------------------------------------------

static void
save_session(const char *name, const struct session_rules_builder *s)
{
	static struct transaction t;
	static uint8_t input[sizeof(t.bytes) + 16];
	const uint8_t counts[] = {(uint8_t)s->session, (uint8_t)s->n_pdr, (uint8_t)s->n_far,
		(uint8_t)s->n_qer, (uint8_t)s->n_urr, (uint8_t)s->n_sdf, (uint8_t)s->n_sdf6, 0, 0,
		0};
	size_t head = sizeof(t.msg) + sizeof(struct upf_session_put);

	transaction_begin(&t);
	transaction_put(&t, s);
	memcpy(input, counts, sizeof(counts));
	memcpy(input + sizeof(counts), t.bytes + head, t.length - head);
	save("rules", name, input, sizeof(counts) + t.length - head);
	input[0] = 0;
	input[1] = (uint8_t)(t.length >> 8);
	input[2] = (uint8_t)t.length;
	memcpy(input + 3, t.bytes, t.length);
	save("transactions", name, input, 3 + t.length);
}

// A user's UDP packet of session 6 with this in it, up or down.
static void
save_message(const char *name, bool up, uint16_t remote_port, const struct octets *octets)
{
	const uint32_t ue = FUZZ_UE + 6;
	const struct ip_fields ip = {.src = up ? ue : RIG_REMOTE,
		.dst = up ? RIG_REMOTE : ue,
		.sport = up ? 4000 : remote_port,
		.dport = up ? remote_port : 4000,
		.payload = (uint32_t)octets->n};
	struct frame packet, f;

	frame_ip(&packet, &ip);
	memcpy(packet.data + 28, octets->at, octets->n);
	if (up)
		frame_gpdu_of(&f, NULL, FUZZ_TEID + 6, 9, &packet);
	else
		frame_eth(&f, &rig_gateway_mac, &packet);
	save_frame(name, up ? UPF_PORT_N3 : UPF_PORT_N6, &f);
}

static void
save_detection(void)
{
	struct octets message, to, frames = {.n = sizeof(hello_rfc9001)};
	const uint8_t address[4] = {8, 8, 8, 8};
	struct transaction t;
	uint8_t input[3 + sizeof(struct upf_msg) + 256] = {0};
	const struct domain_of domain = {FUZZ_APPLICATION, "example.com", 0x0f};

	memcpy(frames.at, hello_rfc9001, sizeof(hello_rfc9001));
	hello_quic(&to, 1, 1, &frames, 1200);
	save_message("quic-hello", true, 443, &to);
	hello_dns_question(&to, 7, 1, "example.com");
	save_message("dns-question", true, 53, &to);
	hello_dns_answer(&to);
	hello_dns_record(&to, NULL, 1, 60, address, 4);
	save_message("dns-answer", false, 53, &to);
	hello_tls(&message, "example.com", 0, 0);
	hello_records(&to, &message, 4096);
	save_message("tls-hello", true, 443, &to); // its protocol is the fuzzer's to change
	transaction_begin(&t);
	transaction_domains(&t, &domain, 1);
	input[2] = (uint8_t)t.length;
	memcpy(input + 3, t.bytes, t.length);
	save("transactions", "domains", input, 3 + t.length);
}

static void
save_rules(void)
{
	static struct session_rules_builder s;
	static struct transaction t;
	uint8_t input[64 + 3] = {0, 0};

	rules_usual(&s, 9, FUZZ_UE + 9, FUZZ_TEID + 9);
	save_session("usual", &s);
	s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	save_session("buffer", &s);
	s.qer[0].flags = UPF_QER_MBR | UPF_QER_GBR | UPF_QER_RQI | UPF_QER_TOS;
	s.qer[0].mbr_ul = s.qer[0].mbr_dl = s.qer[0].gbr_ul = s.qer[0].gbr_dl = 1000000;
	s.qer[0].gbr_slot = 19;
	s.urr[0].flags = UPF_URR_BEFORE_QOS | UPF_URR_TIMED;
	save_session("gbr", &s);
	s.n_sdf = s.n_sdf6 = 2;
	for (unsigned i = 0; i < 2; i++) {
		s.sdf[i] = (struct upf_sdf){.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
			.proto = IPPROTO_UDP,
			.remote_port_hi = 1023,
			.local_port_hi = UINT16_MAX};
		s.sdf6[i] = (struct upf_sdf6){
			.flags = UPF_SDF_FLOW_LABEL, .flow_label = 7, .remote_len = 64};
		s.pdr[i].flags |= UPF_PDR_SDF | UPF_PDR_UE_IPV6;
		s.pdr[i].ue_prefix[0] = 0x20;
		s.pdr[i].ue_prefix_len = 64;
		s.pdr[i].sdf_count = s.pdr[i].sdf6_count = 2;
	}
	save_session("filters", &s);
	transaction_begin(&t);
	transaction_del(&t, 0);
	input[2] = (uint8_t)t.length;
	memcpy(input + 3, t.bytes, t.length);
	save("transactions", "delete", input, 3 + t.length);
	transaction_begin(&t);
	transaction_blob(&t, UPF_REC_META, 0, "meta");
	input[2] = (uint8_t)t.length;
	memcpy(input + 3, t.bytes, t.length);
	save("transactions", "meta", input, 3 + t.length);
}

static void
save_classify(void)
{
	uint8_t input[2048];
	char name[32];

	srandom(1);
	for (unsigned i = 0; i < 20; i++) {
		for (size_t j = 0; j < sizeof(input); j++)
			input[j] = (uint8_t)random();
		snprintf(name, sizeof(name), "random-%u", i);
		save("classify", name, input, 256u << i % 4);
	}
}

static void
save_hello(const char *name, uint8_t as, const struct octets *octets)
{
	uint8_t input[1 + sizeof(octets->at)] = {as};

	memcpy(input + 1, octets->at, octets->n);
	save("hellos", name, input, 1 + octets->n);
}

static void
save_hellos(void)
{
	struct octets message, to, frames = {0};
	const uint8_t address[16] = {198, 51, 100, 7};

	hello_tls(&message, "www.example.com", 40, 20);
	save_hello("tls", 0, &message);
	hello_records(&to, &message, 4096);
	save_hello("tls-record", 1, &to);
	hello_records(&to, &message, 50);
	save_hello("tls-records", 1, &to);
	hello_crypto_frame(&frames, &message, 60, message.n - 60);
	hello_crypto_frame(&frames, &message, 0, 60);
	save_hello("quic-frames", 4, &frames);
	save_hello("quic-sealed", 5, &frames);
	for (unsigned version = 1; version <= 2; version++) {
		hello_quic(&to, version, 1, &frames, 1200);
		save_hello(version == 1 ? "quic-1" : "quic-2", 3, &to);
	}
	hello_dns_question(&to, 7, 1, "www.example.com");
	save_hello("dns-question", 2, &to);
	hello_dns_answer(&to);
	hello_dns_alias(&to, NULL, 300, "a.cdn.example");
	hello_dns_record(&to, "a.cdn.example", 1, 60, address, 4);
	save_hello("dns-answer", 2, &to);
	hello_dns_question(&to, 7, 28, "www.example.com");
	hello_dns_answer(&to);
	hello_dns_record(&to, NULL, 28, 60, address, 16);
	save_hello("dns-answer6", 2, &to);
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds FOLDER\n");
		return EXIT_FAILURE;
	}
	folder = argv[1];
	save_packets();
	save_nat();
	save_detection();
	save_rules();
	save_classify();
	save_hellos();
	return EXIT_SUCCESS;
}
