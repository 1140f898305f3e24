// End Markers that go on from tunnel to tunnel.
#ifndef UPFU_END_MARKER_H
#define UPFU_END_MARKER_H

struct pkt;
struct worker;

// Of a session that was found: PKT_TAKEN, and it leaves with end_markers_leave() where its tunnel goes on.
int end_marker_take(struct worker *w, struct pkt *p);
// After the packets of the burst that it came with.
void end_markers_leave(struct worker *w);

#endif
