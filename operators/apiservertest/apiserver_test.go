package apiservertest

import (
	"os"
	"regexp"
	"testing"

	"core5g.dev/core5g/hack/repository"
)

func TestNamesAreThoseOfTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile(repository.Path(t, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	chosen := regexp.MustCompile(`(?m)^INTEGRATION +:= (.+)$`).FindSubmatch(makefile)
	if chosen == nil || string(chosen[1]) != named.String() {
		t.Errorf("the Makefile has %q, Start lets through %s", chosen, named)
	}
}
