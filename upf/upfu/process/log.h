// Structured logs to stderr, one line each: time, level, message, key=value pairs. For the control
// thread and the start; workers never log, they count.
#ifndef UPFU_LOG_H
#define UPFU_LOG_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define log_info(message, ...) log_line("info", message, __VA_ARGS__)
#define log_warning(message, ...) log_line("warning", message, __VA_ARGS__)
#define log_error(message, ...) log_line("error", message, __VA_ARGS__)

__attribute__((format(printf, 3, 4))) static inline void
log_line(const char *level, const char *message, const char *format, ...)
{
	char pairs[512], stamp[32];
	struct timespec now;
	struct tm utc;
	__builtin_va_list args;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	__builtin_va_start(args, format);
	vsnprintf(pairs, sizeof(pairs), format, args);
	__builtin_va_end(args);
	fprintf(stderr, "time=%s.%03ldZ level=%s msg=\"%s\" %s\n", stamp, now.tv_nsec / 1000000,
		level, message, pairs);
}

// For what somebody else may cause as often as he likes.
struct log_limit {
	time_t second;
	unsigned n;    // in that second
	unsigned kept; // since the last one that was logged
};
#define LOG_LIMIT 20u // a second

// May it be logged? Then *kept is how many were not.
static inline bool
log_within(struct log_limit *limit, time_t now, unsigned *kept)
{
	if (now != limit->second)
		*limit = (struct log_limit){.second = now, .kept = limit->kept};
	if (limit->n == LOG_LIMIT) {
		limit->kept++;
		return false;
	}
	limit->n++;
	*kept = limit->kept;
	limit->kept = 0;
	return true;
}

#endif
