package runner

import (
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// What was sent is remembered for a while, and a while only.
func TestSends(t *testing.T) {
	at := func(n int) procedure.Send { return procedure.Send{To: record.Attachment{AMF: uint64(n)}} }
	began := time.Unix(1e9, 0)
	s := sends{next: ^uint64(0) - 1} // numbers go on behind the last
	var numbers []uint64
	for n := range 5 {
		numbers = append(numbers, s.add(at(n), began.Add(time.Duration(n)*time.Second)))
	}
	take := func(n int, want bool) {
		t.Helper()
		e, is := s.take(numbers[n])
		if is != want || is && e.To.AMF != uint64(n) {
			t.Errorf("%d is %v, %t, want %t", n, e.To, is, want)
		}
	}
	take(3, true)
	take(3, false)
	s.forget(began.Add(sendsFor + time.Second))
	take(0, false)
	take(1, false)
	take(2, true)
	take(4, true)
	if _, is := s.take(numbers[4] + 1); is {
		t.Error("one that comes is taken")
	}
	if s.forget(began.Add(time.Hour)); s.list != nil {
		t.Errorf("%d are remembered for ever", len(s.list))
	}
	for n := range mostSends + 10 {
		numbers = append(numbers, s.add(at(n), began))
	}
	if len(s.list) != mostSends {
		t.Errorf("%d are remembered", len(s.list))
	}
	if _, is := s.take(numbers[len(numbers)-mostSends]); !is {
		t.Error("the oldest of them is not")
	}
}
