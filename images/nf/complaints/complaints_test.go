package complaints

import (
	"fmt"
	"testing"
	"time"
)

func TestComplaints(t *testing.T) {
	var c Complaints
	now := time.Unix(1_800_000_000, 0)
	const what, away, refused = "the UDM does not take the AMF", "unsent", "UNKNOWN_5GS_SUBSCRIPTION"
	for n, x := range []struct {
		cause string
		later time.Duration
		tell  bool
		more  int
	}{
		{away, 0, true, 0},
		{away, time.Second, false, 0},
		{away, time.Second, false, 0},
		{refused, 0, true, 0}, // another cause
		{away, every, true, 2},
		{away, every, true, 0},
	} {
		now = now.Add(x.later)
		if tell, more := c.About(now, what, x.cause); tell != x.tell || more != x.more {
			t.Errorf("%d: told %t, %d more, want %t, %d", n, tell, more, x.tell, x.more)
		}
	}
	for n := range 3 * mostCauses {
		c.About(now, "the UDM", fmt.Sprint(n))
	}
	if len(c.made) > mostCauses+1 {
		t.Errorf("%d causes are told apart", len(c.made))
	}
}
