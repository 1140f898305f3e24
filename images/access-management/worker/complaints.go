package worker

import (
	"fmt"
	"log/slog"
	"time"
)

// complain of a function that has not done what it was asked. What is not told now is there at level debug.
func (s *Shard) complain(what string, err error, args ...any) {
	got, cause := outcome(err)
	if cause == "" {
		cause = fmt.Sprint(got)
	}
	tell, more := s.pod.complaints.About(time.Now(), what, cause)
	level := slog.LevelDebug
	if tell {
		level = slog.LevelWarn
	}
	args = append(args, "err", err)
	if more > 0 {
		args = append(args, "more", more)
	}
	s.log.Log(s.ctx, level, what, args...)
}
