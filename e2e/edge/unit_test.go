package edge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unit is what the files of a systemd unit say, section and key as in Service.ExecStart: a key that is written again has more
// values, and one that is written empty none.
type unit map[string][]string

// readUnit reads a unit and its drop-ins as the Debian in a folder has them.
func readUnit(t *testing.T, root, name string) unit {
	t.Helper()
	folder := filepath.Join(root, "usr/lib/systemd/system")
	files := []string{filepath.Join(folder, name)}
	drops, err := os.ReadDir(filepath.Join(folder, name+".d"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, d := range drops {
		// A link is one of that Debian, not of this machine.
		to, err := os.Readlink(filepath.Join(folder, name+".d", d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(root, to))
	}
	u := unit{}
	for _, file := range files {
		section := ""
		for line := range strings.Lines(read(t, file)) {
			line = strings.TrimSpace(line)
			switch key, value, found := strings.Cut(line, "="); {
			case line == "" || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "["):
				section = strings.Trim(line, "[]")
			case !found:
				t.Fatalf("%s: %q is no setting", file, line)
			case value == "":
				u[section+"."+key] = nil
			default:
				u[section+"."+key] = append(u[section+"."+key], value)
			}
		}
	}
	return u
}

// one is the value of a key that has one.
func (u unit) one(t *testing.T, key string) string {
	t.Helper()
	if len(u[key]) != 1 {
		t.Fatalf("%s is %q, want one value", key, u[key])
	}
	return u[key][0]
}

// capabilities are those of a key, as setpriv writes them.
func (u unit) capabilities(key string) string {
	list := "-all"
	for name := range strings.FieldsSeq(strings.Join(u[key], " ")) {
		list += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
	}
	return list
}
