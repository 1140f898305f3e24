//go:build !race

package agent_test

const slower = 1
