package integration

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// What the operator takes for enough memory is enough for upf-u's tables, to which it adds what its rules take: upf-u begins with the least that
// spec.sessions lets anybody write, less 512 octets of rules a session, and has room for as many.
func TestIntegrationMemoryOfSessions(t *testing.T) {
	const sessions, least, less = 400_000, "464Mi", "448Mi"
	upf := &api.UPFInstance{}
	upf.Spec.Sessions = sessions
	for amount, want := range map[string]bool{least: true, less: false} {
		upf.Spec.Hugepages.Amount = ptr.To(resource.MustParse(amount))
		if problem := specs.MemoryProblem(upf, nil); (problem == nil) != want {
			t.Fatalf("with %s of hugepages: %+v", amount, problem)
		}
	}
	upf.Spec.Hugepages.Amount = ptr.To(resource.MustParse(least))
	var written struct {
		Memory int64
		Limits struct {
			SessionsMax int64 `json:"sessions_max"`
		}
	}
	if err := yaml.Unmarshal([]byte(specs.UPFUnit(upf, nil, specs.Platform{}, 0, "10.96.1.3").Config.Data["upf-u.yaml"]), &written); err != nil {
		t.Fatal(err)
	}
	if written.Limits.SessionsMax != sessions || written.Memory != 464 {
		t.Fatalf("upf-u.yaml has %+v", written)
	}

	r := newRig(t)
	r.upfc.kill()
	r.upfu.kill()
	text, err := os.ReadFile(r.path("upf-u.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Without hugepages the slots, 288 octets a session, lie beside this memory.
	memory := written.Memory - (288+512)*sessions>>20
	r.file("upf-u.yaml", strings.NewReplacer("memory: 128", "memory: "+strconv.FormatInt(memory, 10), "sessions_max: 4096", "sessions_max: "+strconv.FormatInt(sessions, 10)).Replace(string(text)))
	r.startUPFU()
	r.startUPFC()
	for _, want := range []string{`upf_table_limit{table="sessions"} 400000`, `upf_table_limit{table="slot_pairs"} 400000`} {
		r.await(time.Minute, want, func() bool { return slices.Contains(r.metrics(), want) })
	}
}
