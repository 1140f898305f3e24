//go:build race

package agent_test

// slower is by how much the race detector stretches what is timed.
const slower = 10
