#include "sleep.h"

#include <time.h>

#include <rte_pause.h>
#include <rte_rcu_qsbr.h>

#include "worker.h"

#define POLLS_BEFORE_SLEEP 64u

void
sleep_init(struct sleeper *sleeper, uint32_t max_us)
{
	*sleeper = (struct sleeper){.max_us = max_us, .next_us = 1};
}

void
sleep_after_empty_poll(struct worker *w)
{
	struct sleeper *s = &w->sleeper;
	struct timespec ts;

	if (s->max_us == 0 || (s->empty_polls < POLLS_BEFORE_SLEEP && !w->shares_cpu)) {
		s->empty_polls++;
		rte_pause();
		return;
	}
	ts = (struct timespec){.tv_nsec = (long)s->next_us * 1000};
	rte_rcu_qsbr_thread_offline(w->sessions->qsbr, w->index);
	nanosleep(&ts, NULL);
	rte_rcu_qsbr_thread_online(w->sessions->qsbr, w->index);
	s->next_us = s->next_us * 2 < s->max_us ? s->next_us * 2 : s->max_us;
}
