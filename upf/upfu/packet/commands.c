#include "packet/commands.h"

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "packet/bridge.h"
#include "packet/buffer.h"
#include "packet/detection.h"
#include "packet/gtpu.h"
#include "packet/message.h"
#include "packet/trace.h"
#include "packet/usage.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

#define COMMANDS_PER_POLL 8u // each may touch cold memory, and packets wait meanwhile

// Commands of sessions that have ended since may still be in the ring: the slot may be another session's by now, and
// the index one's that has another home.
static void
look(struct worker *w, uint32_t session, uint32_t slot)
{
	const struct part *part = session_current(w->sessions, session, UPF_UL);

	// Relaxed: whoever gets a slot has his session in it before it has rules, and those before wait for this poll.
	if (part != NULL && part->home == w->index &&
		__atomic_load_n(&w->slots.meter[slot].session, __ATOMIC_RELAXED) == session)
		urr_look(w, session, slot);
}

unsigned
worker_take_commands(struct worker *w)
{
	struct command command;
	unsigned n = 0;

	while (n < COMMANDS_PER_POLL &&
		rte_ring_sc_dequeue_elem(w->commands, &command, sizeof(command)) == 0) {
		switch ((enum command_op)command.op) {
		case COMMAND_RULES_CHANGED:
			buffer_rules_changed(w, command.session);
			break;
		case COMMAND_DROP_BUFFERED:
			buffer_forget(w, command.session);
			break;
		case COMMAND_END_MARKER:
			gtpu_send_end_marker(w, &command.end_marker);
			break;
		case COMMAND_ECHO:
			gtpu_send_echo(w, &command.echo);
			break;
		case COMMAND_TRACE:
			trace_take_order(w, &command);
			break;
		case COMMAND_URR_LOOK:
			look(w, command.session, command.slot);
			break;
		case COMMAND_SHOW_DETECTED:
			detection_show(w, command.session, command.from);
			break;
		case COMMAND_STATION:
			bridge_know(w, &command.station);
			break;
		}
		n++;
	}
	return n;
}
