#include "packet/events.h"

#include <unistd.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "packet/message.h"
#include "packet/worker_state.h"

bool
worker_raise(struct worker *w, const struct event *event)
{
	if (rte_ring_sp_enqueue_elem(w->events, (void *)(uintptr_t)event, sizeof(*event)) != 0)
		return false;
	w->events_raised = true;
	return true;
}

// The control thread sleeps in epoll_wait: one system call wakes it, only when there is news.
void
worker_wake_control(struct worker *w)
{
	uint64_t one = 1;

	w->events_raised = false;
	// Sequentially consistent: pairs with the control thread, which sets the flag and then looks at
	// the rings once more. Either it sees the event or this sees the flag.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(w->control_waits, 0, __ATOMIC_SEQ_CST) != 0 &&
		write(w->wake_fd, &one, sizeof(one)) < 0)
		w->events_raised = true; // try again after the next poll
}
