// Application detection by domain (TS 29.244 5.2.1A.4; TS 29.551 PFDs with domain names): which packets of a session are of
// an application that is known by domain names.
//
// A PDR with such an application matches packets of which that was detected (tss.h: a bit of the flow for each application of
// the session). Until then, and where nothing tells, packets are those of PDRs of lower precedence. What tells:
//
//	TLS   the server's name in the ClientHello of a TCP connection that the UE opens, on any port (tls_hello.h). Its packet
//	      is of the application already, and so are all that follow, both ways. It may take several segments, of which the first
//	      has to come first.
//	QUIC  the same in Initial packets of version 1 and 2 (quic_initial.h), which it may take several of.
//	DNS   the answer to a question for addresses that the UE asked of a resolver on UDP port 53 (dns_message.h): all packets
//	      between the UE and such an address are of the application, while its time to live lasts and, after that, while
//	      packets come. The name that was asked for counts, not its aliases.
//
// State. Each worker has a table of what was detected for the sessions that are at home with it: flows, addresses and questions
// that wait for their answers, all of one form and found by a hash of what they are about, with a secret. It alone writes and
// reads it. What was not detected has no entry. An entry has the applications by their numbers, so that it outlives new rules
// of the session: the bits of PDRs are made anew when its list of applications is another one. An application that is
// described anew is detected by its new domains from then on; what was detected before stays. ClientHellos in pieces wait in
// HELLOS places, five seconds at most; where none is free the oldest one goes, a session's own where it has HELLOS_OF_SESSION.
//
// Bounds. limits.detected entries over all workers, made when upf-c first sends domains. Of those a session has a sixteenth
// at most, and at least DETECTED_LEAST (sessions are counted by a hash, some together where there are thousands). Entries end: a connection a while after FIN or RST, or an hour after its last packet; UDP
// after two minutes; a question after ten seconds. detection_tick() gives them back, a part of the table at a time.
//
// Attackers. A UE can make the UPF believe of its own packets what it likes: a ClientHello may name one server and go to
// another, as with any detection by name. What it cannot:
//	- touch other sessions: entries are a session's own, and so are answers;
//	- have others' answers believed: one must come from the address and port that was asked, to the port that asked, with the
//	  question's number and name, within ten seconds, once. Whoever else sends to the UE has 2^32 to guess, as with its resolver;
//	- fill the table for others, or take the worker's time: above SESSION_LOOKS pieces of ClientHellos and questions a second a
//	  session's are not looked at any more, and a worker decrypts WORKER_QUIC packets a second at most. All of it is counted:
//	  detection_limited, detection_full.
//
// What is lost. A new upf-u, a standby that takes over and a session that another worker serves begin without: connections that
// were detected before are of no application from then on (but those whose addresses are asked for again). Nothing else
// depends on it.
//
// Cost. Sessions without such an application pay nothing: bursts in which there is none run the code that they ran (pdr_burst()).
// Others look twice in the table for each packet.
#ifndef UPFU_DETECTION_H
#define UPFU_DETECTION_H

#include <stdint.h>

#include "upf_abi.h"

struct pkt;
struct worker;

// The control thread, before there are domains. ENOMEM: out of memory, or OpenSSL does not work. What is there stays.
int detection_prepare(struct worker *w);
void detection_free(struct worker *w);
void detection_tick(struct worker *w);

// The applications of the session that the packet is of, a bit for each in the order of part_applications. It is a whole packet
// or a first fragment; its part has PART_DOMAINS. What it tells is learned.
uint32_t detection_look(struct worker *w, struct pkt *p, enum upf_direction direction);

// For a human: adds a piece of what there is of a session, from an entry on (1: the first piece), to detection.view.
void detection_show(struct worker *w, uint32_t session, uint32_t from);

#endif
