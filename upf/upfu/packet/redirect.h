// Redirection (TS 29.244 5.2.3, 8.2.20): the FAR has a URL, and a UE that opens a web page gets it as
// the answer.
//
// The answerer keeps nothing: it is the server of every TCP connection to port 80, and what it needs
// to know of a connection stands in each of its segments. Its initial sequence number is that of the
// UE, so that the first segment with data is the one whose sequence and acknowledgement numbers are
// the same. SYN is answered with SYN and ACK, the request with the redirection and FIN, whatever
// comes afterwards with ACK. Nobody but the UE itself could be fooled by numbers that can be guessed.
//
// An answer enters like a packet from N6 (own_packets.h): the session's downlink rules decide its
// way.
#ifndef UPFU_REDIRECT_H
#define UPFU_REDIRECT_H

struct pkt;
struct worker;

// A packet whose PDR has PDR_REDIRECT. Returns PKT_TAKEN or a drop reason.
int redirect_packet(struct worker *w, struct pkt *p);

#endif
