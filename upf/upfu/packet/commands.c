#include "packet/commands.h"

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "packet/buffer.h"
#include "packet/gtpu.h"
#include "packet/message.h"
#include "packet/trace.h"
#include "packet/usage.h"
#include "packet/worker_state.h"

#define COMMANDS_PER_POLL 8u // each may touch cold memory, and packets wait meanwhile

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
			urr_look(w, command.session, command.slot);
			break;
		}
		n++;
	}
	return n;
}
