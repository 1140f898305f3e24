// The contract between upf-c (Go, PFCP) and upf-u (C, DPDK): every layout that both sides see.
//
// Two channels join the processes:
//
//  1. A Unix SEQPACKET socket. upf-u listens, one upf-c connects. A datagram is one struct upf_msg
//     followed by records. upf-c sends one TRANSACTION per PFCP transaction; upf-u checks every
//     record, applies all of them or none, and answers with one ANSWER that carries the same seq.
//     upf-u sends EVENT datagrams on its own. End-of-file on either side means that the peer died.
//  2. A memory segment that upf-u owns and upf-c maps read-only (its descriptor travels with the
//     answer to HELLO, SCM_RIGHTS): statistics per worker and one slot per URR. Each slot has one
//     writing worker; readers read naturally aligned 64-bit words and never lock.
//
// State survives either process. upf-u keeps, beside the compiled rules of each session, an opaque
// blob (upf-c's own account of the session) and one META blob (associations, Recovery Time Stamp).
// A new upf-c reads them back with DUMP; a new upf-u (another boot_id) is filled by upf-c's replay.
//
// All integers are in host order except those whose name ends in _be (network order, as on the
// wire). Indexes ("far", "qer", "urr" in a PDR) point into the arrays of the same session. The Go
// side is generated from this file; `make generate` rewrites it and CI fails on drift.
#ifndef UPF_ABI_H
#define UPF_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define UPF_ABI_MAGIC 0x35475543u // "CUG5"
#define UPF_ABI_VERSION 1u
#define UPF_MSG_MAX (192u * 1024u) // octets in one datagram; fits the default socket buffer

#define UPF_PDR_QERS 4u // QERs and URRs that one PDR may name
#define UPF_PDR_URRS 4u
#define UPF_SESSION_PDRS 1024u
#define UPF_SESSION_FARS 1024u
#define UPF_SESSION_QERS 1024u
#define UPF_SESSION_URRS 1024u
#define UPF_SESSION_SDFS 4096u
#define UPF_WORKERS_MAX 64u

// ---- messages ------------------------------------------------------------------------------

enum upf_op {
	UPF_OP_HELLO = 1,       // c->u: nothing follows; answered by HELLO + struct upf_hello + fd
	UPF_OP_TRANSACTION = 2, // c->u: records; all are applied or none
	UPF_OP_ANSWER = 3,      // u->c: status 0, or errno and the index of the refused record
	UPF_OP_DUMP = 4,        // c->u: read back; answered by DUMP datagrams, then one DUMP_END
	UPF_OP_DUMP_END = 5,    // u->c
	UPF_OP_EVENT = 6,       // u->c: records, unsolicited, seq 0
};

struct upf_msg {
	uint32_t magic;
	uint16_t version;
	uint16_t op; // enum upf_op
	uint32_t seq;
	uint32_t length;  // of the whole datagram, this header included
	int32_t status;   // ANSWER: 0 or a positive errno
	uint32_t record;  // ANSWER: index of the record that was refused
	uint32_t records; // how many follow
	uint32_t reserved;
};
static_assert(sizeof(struct upf_msg) == 32, "upf_msg");

struct upf_hello {
	uint64_t boot_id; // changes with every start of upf-u
	uint64_t shm_size;
	uint32_t sessions_max;
	uint32_t qer_slots;
	uint32_t urr_slots;
	uint32_t sessions; // present now (0 after a start)
};
static_assert(sizeof(struct upf_hello) == 32, "upf_hello");

enum upf_record_type {
	// TRANSACTION; DUMP answers use META and SESSION_STATE
	UPF_REC_SESSION_PUT = 1,   // install a session's rules, or replace them whole
	UPF_REC_SESSION_DEL = 2,   // struct upf_session_ref
	UPF_REC_SESSION_STATE = 3, // struct upf_session_ref + blob: replace the opaque blob only
	UPF_REC_META = 4,          // blob
	UPF_REC_URR_ARM = 5,       // struct upf_urr_arm
	UPF_REC_END_MARKER = 6,    // struct upf_end_marker (TS 29.281 5.1, after a path switch)
	// EVENT
	UPF_REC_EV_URR = 32,       // struct upf_ev_urr: an armed volume was reached
	UPF_REC_EV_DL_DATA = 33,   // struct upf_ev_dl_data: first packet for a FAR with NOCP
	UPF_REC_EV_ERROR_IND = 34, // struct upf_ev_error_ind: a peer has no such tunnel
};

struct upf_record {
	uint16_t type; // enum upf_record_type
	uint16_t reserved;
	uint32_t length; // header and padding included, a multiple of 8
};
static_assert(sizeof(struct upf_record) == 8, "upf_record");

struct upf_session_ref {
	struct upf_record rec;
	uint32_t session;  // 0 .. sessions_max-1, chosen by upf-c
	uint32_t blob_len; // octets of the blob that follows (SESSION_STATE, META), else 0
};
static_assert(sizeof(struct upf_session_ref) == 16, "upf_session_ref");

// SESSION_PUT: this head, then n_pdr PDRs, n_far FARs, n_qer QERs, n_urr URRs, n_sdf SDFs, then
// blob_len octets, then zero padding up to a multiple of 8.
struct upf_session_put {
	struct upf_record rec;
	uint32_t session;
	uint32_t blob_len;
	uint16_t n_pdr;
	uint16_t n_far;
	uint16_t n_qer;
	uint16_t n_urr;
	uint16_t n_sdf;
	uint16_t reserved[3];
};
static_assert(sizeof(struct upf_session_put) == 32, "upf_session_put");

// ---- rules ---------------------------------------------------------------------------------

enum upf_interface { // TS 29.244 8.2.2 Source Interface, 8.2.24 Destination Interface
	UPF_IF_ACCESS = 0,
	UPF_IF_CORE = 1,
};

enum upf_direction {
	UPF_UL = 0,
	UPF_DL = 1,
};

// SDF filter (TS 29.244 8.2.5, TS 29.212 5.4.2), read in the downlink direction: "permit out
// PROTO from REMOTE to LOCAL", local being the UE side ("assigned" has local_mask 255.255.255.255
// and the UE's address). Uplink packets are matched with the sides exchanged. A mask of 0 is any.
#define UPF_SDF_PROTO 0x01u
#define UPF_SDF_TOS 0x02u
#define UPF_SDF_SPI 0x04u
#define UPF_SDF_PORTS 0x08u // the port ranges are to be checked (TCP, UDP, SCTP only)
struct upf_sdf {
	uint32_t remote_addr_be;
	uint32_t remote_mask_be;
	uint32_t local_addr_be;
	uint32_t local_mask_be;
	uint16_t remote_port_lo, remote_port_hi; // inclusive
	uint16_t local_port_lo, local_port_hi;
	uint32_t spi;
	uint8_t flags; // UPF_SDF_*
	uint8_t proto;
	uint8_t tos;
	uint8_t tos_mask;
};
static_assert(sizeof(struct upf_sdf) == 32, "upf_sdf");

// PDRs come sorted by precedence (TS 29.244 8.2.11: the lowest value is tried first).
#define UPF_PDR_TEID 0x01u        // the local F-TEID (n3_addr_be, teid) must match
#define UPF_PDR_UE_IP 0x02u       // the UE IP address: UL inner source, DL destination
#define UPF_PDR_QFI 0x04u         // the QFI of the PDU Session Container must match
#define UPF_PDR_REMOVE_GTPU 0x08u // Outer Header Removal, GTP-U/UDP/IPv4 (TS 29.244 8.2.64)
struct upf_pdr {
	uint32_t precedence;
	uint16_t pdr_id;
	uint8_t source_interface; // enum upf_interface
	uint8_t flags;            // UPF_PDR_*
	uint32_t n3_addr_be;
	uint32_t teid; // host order
	uint32_t ue_addr_be;
	uint16_t far;
	uint16_t sdf_first;
	uint16_t sdf_count; // 0: every packet; else one of the filters must match
	uint8_t qfi;
	uint8_t n_qer;
	uint8_t n_urr;
	uint8_t reserved[3];
	uint16_t qer[UPF_PDR_QERS];
	uint16_t urr[UPF_PDR_URRS];
	uint8_t pad[16];
};
static_assert(sizeof(struct upf_pdr) == 64, "upf_pdr");

// Apply Action (TS 29.244 8.2.26) and forwarding parameters.
#define UPF_FAR_DROP 0x01u
#define UPF_FAR_FORW 0x02u
#define UPF_FAR_BUFF 0x04u
#define UPF_FAR_NOCP 0x08u
#define UPF_FAR_OHC_GTPU 0x01u // Outer Header Creation, GTP-U/UDP/IPv4 (TS 29.244 8.2.56)
#define UPF_FAR_TOS 0x02u      // Transport Level Marking: set outer ToS
struct upf_far {
	uint32_t far_id;
	uint8_t action; // UPF_FAR_* of Apply Action
	uint8_t destination_interface;
	uint8_t flags; // UPF_FAR_OHC_GTPU, UPF_FAR_TOS
	uint8_t tos;
	uint32_t peer_addr_be;  // outer destination
	uint32_t local_addr_be; // outer source
	uint32_t teid;          // host order
	uint16_t peer_port;     // host order, 2152
	uint16_t reserved;
	uint8_t pad[8];
};
static_assert(sizeof(struct upf_far) == 32, "upf_far");

// QER (TS 29.244 7.5.2.5). Its token buckets live in upf-u under `slot` and survive a replacement
// of the rules; a slot belongs to one session until upf-c frees it.
#define UPF_QER_GATE_UL_CLOSED 0x01u
#define UPF_QER_GATE_DL_CLOSED 0x02u
#define UPF_QER_MBR 0x04u // mbr_* are limits; without it the rate is unlimited
struct upf_qer {
	uint32_t qer_id;
	uint32_t slot;
	uint64_t mbr_ul; // bit/s
	uint64_t mbr_dl; // bit/s
	uint8_t flags;   // UPF_QER_*
	uint8_t qfi;     // 0: none; else written into the PDU Session Container on N3
	uint8_t reserved[6];
};
static_assert(sizeof(struct upf_qer) == 32, "upf_qer");

struct upf_urr {
	uint32_t urr_id;
	uint32_t slot;
};
static_assert(sizeof(struct upf_urr) == 8, "upf_urr");

// Fire once when a volume counter of the slot reaches the value; UINT64_MAX disarms. Counters only
// grow, so upf-c arms (last reported + threshold).
struct upf_urr_arm {
	struct upf_record rec;
	uint32_t slot;
	uint32_t session;
	uint64_t total; // octets, UL + DL
	uint64_t ul;
	uint64_t dl;
};
static_assert(sizeof(struct upf_urr_arm) == 40, "upf_urr_arm");

struct upf_end_marker {
	struct upf_record rec;
	uint32_t peer_addr_be;
	uint32_t local_addr_be;
	uint32_t teid;
	uint16_t peer_port;
	uint16_t reserved;
};
static_assert(sizeof(struct upf_end_marker) == 24, "upf_end_marker");

// ---- events --------------------------------------------------------------------------------

struct upf_ev_urr {
	struct upf_record rec;
	uint32_t session;
	uint32_t slot;
};
static_assert(sizeof(struct upf_ev_urr) == 16, "upf_ev_urr");

struct upf_ev_dl_data {
	struct upf_record rec;
	uint32_t session;
	uint16_t pdr_id;
	uint8_t qfi;
	uint8_t tos;
};
static_assert(sizeof(struct upf_ev_dl_data) == 16, "upf_ev_dl_data");

struct upf_ev_error_ind { // TS 29.281 7.3.1
	struct upf_record rec;
	uint32_t peer_addr_be;
	uint32_t teid; // of the tunnel at the peer
};
static_assert(sizeof(struct upf_ev_error_ind) == 16, "upf_ev_error_ind");

// ---- shared memory -------------------------------------------------------------------------

enum upf_port { // the interfaces of a worker
	UPF_PORT_N3 = 0,
	UPF_PORT_N6 = 1,
	UPF_PORTS = 2,
};

// Every reason for which a packet does not leave. X(symbol, metric label, help)
#define UPF_DROP_REASONS(X) \
	X(MALFORMED_ETHERNET, "malformed_ethernet", "shorter than its Ethernet header") \
	X(UNKNOWN_ETHERTYPE, "unknown_ethertype", "neither IPv4 nor ARP") \
	X(MALFORMED_IP, "malformed_ip", "bad version, length or header checksum") \
	X(FRAGMENT, "fragment", "IPv4 fragment where a whole packet is needed") \
	X(TTL_EXCEEDED, "ttl_exceeded", "time to live ran out") \
	X(NOT_FOR_US, "not_for_us", "addressed to none of this UPF's own or UE addresses") \
	X(MALFORMED_ARP, "malformed_arp", "ARP that cannot be read") \
	X(UNKNOWN_PORT, "unknown_port", \
		"UDP to one of our addresses on another port than GTP-U's") \
	X(MALFORMED_GTPU, "malformed_gtpu", "bad version, length or extension header chain") \
	X(UNSUPPORTED_GTPU, "unsupported_gtpu", "GTP-U message type that is not handled") \
	X(UNKNOWN_TEID, "unknown_teid", "no PDU session has this F-TEID; Error Indication sent") \
	X(UNKNOWN_UE, "unknown_ue", "no PDU session has this UE IP address") \
	X(MALFORMED_INNER, "malformed_inner", "inner packet is not a whole IPv4 packet") \
	X(SPOOFED_SOURCE, "spoofed_source", "inner source is not the session's UE IP address") \
	X(NO_PDR, "no_pdr", "no PDR of the session matches") \
	X(UE_TO_UE, "ue_to_ue", \
		"inner destination is another UE of this UPF, which is not allowed") \
	X(GATE_CLOSED, "gate_closed", "the gate of a QER is closed") \
	X(MBR_EXCEEDED, "mbr_exceeded", "above the maximum bit rate of a QER") \
	X(FAR_DROP, "far_drop", "the FAR says drop") \
	X(FAR_NO_TUNNEL, "far_no_tunnel", "the FAR forwards to access without an outer header") \
	X(BUFFER_FULL, "buffer_full", "downlink buffer of the session or of the UPF is full") \
	X(BUFFER_RELEASED, "buffer_released", "buffered packet whose session or FAR went away") \
	X(TOO_BIG, "too_big", "does not fit the outgoing MTU") \
	X(NO_NEIGHBOUR, "no_neighbour", "the next hop did not answer ARP") \
	X(NO_ROUTE, "no_route", "no next hop for this destination") \
	X(NO_MBUF, "no_mbuf", "out of packet buffers") \
	X(TX_FULL, "tx_full", "the transmit queue did not take the packet") \
	X(RATE_LIMITED, "rate_limited", "answer to a peer suppressed by its rate limit")

#define UPF_DROP_ENUM(symbol, label, help) UPF_DROP_##symbol,
enum upf_drop { UPF_DROP_REASONS(UPF_DROP_ENUM) UPF_DROPS };
#undef UPF_DROP_ENUM
#define UPF_DROPS_MAX 64u
static_assert(UPF_DROPS <= UPF_DROPS_MAX, "upf_worker_stats.drops");

struct upf_port_stats {
	uint64_t rx_packets, rx_bytes;
	uint64_t tx_packets, tx_bytes;
};

// Packets answered by the worker itself, neither forwarded nor dropped.
struct upf_local_stats {
	uint64_t arp_requests, arp_replies; // received and consumed
	uint64_t icmp_echo;
	uint64_t gtpu_echo_requests, gtpu_echo_responses;
	uint64_t error_indications_received, error_indications_sent;
	uint64_t end_markers_received, end_markers_sent;
	uint64_t buffered, buffered_released; // packets in and out of downlink buffers
	uint64_t reserved[5];
};
static_assert(sizeof(struct upf_local_stats) == 128, "upf_local_stats");

struct upf_worker_stats { // one per worker, written by that worker only
	uint64_t lcore;
	uint64_t cycles_busy; // TSC, polls that found packets
	uint64_t cycles_idle;
	uint64_t polls, polls_empty;
	uint64_t reserved[3];
	struct upf_port_stats port[UPF_PORTS];
	struct upf_local_stats local;
	uint64_t forwarded[2]; // by enum upf_direction
	uint64_t reserved2[6];
	uint64_t drops[UPF_DROPS_MAX]; // by enum upf_drop
};
static_assert(sizeof(struct upf_worker_stats) % 64 == 0, "upf_worker_stats");

struct upf_urr_counter { // one cache line, one direction, one writing worker
	uint64_t bytes;  // inner IP octets forwarded, after QoS enforcement
	uint64_t packets;
	uint64_t first_tsc; // of the first packet since start, 0 when none
	uint64_t last_tsc;
	uint64_t fire_at;       // this direction's armed volume
	uint64_t fire_at_total; // armed UL + DL volume, the same in both lines
	uint32_t session;       // who to name in the event
	uint32_t reserved;
	uint64_t reserved2;
};
static_assert(sizeof(struct upf_urr_counter) == 64, "upf_urr_counter");

struct upf_urr_slot {
	struct upf_urr_counter dir[2]; // by enum upf_direction
};
static_assert(sizeof(struct upf_urr_slot) == 128, "upf_urr_slot");

struct upf_shm { // head of the segment; offsets are from its start
	uint32_t magic;
	uint32_t version;
	uint64_t boot_id;
	uint64_t tsc_hz;
	uint64_t workers_offset; // struct upf_worker_stats[workers]
	uint64_t urr_offset;     // struct upf_urr_slot[urr_slots]
	uint32_t workers;
	uint32_t urr_slots;
	uint64_t sessions; // present now
	uint64_t reserved[9];
};
static_assert(sizeof(struct upf_shm) == 128, "upf_shm");

#endif
