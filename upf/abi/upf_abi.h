// The contract between upf-c (Go, PFCP) and upf-u (C, DPDK): every layout that both sides see.
//
// Two channels join the processes:
//
//  1. A Unix SEQPACKET socket. upf-u listens, one upf-c connects. A datagram is one struct upf_msg
//     followed by records. upf-c sends one TRANSACTION per PFCP transaction; upf-u checks every
//     record, applies all of them or none, and answers with one ANSWER that carries the same seq.
//     upf-u sends EVENT datagrams on its own, to a upf-c that has stored META: by then it knows all
//     sessions. Events wait until then. End-of-file on either side means that the peer died.
//  2. A memory segment that upf-u owns and upf-c maps read-only (its descriptor travels with the
//     answer to HELLO, SCM_RIGHTS): statistics per worker and the slots of QERs and URRs. Each has
//     one writing worker; readers read naturally aligned 64-bit words and never lock.
//
// State survives either process. upf-u keeps, beside the compiled rules of each session, an opaque
// blob (upf-c's own account of the session) and one META blob (associations, Recovery Time Stamp).
// A new upf-c reads them back with DUMP; a new upf-u (another boot_id) is filled by upf-c's replay. A
// upf-u without META lacks sessions, whatever it has: a new upf-c fills it with what the one before left.
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
#define UPF_ABI_VERSION 10u
#define UPF_MSG_MAX (192u * 1024u) // octets in one datagram; fits the default socket buffer

#define UPF_PDR_QERS 4u // QERs and URRs that one PDR may name
#define UPF_PDR_URRS 8u
#define UPF_SESSION_PDRS 1024u
#define UPF_SESSION_FARS 1024u
#define UPF_SESSION_QERS 1024u
#define UPF_SESSION_URRS 1024u
#define UPF_SESSION_SDFS 4096u
#define UPF_SESSION_BARS 16u
#define UPF_SESSION_ROUTES 16u       // framed routes
#define UPF_SESSION_APPLICATIONS 32u // that are known by domain names
#define UPF_DOMAINS_MAX 8192u        // of all applications
#define UPF_SESSION_ETHERNET_FILTERS 1024u
#define UPF_NONE16 0xffffu // "none" of an index into an array of the session
#define UPF_WORKERS_MAX 64u
// Groups of sessions by which drops are counted: those of one CP function in one Network Instance.
// upf-c gives out the numbers and knows their names. Group 0: no session, or one without a group.
#define UPF_GROUPS 64u
// Network instances (TS 29.244 5.4, 8.2.4) of N6: each has an interface or a VLAN, addresses, routes and UE IP
// addresses of its own. A network is an index into upf_hello.network.
#define UPF_NETWORKS 16u

// ---- messages ------------------------------------------------------------------------------

enum upf_op {
	UPF_OP_HELLO = 1,       // c->u: nothing follows; answered by HELLO + struct upf_hello + fd
	UPF_OP_TRANSACTION = 2, // c->u: records; all are applied or none
	UPF_OP_ANSWER = 3,      // u->c: status 0, or errno and the index of the refused record
	UPF_OP_DUMP = 4,        // c->u: read back; answered by DUMP datagrams, then one DUMP_END
	UPF_OP_DUMP_END = 5,    // u->c
	UPF_OP_EVENT = 6,       // u->c: records, unsolicited, seq 0
	UPF_OP_SHOW = 7,        // c->u: struct upf_session_ref; answered by SHOW + text (JSON): the
				// session's rules as compiled, or status ENOENT
	UPF_OP_LINE = 8, // c->u: nothing follows, a descriptor comes along (SCM_RIGHTS); ANSWER.
			 // upf-u keeps it open, in place of the one before, and does nothing
			 // with it: who is at its other end hears of it when both processes end
};

struct upf_msg {
	uint32_t magic;
	uint16_t version;
	uint16_t op; // enum upf_op
	uint32_t seq;
	uint32_t length; // of the whole datagram, this header included
	int32_t status;  // ANSWER: 0 or a positive errno
	uint32_t record; // ANSWER: index of the record that was refused
	uint32_t
		records; // how many follow; ANSWER: the session that has what was refused, see below
	uint32_t refusal; // ANSWER: enum upf_refusal, 0 when status is 0
};
static_assert(sizeof(struct upf_msg) == 32, "upf_msg");

enum upf_refusal {              // what of a record was refused, for the PFCP cause and offending IE
	UPF_REFUSED_RECORD = 1, // malformed, or names what does not exist
	// These two name the other session in upf_msg.records.
	UPF_REFUSED_FTEID = 2,  // the F-TEID belongs to another session
	UPF_REFUSED_UE_IP = 3,  // the UE IP address or prefix belongs to another session
	UPF_REFUSED_MEMORY = 4, // a table or the memory for rules is full
	UPF_REFUSED_BUSY = 5,   // the workers do not take commands
	// Names the other session, too.
	UPF_REFUSED_NAT = 6, // the NAT44 port block belongs to another session
};

// An IPv4 address stands in the first four octets, the rest is 0; what it is, a flag beside it says.
typedef uint8_t upf_addr[16];

// A block of upf-u's own GTP-U addresses. upf-c, whose file names them too, compares.
struct upf_endpoint {
	upf_addr addr;      // the first one
	uint8_t prefix_len; // 0: there is none
	uint8_t reserved[7];
};
static_assert(sizeof(struct upf_endpoint) == 24, "upf_endpoint");
#define UPF_ENDPOINTS 4u // IPv4 and IPv6 of N3, then of N9

// NAT44 (RFC 3022, RFC 6888) of a network instance: its UEs share public IPv4 addresses, a block of ports each. A block
// is as many ports as upf_network.nat_ports says, a power of two, and begins at a multiple of that. Ports below
// UPF_NAT_FIRST_PORT are in none. upf-c gives blocks to sessions (upf_session_put).
#define UPF_NAT_PREFIXES 8u
#define UPF_NAT_FIRST_PORT 1024u
struct upf_nat_prefix {
	uint32_t addr_be;
	uint8_t len;
	uint8_t reserved[3];
};
static_assert(sizeof(struct upf_nat_prefix) == 8, "upf_nat_prefix");

#define UPF_NETWORK_NAME 104u
struct upf_network {
	// 0-terminated; empty: it serves all that no other one is named for.
	uint8_t name[UPF_NETWORK_NAME];
	uint32_t nat_ports; // of a block; 0: no NAT44
	uint32_t nat_prefixes;
	struct upf_nat_prefix nat_prefix[UPF_NAT_PREFIXES];
	uint32_t ethernet; // 1: a bridge for the frames of Ethernet PDU sessions; 0: IP
	uint32_t reserved;
};
static_assert(sizeof(struct upf_network) == 184, "upf_network");

struct upf_hello {
	uint64_t boot_id; // changes with every start of upf-u
	uint64_t shm_size;
	uint32_t sessions_max;
	uint32_t qer_slots; // both are UPF_LINE_SLOTS times the number of slot pairs
	uint32_t urr_slots;
	uint32_t sessions; // present now (0 after a start)
	struct upf_endpoint endpoint[UPF_ENDPOINTS];
	uint32_t networks; // of network[], one at least
	uint32_t reserved;
	struct upf_network network[UPF_NETWORKS];
};
static_assert(sizeof(struct upf_hello) == 3080, "upf_hello");

enum upf_record_type {
	// TRANSACTION; DUMP answers use META and SESSION_STATE
	UPF_REC_SESSION_PUT = 1,   // install a session's rules, or replace them whole
	UPF_REC_SESSION_DEL = 2,   // struct upf_session_ref
	UPF_REC_SESSION_STATE = 3, // struct upf_session_ref + blob: replace the opaque blob only
	UPF_REC_META = 4,          // blob
	UPF_REC_URR_ARM = 5,       // struct upf_urr_arm
	UPF_REC_END_MARKER = 6,    // struct upf_end_marker (TS 29.281 5.1, after a path switch)
	UPF_REC_DROP_BUFFERED =
		7,         // struct upf_session_ref: forget what waits (PFCPSMReq-Flags DROBU)
	UPF_REC_ECHO = 8,  // struct upf_echo: send a GTP-U Echo Request (TS 29.281 7.2.1)
	UPF_REC_TRACE = 9, // struct upf_trace: report packets of a session, or of all
	UPF_REC_GRANT =
		10, // struct upf_grant: answer and forward until then; a upf-u with `redundancy`
	UPF_REC_DOMAINS =
		11, // struct upf_domains: the domains of all applications, in place of those before
	UPF_REC_STATION =
		12, // struct upf_ev_mac: a station that the upf-u before knew of a session, which has its rules
	// EVENT
	UPF_REC_EV_URR = 32,       // struct upf_ev_urr: an armed volume was reached
	UPF_REC_EV_DL_DATA = 33,   // struct upf_ev_dl_data: first packet for a FAR with NOCP
	UPF_REC_EV_ERROR_IND = 34, // struct upf_ev_error_ind: a peer has no such tunnel
	UPF_REC_EV_ECHO = 35,      // struct upf_echo: the peer answered the Echo Request
	UPF_REC_EV_TRACE = 36,     // struct upf_ev_trace + the packet's first octets
	UPF_REC_EV_MAC = 37, // struct upf_ev_mac: a station of an Ethernet PDU session came or went
	UPF_REC_EV_FLOW =
		38, // struct upf_ev_flow: traffic of an application by domain began or ended
};

struct upf_record {
	uint16_t type; // enum upf_record_type
	uint16_t reserved;
	uint32_t length; // header and padding included, a multiple of 8
};
static_assert(sizeof(struct upf_record) == 8, "upf_record");

// Of META, in place of a session: CP functions restore sessions that were lost (TS 23.527 4.3), so that nobody is told
// that there is no such tunnel.
#define UPF_META_RESTORING 1u

struct upf_session_ref {
	struct upf_record rec;
	uint32_t session;  // 0 .. sessions_max-1, chosen by upf-c; of META 0 or UPF_META_RESTORING
	uint32_t blob_len; // octets of the blob that follows (SESSION_STATE, META), else 0
};
static_assert(sizeof(struct upf_session_ref) == 16, "upf_session_ref");

// SESSION_PUT: this head, then n_pdr PDRs, n_far FARs, n_qer QERs, n_urr URRs, n_bar BARs, n_sdf
// SDFs, n_sdf6 IPv6 SDFs, n_route framed routes, n_ethernet Ethernet filters, n_application applications,
// text_len octets (redirect URLs), blob_len octets, then zero padding up to a multiple of 8.
#define UPF_SESSION_ETHERNET 1u // an Ethernet PDU session (TS 23.501 5.6.10.2); else one of IP
struct upf_session_put {
	struct upf_record rec;
	uint32_t session;
	uint32_t blob_len;
	uint16_t n_pdr;
	uint16_t n_far;
	uint16_t n_qer;
	uint16_t n_urr;
	uint16_t n_sdf;
	uint16_t n_sdf6;
	uint16_t n_bar;
	uint16_t text_len;
	uint16_t group;   // below UPF_GROUPS
	uint16_t network; // in which the UE's addresses are
	uint16_t n_route;
	uint16_t nat_port; // the first of the session's NAT44 block
	uint32_t
		nat_addr_be; // the address of that, in upf_network.nat_prefix of `network`; 0: it has none
	uint16_t n_application;
	uint16_t n_ethernet;
	uint16_t flags; // UPF_SESSION_*. It stays as it is while the session lasts
	uint16_t reserved[3];
};
static_assert(sizeof(struct upf_session_put) == 56, "upf_session_put");

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
// and the UE's address). Uplink packets are matched with the sides exchanged. A mask of 0 is any:
// a filter without any address is given twice, as upf_sdf and as upf_sdf6, where the UE has both.
#define UPF_SDF_PROTO 0x01u
#define UPF_SDF_TOS 0x02u
#define UPF_SDF_SPI 0x04u
#define UPF_SDF_PORTS 0x08u      // the port ranges are to be checked (TCP, UDP, SCTP only)
#define UPF_SDF_FLOW_LABEL 0x10u // upf_sdf6 only
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

struct upf_sdf6 {
	upf_addr remote_addr;
	upf_addr local_addr;
	uint8_t remote_len; // prefix lengths
	uint8_t local_len;
	uint8_t reserved[2];
	uint32_t flow_label;                     // 20 bits, host order
	uint16_t remote_port_lo, remote_port_hi; // inclusive
	uint16_t local_port_lo, local_port_hi;
	uint32_t spi;
	uint8_t flags; // UPF_SDF_*
	uint8_t proto; // the last header of the chain
	uint8_t tos;   // Traffic Class
	uint8_t tos_mask;
};
static_assert(sizeof(struct upf_sdf6) == 56, "upf_sdf6");

// Ethernet packet filter (TS 29.244 7.5.2.2-3, 8.2.93 on), as the frames of its PDR's direction have them. A frame is one
// of a filter that has all that the flags say. What a session's SDF filters are in, where it is an Ethernet one.
#define UPF_ETHERNET_SOURCE 0x01u
#define UPF_ETHERNET_DESTINATION 0x02u
#define UPF_ETHERNET_TYPE 0x04u
#define UPF_ETHERNET_C_TAG 0x08u
#define UPF_ETHERNET_S_TAG 0x10u
#define UPF_ETHERNET_SDF 0x20u // one of the SDF filters must match the IP packet in the frame
struct upf_ethernet_filter {
	uint8_t source_lo[6], source_hi[6]; // inclusive
	uint8_t destination_lo[6], destination_hi[6];
	uint16_t type; // EtherType, behind the tags
	uint16_t flags;
	// Tag Control Information (PCP, DEI, VID), and which of its bits must be so.
	uint16_t c_tag, c_mask;
	uint16_t s_tag, s_mask;
	uint16_t sdf_first, sdf_count;
	uint16_t sdf6_first, sdf6_count;
	uint32_t reserved;
};
static_assert(sizeof(struct upf_ethernet_filter) == 48, "upf_ethernet_filter");

// Framed route (TS 29.244 5.16): a network behind the UE. Where a PDR asks for the UE's address of this
// version, one of these does as well. Every PDR of the session asks for one of the UE's addresses then, and the session has
// one of the route's version. It lies in the network in which the UE's addresses are.
struct upf_route {
	upf_addr addr; // the bits behind the prefix are 0
	uint8_t len;   // of the prefix: 1 .. 32, of IPv6 1 .. 64
	uint8_t ip6;   // 1: IPv6
	uint8_t reserved[6];
};
static_assert(sizeof(struct upf_route) == 24, "upf_route");

// Applications that are known by domain names (PFDs, TS 29.244 8.2.39). upf-c numbers them; a session names those of its
// PDRs. How packets are found to be of one: packet/detection.h.
#define UPF_DOMAIN_DNS 0x01u    // who asks for its addresses tells it
#define UPF_DOMAIN_TLS 0x02u    // a server's name in a ClientHello, of TLS or of QUIC, tells it
#define UPF_DOMAIN_ITSELF 0x04u // the name itself is meant
#define UPF_DOMAIN_BELOW 0x08u  // what ends in it, behind a dot
struct upf_domain {
	uint64_t application;
	uint32_t text_first; // of the name in the text: in lower case, without a dot at the end
	uint8_t text_len;
	uint8_t flags; // UPF_DOMAIN_*: by one at least, and what of it
	uint8_t reserved[2];
};
static_assert(sizeof(struct upf_domain) == 16, "upf_domain");

// One of a session.
struct upf_application {
	uint64_t number;
	// upf-c wants to hear of its flows (EV_FLOW); one has come to an end after so long without packets. 0: it does not.
	uint32_t quiet_ms;
	uint32_t reserved;
};
static_assert(sizeof(struct upf_application) == 16, "upf_application");

struct upf_domains { // then n upf_domain, text_len octets, zero padding up to a multiple of 8
	struct upf_record rec;
	uint32_t n;
	uint32_t text_len;
};
static_assert(sizeof(struct upf_domains) == 16, "upf_domains");

// PDRs come sorted by precedence (TS 29.244 8.2.11: the lowest value is tried first).
#define UPF_PDR_TEID 0x01u    // the local F-TEID (n3_addr, teid) must match
#define UPF_PDR_N3_IPV6 0x02u // n3_addr is an IPv6 address
#define UPF_PDR_UE_IPV4 0x04u // the UE IPv4 address: UL inner source, DL destination
#define UPF_PDR_UE_IPV6 0x08u // the UE IPv6 prefix, likewise; with both flags one of them matches
#define UPF_PDR_QFI 0x10u     // the QFI of the PDU Session Container must match
#define UPF_PDR_REMOVE 0x20u  // Outer Header Removal as `removal` says
#define UPF_PDR_SDF \
	0x40u // one of the SDF filters must match, or the application (there may be none left that can)
#define UPF_PDR_ETHERNET \
	0x80u // of an Ethernet PDU session: one of the Ethernet filters must, sdf_first and sdf_count say which
struct upf_pdr {
	uint32_t precedence;
	uint16_t pdr_id;
	uint8_t source_interface; // enum upf_interface
	uint8_t flags;            // UPF_PDR_*
	upf_addr n3_addr;         // or N9's: one of the UPF's own GTP-U addresses
	uint32_t teid;            // host order
	uint32_t ue_addr_be;      // IPv4
	upf_addr ue_prefix;       // IPv6
	uint8_t ue_prefix_len;    // 1 .. 64
	uint8_t removal;          // Outer Header Removal Description (TS 29.244 8.2.64): 0 .. 6
	uint8_t qfi;
	uint8_t n_qer;
	uint8_t n_urr;
	uint8_t application; // of UPF_PDR_SDF: 1 + its index among the session's, 0: none
	uint16_t far;
	uint16_t sdf_first;
	uint16_t sdf_count;
	uint16_t sdf6_first;
	uint16_t sdf6_count;
	uint16_t qer[UPF_PDR_QERS];
	uint16_t urr[UPF_PDR_URRS];
};
static_assert(sizeof(struct upf_pdr) == 88, "upf_pdr");

// Apply Action (TS 29.244 8.2.26) and forwarding parameters. A FAR that duplicates names further
// entries of the array, which hold the Duplicating Parameters (7.5.2.3-4) and are nobody's FAR.
#define UPF_FAR_DROP 0x01u
#define UPF_FAR_FORW 0x02u
#define UPF_FAR_BUFF 0x04u
#define UPF_FAR_NOCP 0x08u
#define UPF_FAR_DUPL 0x10u

#define UPF_FAR_TOS 0x01u      // Transport Level Marking: set the ToS of what leaves
#define UPF_FAR_REDIRECT 0x02u // Redirect Information: answer HTTP with the URL at text
enum upf_ohc {                 // Outer Header Creation (TS 29.244 8.2.56)
	UPF_OHC_NONE = 0,
	UPF_OHC_GTPU4 = 1,
	UPF_OHC_GTPU6 = 2,
	UPF_OHC_UDP4 = 3,
	UPF_OHC_UDP6 = 4,
	UPF_OHC_IP4 = 5,
	UPF_OHC_IP6 = 6,
};
struct upf_far {
	uint32_t far_id;
	uint8_t action; // UPF_FAR_* of Apply Action
	uint8_t destination_interface;
	uint8_t flags; // UPF_FAR_TOS, UPF_FAR_REDIRECT
	uint8_t ohc;   // enum upf_ohc
	uint8_t tos, tos_mask;
	uint16_t peer_port;  // host order, 2152 for GTP-U
	uint32_t teid;       // host order
	upf_addr peer_addr;  // outer destination
	upf_addr local_addr; // outer source
	uint16_t bar;        // index, UPF_NONE16: none
	uint16_t dup_first;  // Duplicating Parameters: index of the first entry, and how many
	uint16_t dup_count;
	uint16_t text_first; // of the redirect URL in the text
	uint16_t text_count;
	uint16_t network; // by which a packet without an outer header leaves to the core
	uint16_t reserved[2];
};
static_assert(sizeof(struct upf_far) == 64, "upf_far");

// BAR (TS 29.244 7.5.2.6): how downlink packets wait.
struct upf_bar {
	uint32_t bar_id;
	uint32_t
		duration_ms; // DL Buffering Duration: what waited longer is dropped; 0: as configured
	uint16_t packets_max; // Suggested Buffering Packets Count; 0: the configured limit alone
	uint16_t delay_ms;    // Downlink Data Notification Delay: the event waits so long
	uint32_t reserved;
};
static_assert(sizeof(struct upf_bar) == 16, "upf_bar");

// QER (TS 29.244 7.5.2.5). Its token buckets live in shared memory under `slot` (MBR) and `gbr_slot`
// and survive a replacement of the rules; a slot belongs to one session until upf-c frees it. A
// packet within the GBR of one of its QERs is charged to the others but not held up by their MBR.
#define UPF_QER_GATE_UL_CLOSED 0x01u
#define UPF_QER_GATE_DL_CLOSED 0x02u
#define UPF_QER_MBR 0x04u // mbr_* are limits; without it the rate is unlimited
#define UPF_QER_GBR 0x08u // gbr_* are guaranteed, gbr_slot is a slot
#define UPF_QER_RQI 0x10u // set the RQI in the PDU Session Container of downlink packets
#define UPF_QER_TOS 0x20u // downlink packets leave with outer ToS `tos`, unless the FAR marks them
#define UPF_QER_PPI 0x40u // set the Paging Policy Indicator in the downlink container
#define UPF_WINDOW_MAX_MS 60000u
struct upf_qer {
	uint32_t qer_id;
	uint32_t slot;
	uint64_t mbr_ul; // bit/s
	uint64_t mbr_dl; // bit/s
	uint64_t gbr_ul; // bit/s
	uint64_t gbr_dl; // bit/s
	uint32_t gbr_slot;
	uint8_t flags; // UPF_QER_*
	uint8_t qfi;   // 0: none; else written into the PDU Session Container on N3
	uint8_t tos;
	uint8_t ppi;
	uint32_t
		window_ms; // Averaging Window of its rates, UPF_WINDOW_MAX_MS at most; 0: as configured
	uint32_t reserved;
};
static_assert(sizeof(struct upf_qer) == 56, "upf_qer");

#define UPF_URR_BEFORE_QOS \
	0x01u               // Measurement Information MBQE: counts what the QERs then drop, too
#define UPF_URR_TIMED 0x02u // keep struct upf_urr_times of the slot
struct upf_urr {
	uint32_t urr_id;
	uint32_t slot;
	uint16_t quota_far; // FAR ID for Quota Action: index of the FAR; UPF_NONE16: drop
	uint8_t flags;      // UPF_URR_*
	uint8_t reserved;
	// Ethernet Inactivity Timer: a station that is silent for so long has gone; 0: none.
	uint32_t ethernet_inactivity_s;
};
static_assert(sizeof(struct upf_urr) == 16, "upf_urr");

// The values of a slot's counters at which upf-u speaks up (EV_URR, once) and at which traffic
// stops: a packet that would come after a quota is reached takes the way of quota_far, or is
// dropped, and EV_URR is raised once. UINT64_MAX: never. Counters grow (but for what is taken back, as
// it did not leave after all), so upf-c arms (last reported + threshold). A new arming replaces the old
// one whole.
struct upf_urr_arm {
	struct upf_record rec;
	uint32_t slot;
	uint32_t session;
	uint64_t total, ul, dl;                   // octets; total is UL + DL
	uint64_t quota_total, quota_ul, quota_dl; // octets
	uint32_t inactivity_ms;                   // Inactivity Detection Time; 0: none
	uint32_t reserved;
};
static_assert(sizeof(struct upf_urr_arm) == 72, "upf_urr_arm");

struct upf_end_marker {
	struct upf_record rec;
	upf_addr peer_addr;
	upf_addr local_addr;
	uint32_t session; // whose packets it ends: it leaves behind them
	uint32_t teid;
	uint16_t peer_port;
	uint8_t ohc; // UPF_OHC_GTPU4 or UPF_OHC_GTPU6
	uint8_t qfi; // of a PDU Session Container, 0: none
	uint32_t reserved;
};
static_assert(sizeof(struct upf_end_marker) == 56, "upf_end_marker");

struct upf_echo {
	struct upf_record rec;
	upf_addr peer_addr;
	upf_addr local_addr;
	uint16_t sequence;
	uint8_t ohc; // UPF_OHC_GTPU4 or UPF_OHC_GTPU6
	// The request before had no answer: the peer may have another link-layer address than is known.
	uint8_t repeated;
	uint8_t reserved[4];
};
static_assert(sizeof(struct upf_echo) == 48, "upf_echo");

#define UPF_TRACE_SESSION 0x01u // of `session` only
#define UPF_TRACE_ALL 0x02u     // every packet, those of no session too
struct upf_trace {
	struct upf_record rec;
	uint32_t session;
	uint32_t flags;   // UPF_TRACE_*; 0: stop
	uint32_t packets; // how many at most, over all workers
	uint16_t snap;    // octets of each
	uint16_t reserved;
};
static_assert(sizeof(struct upf_trace) == 24, "upf_trace");

// A upf-u with `redundancy` begins silent: it drops what comes and sends nothing, until it is granted an
// epoch, and again when the grant has ended, whether upf-c lives or not. A grant of an epoch before the
// last one is refused. With UPF_GRANT_FORWARD it forwards what comes and says nothing of its addresses (ARP, Neighbour
// Discovery), not even when it is asked: another upf-u may say that it has them.
#define UPF_GRANT_ALWAYS 0xffffffffffffffffull
#define UPF_GRANT_FORWARD 1u
struct upf_grant {
	struct upf_record rec;
	uint64_t epoch;
	uint64_t until_ns; // CLOCK_BOOTTIME; 0: silent at once; UPF_GRANT_ALWAYS: without an end
	uint32_t flags;    // UPF_GRANT_FORWARD
	uint32_t reserved;
};
static_assert(sizeof(struct upf_grant) == 32, "upf_grant");

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
	upf_addr peer_addr;
	uint32_t teid; // of the tunnel at the peer
	uint8_t ohc;   // UPF_OHC_GTPU4 or UPF_OHC_GTPU6: what peer_addr is
	uint8_t reserved[3];
};
static_assert(sizeof(struct upf_ev_error_ind) == 32, "upf_ev_error_ind");

#define UPF_MAC_GONE 1u  // it is no station of the session any more
#define UPF_MAC_C_TAG 2u // its frames have one
#define UPF_MAC_S_TAG 4u
struct upf_ev_mac {
	struct upf_record rec;
	uint32_t session;
	uint8_t mac[6];
	uint16_t flags; // UPF_MAC_*
	uint16_t c_vid, s_vid;
};
static_assert(sizeof(struct upf_ev_mac) == 24, "upf_ev_mac");

// What packet/detection.h has found: a flow of a UE, or all between it and an address that it has asked for.
#define UPF_FLOW_GONE 1u // it has ended; else there was its first packet
#define UPF_FLOW_IPV6 2u
#define UPF_FLOW_ADDRESS \
	4u // all between `local` and `remote`, where `local` is all zero of any address of the UE's
struct upf_ev_flow {
	struct upf_record rec;
	uint64_t application;
	uint32_t session;
	uint32_t
		instance; // the same at its end as at its begin, and no other's of the session meanwhile
	upf_addr remote, local;
	uint16_t remote_port, local_port;
	uint8_t proto;
	uint8_t flags; // UPF_FLOW_*
	uint16_t reserved;
};
static_assert(sizeof(struct upf_ev_flow) == 64, "upf_ev_flow");

enum upf_stage { // where a packet was when it was traced
	UPF_STAGE_RX = 0,
	UPF_STAGE_LOOKUP = 1,
	UPF_STAGE_PDR = 2,
	UPF_STAGE_QER = 3,
	UPF_STAGE_FAR = 4,
	UPF_STAGE_URR = 5,
	UPF_STAGE_TX = 6,
	UPF_STAGE_DROP = 7,
	UPF_STAGE_BUFFER = 8,
	UPF_STAGE_SHAPER = 9, // it waits for its rate; UPF_STAGE_FAR comes next
};

struct upf_ev_trace {
	struct upf_record rec;
	uint64_t tsc;
	uint64_t packet;  // the same in all events of one packet
	uint32_t session; // UINT32_MAX: none
	uint16_t pdr_id;
	uint8_t stage; // enum upf_stage
	uint8_t port;  // enum upf_port
	uint16_t drop; // UPF_STAGE_DROP: enum upf_drop
	uint16_t worker;
	uint16_t length;   // of the frame
	uint16_t captured; // octets that follow
};
static_assert(sizeof(struct upf_ev_trace) == 40, "upf_ev_trace");

// ---- shared memory -------------------------------------------------------------------------

enum upf_port { // the interfaces of a worker
	UPF_PORT_N3 = 0,
	UPF_PORT_N9 = 1, // where it is configured; else GTP-U of N9 comes by N3
	UPF_PORT_N6 = 2, // of network 0, then those of the others
	UPF_PORTS = 18,
};
static_assert(UPF_PORTS == UPF_PORT_N6 + UPF_NETWORKS, "upf_port");

// Every reason for which a packet does not leave. X(symbol, metric label, help)
#define UPF_DROP_REASONS(X) \
	X(MALFORMED_ETHERNET, "malformed_ethernet", "shorter than its Ethernet header") \
	X(UNKNOWN_ETHERTYPE, "unknown_ethertype", "neither IPv4, IPv6 nor ARP") \
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
	X(BUFFER_RELEASED, "buffer_released", "waiting packet whose session or FAR went away") \
	X(TOO_BIG, "too_big", "does not fit the outgoing MTU") \
	X(NO_NEIGHBOUR, "no_neighbour", "the next hop did not answer ARP") \
	X(NO_ROUTE, "no_route", "no next hop for this destination") \
	X(NO_MBUF, "no_mbuf", "out of packet buffers") \
	X(TX_FULL, "tx_full", "the transmit queue, or the ring to its worker, is full") \
	X(RATE_LIMITED, "rate_limited", "answer to a peer suppressed by its rate limit") \
	X(QUOTA_EXHAUSTED, "quota_exhausted", "the quota of a URR is used up") \
	X(REASSEMBLY_TIMEOUT, "reassembly_timeout", \
		"fragments whose packet did not become whole in time") \
	X(MALFORMED_ND, "malformed_nd", "Neighbour Discovery that cannot be read") \
	X(OTHER_VLAN, "other_vlan", "frame of a VLAN that is not the interface's") \
	X(LINK_LOCAL, "link_local", "link-local packet of a UE that is not Router Solicitation") \
	X(OUTER_HEADER, "outer_header", "Outer Header Removal of the PDR does not fit the packet") \
	X(REDIRECT, "redirect", "the FAR redirects, and this is not HTTP") \
	X(BUFFER_EXPIRED, "buffer_expired", \
		"waited longer than its BAR or the configuration allows") \
	X(MALFORMED_FRAGMENT, "malformed_fragment", \
		"fragment whose length or place in its packet cannot be") \
	X(DUPLICATE_FRAGMENT, "duplicate_fragment", "the same fragment once more") \
	X(OVERLAPPING_FRAGMENT, "overlapping_fragment", \
		"fragments of a packet of which two overlap or contradict each other") \
	X(REASSEMBLY_FULL, "reassembly_full", \
		"fragments that gave way: too many packets of their sender, or of all") \
	X(REASSEMBLY_TOO_BIG, "reassembly_too_big", \
		"fragments of a packet that is too long, or in too many pieces") \
	X(DUPLICATION, "duplication", \
		"copy for Duplicating Parameters that could not be made or did not leave") \
	X(SILENT, "silent", "of a UPF that is not granted its addresses: another one serves them") \
	X(NAT_BLOCK, "nat_block", \
		"to a network instance with NAT44 in which its PDU session has no port block") \
	X(NAT_PORTS, "nat_ports", "all ports of the PDU session's NAT44 block are taken") \
	X(NAT_TABLE, "nat_table", "there are as many NAT44 mappings as there can be") \
	X(NAT_MAPPING, "nat_mapping", \
		"of an address and port, or about one, that no NAT44 mapping has") \
	X(NAT_PROTOCOL, "nat_protocol", "neither TCP, UDP nor what of ICMP NAT44 translates") \
	X(MALFORMED_FRAME, "malformed_frame", \
		"Ethernet frame that is cut short, or comes from a group address") \
	X(BRIDGE_CONTROL, "bridge_control", \
		"Ethernet frame to a group address that bridges do not forward") \
	X(BRIDGE_SAME_SIDE, "bridge_same_side", \
		"Ethernet frame to a station that is where it came from") \
	X(BRIDGE_NO_SESSION, "bridge_no_session", \
		"Ethernet frame to a network instance without a PDU session") \
	X(FLOOD_LIMIT, "flood_limit", "copy of an Ethernet frame to all that was one too many") \
	X(FLOOD_FILTERED, "flood_filtered", \
		"copy of an Ethernet frame to all that no PDR of a PDU session matches")

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
	uint64_t buffered, buffered_released;         // packets in and out of downlink buffers
	uint64_t nd_solicitations, nd_advertisements; // received and consumed
	uint64_t router_solicitations, router_advertisements_sent;
	uint64_t icmp_errors_sent;
	uint64_t fragments_sent, fragments_reassembled; // fragments out; packets made whole
	uint64_t mss_clamped;
	uint64_t duplicated; // copies made for lawful intercept; DUPLICATION: what did not leave
	uint64_t redirected; // HTTP answers
	uint64_t gtpu_echo_requests_sent;
	uint64_t supported_extensions_sent;
	uint64_t traced, trace_lost;
	uint64_t supported_extensions_received;
	uint64_t buffer_waiting;        // packets in downlink buffers now
	uint64_t buffer_waiting_octets; // of the users' packets
	uint64_t shaped;                // packets above an MBR that waited for their time
	uint64_t shaper_waiting;        // those that wait now
	uint64_t nat_mappings;          // NAT44 mappings now
	uint64_t nat_mapped;            // mappings made
	uint64_t detected_now;          // flows, addresses and questions that are kept
	// Flows found to be of an application by their ClientHello, and addresses by DNS
	uint64_t detected_tls, detected_quic, detected_dns;
	uint64_t
		detection_unread; // ClientHellos and Initial packets whose server's name could not be read
	uint64_t detection_full; // what was not kept: no room, for the session or for all
	uint64_t
		detection_limited; // what was not looked at: too many of the session, or of all, in a second
	uint64_t bridge_stations; // MAC addresses that bridges know now
	uint64_t bridge_learned;
	uint64_t bridge_moved; // to another PDU session, or to N6 or from there
	uint64_t bridge_aged;  // silent for too long
	uint64_t bridge_full;  // what was not learned: no room, for the session, for N6 or for all
	uint64_t bridge_flooded;  // frames to all: unknown, multicast and broadcast destinations
	uint64_t bridge_copies;   // of them
	uint64_t bridge_switched; // frames from one PDU session to another
	uint64_t reserved;
};
static_assert(sizeof(struct upf_local_stats) == 384, "upf_local_stats");

struct upf_drop_stats {
	uint64_t reason[UPF_DROPS_MAX]; // by enum upf_drop
};
static_assert(sizeof(struct upf_drop_stats) % 64 == 0, "upf_drop_stats");

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
	// By the interface by which the packet came, or by which it was to leave when it was on its way
	// out already (tx_full, no_neighbour, what upf-u says itself).
	struct upf_drop_stats drops[UPF_PORTS];
};
static_assert(sizeof(struct upf_worker_stats) % 64 == 0, "upf_worker_stats");

// What changes with packets, one cache line a direction: two token buckets (qer_clock.h) and two volume
// counters. QER slot q is tat[q % 2] of pair q / 2, URR slot u is urr[u % 2] of pair u / 2; upf-c
// gives the QERs and URRs of a session the same pairs. Both directions have one writing worker, the
// session's home.
#define UPF_LINE_SLOTS 2u
struct upf_urr_counter {
	uint64_t
		bytes; // inner IP octets forwarded, after QoS enforcement unless UPF_URR_BEFORE_QOS
	uint64_t packets;
	uint64_t look_at; // upf-u's own: the value of bytes at which usage.c has to think
};
struct upf_slot_line {
	uint64_t tat[UPF_LINE_SLOTS];
	struct upf_urr_counter urr[UPF_LINE_SLOTS];
};
static_assert(sizeof(struct upf_slot_line) == 64, "one cache line");
struct upf_slot_pair {
	struct upf_slot_line dir[2]; // by enum upf_direction
};
static_assert(sizeof(struct upf_slot_pair) == 128, "upf_slot_pair");

struct upf_urr_meter { // by URR slot; what was armed. upf-u's own
	uint64_t total, ul, dl;
	uint64_t quota_total, quota_ul, quota_dl;
	uint32_t session;
	uint32_t generation; // changes with each arming
	uint32_t flags;
	uint32_t reserved;
};
static_assert(sizeof(struct upf_urr_meter) == 64, "upf_urr_meter");

struct upf_urr_times { // by URR slot, of those with UPF_URR_TIMED. Milliseconds since upf_shm.tsc_0
	uint32_t first_ms; // first packet since the slot was given out; 0: none yet
	uint32_t last_ms;
	uint32_t active_ms; // time with traffic: gaps count up to the Inactivity Detection Time
	uint32_t inactivity_ms;
};
static_assert(sizeof(struct upf_urr_times) == 16, "upf_urr_times");

// Where upf-u's threads, interfaces and memory lie: NUMA nodes as the kernel numbers them. Written once,
// before upf-u answers HELLO.
#define UPF_NODES_MAX 64u
#define UPF_NODE_NONE 0xffffffffu // belongs to none, or the kernel does not tell

struct upf_thread_place {
	uint32_t cpu;
	uint32_t node;
};
static_assert(sizeof(struct upf_thread_place) == 8, "upf_thread_place");

// What of its frames a NIC hashes, to spread them over the queues of workers.
enum upf_spread {
	UPF_SPREAD_UNKNOWN = 0,  // not configured, or there is one worker
	UPF_SPREAD_SOFTWARE = 1, // nothing: workers hand over what is another one's
	UPF_SPREAD_OUTER = 2,    // outer addresses, and ports
	UPF_SPREAD_UE4 = 3,      // the UE's address, of IPv6 outer addresses
	UPF_SPREAD_UE = 4,       // the UE's address
};

struct upf_port_place {     // by enum upf_port
	uint8_t device[64]; // PCI address or kernel interface, 0-terminated; empty: not configured
	uint8_t driver[32]; // DPDK's name of it, 0-terminated
	uint8_t mac[6];
	uint8_t spread; // enum upf_spread
	uint8_t reserved;
	uint32_t node;
	uint16_t mtu;
	uint16_t vlan; // 0: untagged
};
static_assert(sizeof(struct upf_port_place) == 112, "upf_port_place");

struct upf_topology {
	uint32_t nodes; // of the machine
	uint32_t page;  // octets of a page of the memory
	struct upf_thread_place control;
	struct upf_thread_place worker[UPF_WORKERS_MAX];
	struct upf_port_place port[UPF_PORTS];
	uint64_t memory[UPF_NODES_MAX]; // octets of packet buffers, rules and counters
	uint64_t memory_unknown;        // octets of them whose node the kernel does not tell
	uint64_t pool[UPF_NODES_MAX];   // octets of the packet buffers among them
};
static_assert(sizeof(struct upf_topology) == 3576, "upf_topology");

// The link of an interface, written by the control thread, which looks every UPF_LINK_LOOK_MS.
#define UPF_LINK_LOOK_MS 500u
enum upf_link {
	UPF_LINK_UNKNOWN = 0, // not configured, or not looked at yet
	UPF_LINK_UP = 1,
	UPF_LINK_DOWN = 2, // no carrier, or the device is gone
};
struct upf_link_state {  // [UPF_PORTS]
	uint64_t state;  // enum upf_link
	uint64_t downs;  // how often it went down
	uint64_t since;  // TSC of the last change; 0: as it was at the start
	uint64_t missed; // frames that came and found no room, in the NIC or in the kernel's ring
};
static_assert(sizeof(struct upf_link_state) == 32, "upf_link_state");

// Where an interface has two gateways of one IP version, they are asked all the time, and this is what is known
// of each, written by the first worker.
#define UPF_GATEWAYS 4u // of an interface: two of IPv4, two of IPv6
enum upf_gateway {
	UPF_GATEWAY_UNKNOWN = 0, // not one of two, or not asked often enough yet
	UPF_GATEWAY_ANSWERS = 1,
	UPF_GATEWAY_SILENT = 2,
};
struct upf_gateway_state { // [UPF_PORTS][UPF_GATEWAYS]
	uint64_t state;    // enum upf_gateway
	uint64_t losses;   // how often it ceased to answer
	uint64_t since;    // TSC of the last change; 0: none yet
	upf_addr address;  // all zero: it is not one of two
};
static_assert(sizeof(struct upf_gateway_state) == 40, "upf_gateway_state");

struct upf_shm { // head of the segment; offsets are from its start
	uint32_t magic;
	uint32_t version;
	uint64_t boot_id;
	uint64_t tsc_hz;
	uint64_t workers_offset; // struct upf_worker_stats[workers]
	uint64_t pairs_offset;   // struct upf_slot_pair[pairs]
	uint32_t workers;
	uint32_t pairs;           // qer_slots and urr_slots are UPF_LINE_SLOTS times as many
	uint64_t sessions;        // present now
	uint64_t meters_offset;   // struct upf_urr_meter[urr_slots]
	uint64_t times_offset;    // struct upf_urr_times[urr_slots]
	uint64_t tsc_0;           // TSC when the segment was made
	uint64_t rules_octets;    // of compiled rules
	uint64_t topology_offset; // struct upf_topology; 0: not told
	uint64_t groups_offset;   // struct upf_drop_stats[workers][UPF_GROUPS]: the same by group
	uint64_t links_offset;    // struct upf_link_state[UPF_PORTS]
	uint64_t gateways_offset; // struct upf_gateway_state[UPF_PORTS][UPF_GATEWAYS]; 0: not told
	uint64_t reserved;
};
static_assert(sizeof(struct upf_shm) == 128, "upf_shm");

#endif
