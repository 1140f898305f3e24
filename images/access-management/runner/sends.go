package runner

import (
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
)

// sends are what was sent last: a NotSent names one of them. Numbers begin at random: what the pod has sent as the shard's holder before is not taken for ours.
type sends struct {
	// next is the number of the one that is sent next, that of list[0] is next less the length of the list.
	next uint64
	list []sent
}

type sent struct {
	procedure.Send
	at time.Time
}

const (
	// mostSends are remembered: more than a terminator has not said anything of.
	mostSends = 4096
	// sendsFor is how long they are. A terminator says at once what it does not send, so that what is older was sent, or will not be heard of.
	sendsFor = 30 * time.Second
)

func (s *sends) add(e procedure.Send, now time.Time) uint64 {
	s.forget(now)
	if len(s.list) >= mostSends {
		s.drop(1)
	}
	s.list = append(s.list, sent{e, now})
	s.next++
	return s.next - 1
}

// take the one of that number, once.
func (s *sends) take(number uint64) (e procedure.Send, is bool) {
	n := number - (s.next - uint64(len(s.list)))
	if n >= uint64(len(s.list)) || s.list[n].at.IsZero() {
		return e, false
	}
	e = s.list[n].Send
	s.list[n] = sent{}
	return e, true
}

// takeAll that went to a terminator and are such, once.
func (s *sends) takeAll(terminator string, such func(procedure.Send) bool) (out []procedure.Send) {
	for n := range s.list {
		if e := s.list[n].Send; e.To.Terminator == terminator && such(e) {
			s.list[n] = sent{}
			out = append(out, e)
		}
	}
	return out
}

// forget those that nobody will say anything of. Messages are most of what a worker would keep in memory otherwise.
func (s *sends) forget(now time.Time) {
	n := 0
	for n < len(s.list) && now.Sub(s.list[n].at) >= sendsFor {
		n++
	}
	s.drop(n)
}

func (s *sends) drop(n int) {
	clear(s.list[:n])
	if s.list = s.list[n:]; len(s.list) == 0 {
		s.list = nil
	}
}
