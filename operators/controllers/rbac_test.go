package controllers

import (
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// usedRights are the rights that requests needed, as "verb group/resource".
type usedRights struct {
	mu   sync.Mutex
	seen sets.Set[string]
}

func (u *usedRights) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		u.mu.Lock()
		if u.seen == nil {
			u.seen = sets.New[string]()
		}
		u.seen.Insert(rightsOf(r)...)
		u.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// rightsOf names the rights that a request needs, as the API server would; discovery needs none. An apply
// of an object that is not there needs the right to create it too.
func rightsOf(r *http.Request) []string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return nil
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "get",
	}[r.Method]
	if verb == "get" && len(parts) == 1 {
		verb = "list"
		if r.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	resource := parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	what := " " + group + "/" + resource
	if r.Header.Get("Content-Type") == string(types.ApplyPatchType) {
		return []string{verb + what, "create" + what}
	}
	return []string{verb + what}
}

// unseen are rights that the operator has and that no test makes use of, each with its reason.
var unseen = map[string]string{
	"get coordination.k8s.io/leases":            "leader election, which runs with the operator's program alone, and members of units",
	"update coordination.k8s.io/leases":         "leader election",
	"update core5g.dev/core5gs/finalizers":      "owner references with blockOwnerDeletion, where that admission plug-in is on",
	"update core5g.dev/slices/finalizers":       "as above",
	"update core5g.dev/upfinstances/finalizers": "as above",
	"delete /secrets":                           "a configuration that no longer holds a password, when the database becomes Embedded again",
	"create /events":                            "events are written in the background, when the test may be over",
	"patch /events":                             "an event that happens again",
}

// compare holds what the controllers did against the rights that the chart gives them: everything they did
// must be granted, and everything granted must have been of use.
func (u *usedRights) compare(t *testing.T) {
	if t.Failed() {
		return // a test that stopped early has not used everything
	}
	granted := sets.New[string]()
	raw, err := os.ReadFile(filepath.Join("..", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(raw), "\n---\n") {
		role := &rbacv1.ClusterRole{} // a Role has the same fields
		if err := yaml.Unmarshal([]byte(doc), role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted.Insert(verb + " " + group + "/" + resource)
					}
				}
			}
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, right := range slices.Sorted(maps.Keys(u.seen.Difference(granted))) {
		t.Errorf("the controllers need %q, which rbac.go does not grant", right)
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // nor have those that somebody chose
	}
	for _, right := range slices.Sorted(maps.Keys(granted.Difference(u.seen))) {
		if unseen[right] == "" {
			t.Errorf("rbac.go grants %q, which nothing makes use of: take it away, or say in unseen what it is for", right)
		}
	}
	for _, right := range slices.Sorted(maps.Keys(unseen)) {
		if !granted.Has(right) {
			t.Errorf("unseen speaks of %q, which is not granted", right)
		}
	}
}
