package n2

import (
	"testing"

	"core5g.dev/core5g/images/ngapcause"
)

func TestCauseOf(t *testing.T) {
	c := ngapcause.UserInactivity
	for name, x := range map[string]struct {
		message Message
		says    bool
	}{
		"a release":                     {&UEContextReleaseCommand{Cause: c}, true},
		"an error":                      {&ErrorIndication{Cause: &c}, true},
		"an error without":              {&ErrorIndication{}, false},
		"a message that has none":       {&InitialContextSetupRequest{}, false},
		"a request with another's name": {&InitialUEMessage{}, false},
		"none":                          {nil, false},
	} {
		if got, says := CauseOf(x.message); says != x.says || says && got != c {
			t.Errorf("%s: %v, %t", name, got, says)
		}
	}
}
