package security

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

// spellings are the ways in which programs print octets.
func spellings(octets []byte) []string {
	low := hex.EncodeToString(octets)
	list := []string{
		low, strings.ToUpper(low),
		base64.StdEncoding.EncodeToString([]byte(low)), // as in a Secret's data
		base64.StdEncoding.EncodeToString(octets),
		strings.Trim(fmt.Sprint(octets), "[]"),
		strings.ReplaceAll(strings.Trim(fmt.Sprint(octets), "[]"), " ", ", "),
	}
	for _, format := range []string{"% x", "% X", "%#x", "% #x"} {
		list = append(list, fmt.Sprintf(format, octets))
	}
	return append(list, strings.ReplaceAll(fmt.Sprintf("% #x", octets), " ", ", "), strings.ReplaceAll(fmt.Sprintf("% x", octets), " ", ":"))
}

// K and OPc of a phone that has just registered, at the most talkative log level, are in no log, no event, no
// object that is not a Secret, and not in what `kubectl core5g report` gives away.
func TestKeysAreNowhereButInSecrets(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	keys := map[string][]string{}
	data := scene.Must[map[string][]byte](t)(secret(ctx, phoneSecret))
	for _, name := range []string{"k", "opc"} {
		octets, err := hex.DecodeString(string(data[name]))
		if err != nil || len(octets) != 16 {
			t.Fatalf("Secret %s, key %s: not 32 hexadecimal digits", phoneSecret, name)
		}
		keys[name] = spellings(octets)
	}
	// look fails the test where a key is, and does not repeat it.
	look := func(where, text string) {
		for name, list := range keys {
			for n, spelling := range list {
				if strings.Contains(text, spelling) {
					t.Errorf("%s: %s of the phone is there, in spelling %d", where, name, n)
				}
			}
		}
	}

	var logs, objects, bundle strings.Builder
	var pods struct{ Items []cluster.Object }
	check(t, k.JSON(ctx, &pods, "get", "pods"))
	for _, pod := range pods.Items {
		out := scene.Must[string](t)(k.Run(ctx, "logs", pod.Metadata.Name, "--all-containers"))
		look("log of "+pod.Metadata.Name, out)
		logs.WriteString(out)
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				look("log of what was before "+pod.Metadata.Name, scene.Must[string](t)(k.Run(ctx, "logs", pod.Metadata.Name, "-c", c.Name, "--previous")))
			}
		}
	}

	kinds := strings.Fields(scene.Must[string](t)(k.Run(ctx, "api-resources", "--namespaced", "--verbs=list", "-o", "name")))
	kinds = append(slices.DeleteFunc(kinds, func(kind string) bool { return kind == "secrets" }), "nodes", "dataplanenodes.core5g.dev")
	// One call for all: each costs kubectl a look at what kinds there are.
	var all struct{ Items []json.RawMessage }
	check(t, k.JSON(ctx, &all, "get", strings.Join(kinds, ",")))
	for _, raw := range all.Items {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
		}
		check(t, json.Unmarshal(raw, &o))
		look(o.Kind+" "+o.Metadata.Name, string(raw))
		objects.Write(raw)
	}

	file := filepath.Join(t.TempDir(), "report.tar.gz")
	out, err := k.Shell(ctx, "kubectl core5g report -n "+cluster.Namespace+" -o "+file)
	if err != nil {
		t.Fatalf("kubectl core5g report: %v: %s", err, out)
	}
	files := 0
	check(t, each(file, func(name string, content []byte) {
		files++
		look("report, "+name, name+string(content))
		bundle.Write(content)
	}))

	// Where the phone's name is not either, nothing was looked at.
	for what, text := range map[string]*strings.Builder{"logs": &logs, "objects": &objects, "report": &bundle} {
		if !strings.Contains(text.String(), phone) {
			t.Errorf("%s do not name %s: are they all?", what, phone)
		}
	}
	t.Logf("looked at %d octets of logs, %d of objects of %d kinds, %d of a report of %d files", logs.Len(), objects.Len(), len(kinds), bundle.Len(), files)
}

func each(archive string, look func(name string, content []byte)) error {
	packed, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		look(header.Name, content)
	}
}
