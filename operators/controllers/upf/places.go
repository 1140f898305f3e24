package upf

import (
	"strconv"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// places is where units are, as kubectl's columns show it, one word for each.
func places(units []api.UnitStatus) string {
	words := make([]string, 0, len(units))
	for _, u := range units {
		word := u.Node
		switch {
		case word == "":
			word = "-"
		case u.Cell != nil:
			word += "/" + strconv.Itoa(int(*u.Cell))
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
