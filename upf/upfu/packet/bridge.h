// An Ethernet network instance of N6 is a bridge (IEEE 802.1Q, TS 23.501 5.6.10.2): N6 is one side of it, and each Ethernet
// PDU session of the network instance is another. What a UE's frame has as its source is a station of the session, and is
// looked for there.
//
// One worker has all of a bridge: what comes by N6 is handed to it, and it is the home of the bridge's sessions, whatever
// their index is (compile.c, home.h). So the table of stations has one writer and one reader, and a copy for every
// session is made without a hand-off. A bridge is as fast as one worker; another one may be another worker's.
//
// - A station is a MAC address in a VLAN, that of the outer tag. It ages, by the Ethernet Inactivity Timer of its session's
//   URRs or as configured, and it moves to where it was heard last. N6 has half of the table at most, and a session as many
//   as are configured; what finds no room is not learned, counted (bridge_full), and found by asking everywhere.
// - A frame to all (broadcast, multicast, a destination that is not known) goes to N6 and to the sessions, but for where it
//   came from; what comes from a session goes to other sessions only with `ue_to_ue: allow`. There are `copies` of it
//   at most; the sessions begin with another one each time. Each copy goes the way of any frame to its session: PDRs,
//   QERs, FAR, URRs.
// - Group addresses that bridges keep to themselves (802.1Q 8.6.3) are not forwarded. No frame is looked at beyond what
//   its PDRs ask for: ARP and Neighbour Discovery are frames.
//
// upf-c hears of each station that comes, moves or goes (EV_MAC), and a new upf-c of all. With upf-u the table goes: upf-c tells
// the next one, or that of a standby which takes over, which stations sessions had (UPF_REC_STATION); N6's are learned anew.
#ifndef UPFU_BRIDGE_H
#define UPFU_BRIDGE_H

#include <stdint.h>

struct bridge;
struct pkt;
struct session_table;
struct upf_ev_mac;
struct worker;

// In struct pkt: keys of what came by an Ethernet N6, of a session once it is known. No IPv4 address, and no block of NAT44,
// is such a key. The lower bits are the network's bucket (home.h), or the session.
#define BRIDGE_KEY_SESSION (UINT64_C(1) << 63)
#define BRIDGE_KEY (UINT64_C(3) << 62)

// Those bridges that are this worker's.
int bridge_init(struct worker *w);
void bridge_free(struct worker *w);
void bridge_tick(struct worker *w);
// upf-c knows of this station. From now on its silence counts. Where another one has been heard since, or there is no room for it,
// upf-c is told that it is gone.
void bridge_know(struct worker *w, const struct upf_ev_mac *known);

// A frame has come by N6, with the interface's own VLAN tag or without. PKT_NEXT with a key, or a verdict.
int bridge_receive(struct worker *w, struct pkt *p);
// The same at home: PKT_NEXT with the part of the session that has its destination, or a verdict.
int bridge_from_n6(struct worker *w, struct pkt *p);
// A frame of a session leaves by N6, as its rules say. A verdict.
int bridge_from_session(struct worker *w, struct pkt *p);

#endif
