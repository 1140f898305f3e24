package controllers

import (
	"testing"

	"core5g.dev/core5g/hack/floors"
)

// No kind's controller imports another's, and nothing below imports a kind's.
func TestImportsGoDown(t *testing.T) {
	floors.Check(t, "core5g.dev/core5g/operators/controllers", [][]string{
		{"asking", "cluster", "conditions", "metrics", "workloads"},
		{"applying"},
		{"certifying"},
		{"core", "slice", "subscriber", "upf"},
	}, "controllertest", "managertest")
}
