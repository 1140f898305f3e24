// GTP-U (TS 29.281) and its PDU Session Container (TS 38.415): the layouts that rte_gtp.h lacks.
#ifndef UPFU_GTPU_HEADER_H
#define UPFU_GTPU_HEADER_H

#include <assert.h>
#include <stdint.h>

#include <rte_gtp.h>
#include <rte_ip.h>
#include <rte_udp.h>

#define GTPU_PORT 2152u
#define GTPU_VERSION_1 0x30u // version 1, protocol type GTP
#define GTPU_FLAG_E 0x04u    // the next extension header type is there
#define GTPU_FLAG_S 0x02u    // the sequence number is there
#define GTPU_FLAG_PN 0x01u   // the N-PDU number is there

enum gtpu_type { // TS 29.281 6.1
	GTPU_ECHO_REQUEST = 1,
	GTPU_ECHO_RESPONSE = 2,
	GTPU_ERROR_INDICATION = 26,
	GTPU_SUPPORTED_EXTENSIONS = 31,
	GTPU_END_MARKER = 254,
	GTPU_G_PDU = 255,
};

enum gtpu_ie { // TS 29.281 8.1
	GTPU_IE_RECOVERY = 14,
	GTPU_IE_TEID_DATA_I = 16,
	GTPU_IE_PEER_ADDRESS = 133,
	GTPU_IE_EXTENSION_TYPES = 141,
};

enum gtpu_extension { // TS 29.281 5.2.1, figure 5.2.1-3
	GTPU_EXT_NONE = 0x00,
	GTPU_EXT_LONG_PDCP = 0x03,
	GTPU_EXT_SERVICE_CLASS = 0x20,
	GTPU_EXT_UDP_PORT = 0x40,
	GTPU_EXT_RAN_CONTAINER = 0x81,
	GTPU_EXT_LONG_PDCP_REQUIRED = 0x82,
	GTPU_EXT_XW_RAN_CONTAINER = 0x83,
	GTPU_EXT_NR_RAN_CONTAINER = 0x84,
	GTPU_EXT_PDU_SESSION_CONTAINER = 0x85,
	GTPU_EXT_PDCP = 0xc0,
};
#define GTPU_EXT_REQUIRED 0x80u // figure 5.2.1-2: the endpoint must comprehend it

struct gtpu_udp_port { // extension header, TS 29.281 5.2.2.1
	uint8_t units; // 1
	rte_be16_t port;
	uint8_t next;
} __attribute__((packed));
static_assert(sizeof(struct gtpu_udp_port) == 4, "one unit");

#define GTPU_PSC_QFI 0x3fu // TS 38.415 5.5.2, third octet of the extension header
#define GTPU_PSC_RQI 0x40u // downlink only
#define GTPU_PSC_PPP 0x80u // downlink only: another unit has the Paging Policy Indicator

// PDU Session Container without optional fields: one unit of four octets.
struct gtpu_psc {
	uint8_t units; // 1
	uint8_t type;  // PDU type in the high nibble: 0 DL, 1 UL
	uint8_t qfi;   // six bits
	uint8_t next;  // extension header type, 0: none
};
static_assert(sizeof(struct gtpu_psc) == 4, "one unit");

#endif
