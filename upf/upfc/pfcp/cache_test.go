package pfcp

import (
	"bytes"
	"net/netip"
	"testing"
	"time"
)

var smf = netip.MustParseAddrPort("10.0.0.1:8805")

func TestAnswersAreKeptForTheirTime(t *testing.T) {
	c := newResponseCache(time.Minute, 1<<20)
	start := time.Now()
	c.clock = func() time.Time { return start.Add(5 * time.Second) } // it takes its time
	name := c.name(smf, []byte("request"))
	want := func(what verdict, answer string, at time.Time) {
		t.Helper()
		v, b := c.begin(name, at)
		if v != what || string(b) != answer {
			t.Fatalf("verdict %d with %q, want %d with %q", v, b, what, answer)
		}
	}
	want(isNew, "", start)
	want(isRunning, "", start)
	c.finish(name, []byte("ans"), []byte("wer"), start)
	want(isOnItsWay, "", start.Add(3*time.Second)) // came while the answer was being made, is read after it
	want(isOnItsWay, "", start.Add(5*time.Second-1))
	want(isAnswered, "answer", start.Add(5*time.Second)) // every copy from then on
	want(isAnswered, "answer", start.Add(5*time.Second+1))
	want(isAnswered, "answer", start.Add(time.Minute))
	want(isNew, "", start.Add(time.Minute+1))
	c.finish(name, nil, nil, start) // none was sent
	want(isNew, "", start)
}

func TestRequestsAreToldApart(t *testing.T) {
	c := newResponseCache(time.Minute, 1<<20)
	names := map[uint64]bool{}
	for _, from := range []string{"10.0.0.1:8805", "10.0.0.1:8806", "10.0.0.2:8805"} {
		for _, request := range []string{"a", "b"} {
			names[c.name(netip.MustParseAddrPort(from), []byte(request))] = true
		}
	}
	if len(names) != 6 {
		t.Errorf("%d names of 6 requests", len(names))
	}
}

// However many requests come, answers do not take more memory than they may; the oldest ones go.
func TestAnswersAreBounded(t *testing.T) {
	const limit = 4 * pieceSize
	c := newResponseCache(time.Hour, limit)
	now := time.Now()
	answer := bytes.Repeat([]byte("x"), 100)
	const n = 10_000
	for i := range uint64(n) {
		if v, _ := c.begin(i, now); v != isNew {
			t.Fatalf("request %d: verdict %d", i, v)
		}
		c.finish(i, answer, nil, now)
	}
	held := 0
	for _, p := range c.pieces {
		held += cap(p.b)
	}
	if held > limit {
		t.Errorf("%d octets of answers, want at most %d", held, limit)
	}
	if v, _ := c.begin(n-1, now.Add(time.Second)); v != isAnswered {
		t.Error("the last answer is gone")
	}
	if v, _ := c.begin(0, now.Add(time.Second)); v != isNew {
		t.Error("the first answer is still there")
	}
	if want := held / (len(answer) + answerHead); len(c.answers) > want {
		t.Errorf("%d answers are known, there is room for %d", len(c.answers), want)
	}
}

func TestAnAnswerBiggerThanAPiece(t *testing.T) {
	c := newResponseCache(time.Hour, 4*pieceSize)
	now := time.Now()
	big := bytes.Repeat([]byte("y"), pieceSize+1)
	c.begin(1, now)
	c.finish(1, big[:16], big[16:], now)
	if v, b := c.begin(1, now.Add(time.Second)); v != isAnswered || !bytes.Equal(b, big) {
		t.Errorf("verdict %d with %d octets", v, len(b))
	}
}
