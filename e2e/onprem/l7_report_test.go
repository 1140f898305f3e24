package onprem

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The support bundle has what somebody elsewhere needs to understand a placement, and no key of a UE.
func TestReport(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	said := core5g(ctx, "report", "-o", file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	t.Log(strings.TrimSpace(said))
	for _, secret := range []string{"8baf473f2f8fd09487cccbd7097c6862", "8e27b6af0e692e750f32667a3b14605d"} {
		if bytes.Contains(content, []byte(secret)) {
			t.Error("a key stands in the packed bundle")
		}
	}
	packed, err := gzip.NewReader(bytes.NewReader(content))
	check(t, err)
	files := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
		text, err := io.ReadAll(archive)
		check(t, err)
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(text)
		for _, secret := range []string{"8baf473f2f8fd09487cccbd7097c6862", "8e27b6af0e692e750f32667a3b14605d"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has a UE's key", header.Name)
			}
		}
	}
	for _, want := range []struct{ file, text string }{
		{"status.txt", upfInstance + "-1"},
		{"status.txt", s.nodesWord(t)},
		{"sessions.txt", upfInstance + "-0"},
	} {
		if !strings.Contains(files[want.file], want.text) {
			t.Errorf("%s does not have %q:\n%s", want.file, want.text, files[want.file])
		}
	}
	logs := 0
	nodes := false
	for name := range files {
		if strings.HasPrefix(name, "logs/") && strings.Contains(name, upfInstance+"-") {
			logs++
		}
		nodes = nodes || strings.HasPrefix(path.Base(name), "dataplanenode")
	}
	if logs < 4 || !nodes {
		t.Errorf("%d logs of UPF containers, DataplaneNodes %t; want four and them: errors.txt says %s", logs, nodes, files["errors.txt"])
	}
}

// nodesWord is the name of a server.
func (s *settings) nodesWord(t *testing.T) string {
	t.Helper()
	all, err := servers(t.Context())
	check(t, err)
	return all[0].Name
}
