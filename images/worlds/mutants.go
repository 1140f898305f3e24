package worlds

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Mutation is a fault that somebody could make: a text of a file beside the simulation's folder, and what stands there instead. The worlds must find it
// within so many seeds, or nothing says that they would find it in earnest.
type Mutation struct {
	Name, File, From, To string
	Seeds                int
	// Want is in what the checker says, where only one answer makes sense.
	Want string
	// Unseen says why the worlds do not find it.
	Unseen string
}

func (m *Mutation) source(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", m.File))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Apply says whether each mutation changes something that is there.
func Apply(t *testing.T, list []Mutation) {
	for _, m := range list {
		if n := strings.Count(m.source(t), m.From); n != 1 {
			t.Errorf("%s: %s has %d times\n%s", m.Name, m.File, n, m.From)
		}
	}
}

// Find each of those whose name has the text in it, by the test TestWorlds of the simulation, with its flags -seeds and -lines. The programs are built anew
// with the fault, so that none of it is in what is delivered.
func Find(t *testing.T, list []Mutation, named string) {
	found := regexp.MustCompile(`seed (\d+): .*`)
	for _, m := range list {
		if !strings.Contains(m.Name, named) {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			dir := t.TempDir()
			file, err := filepath.Abs(filepath.Join("..", m.File))
			if err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: filepath.Join(dir, "mutant.go")}})
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string]string{
				"mutant.go": strings.Replace(m.source(t), m.From, m.To, 1), "overlay.json": string(overlay),
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(dir, "worlds")
			if out, err := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "-overlay", filepath.Join(dir, "overlay.json"), ".").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command(program, "-test.run", "TestWorlds", "-lines", "0", "-seeds", fmt.Sprint(m.Seeds)).CombinedOutput()
			said := found.FindString(string(out))
			switch {
			case err == nil && m.Unseen != "":
				t.Skipf("not found in %d worlds: %s", m.Seeds, m.Unseen)
			case err == nil:
				t.Errorf("not found in %d worlds", m.Seeds)
			case said == "" || !strings.Contains(said, m.Want):
				t.Errorf("found otherwise than by %q:\n%s", m.Want, out)
			default:
				t.Log(said)
			}
		})
	}
}
