package agent_test

import (
	"testing"

	"core5g.dev/core5g/hack/floors"
)

// Nothing below the agent imports what is above or beside it: who reports knows nothing of requests, and neither of who fills a upf-u.
func TestImportsGoDown(t *testing.T) {
	floors.Check(t, "core5g.dev/core5g/upf/upfc/agent", [][]string{
		{"addresses", "applications", "link", "node", "pace", "peers", "store"},
		{"leases"},
		{"reports"},
		{"sessions"},
		{"filling"},
	})
}
