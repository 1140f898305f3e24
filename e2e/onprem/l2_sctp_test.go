package onprem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A gNB speaks SCTP with the kernel of the AMF's node (TS 38.412 7), which the machine that builds core5g may lack: its
// images use images/nf/sctp, and the tests of that package run here, on a server.
func TestKernelSCTP(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	folder := filepath.Join(k.Root, "images/nf/sctp")
	source, err := os.ReadFile(filepath.Join(folder, "conn_test.go"))
	check(t, err)
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tonEachTransport\(`).FindAllSubmatch(source, -1) {
		names = append(names, string(m[1]))
	}
	program := filepath.Join(t.TempDir(), "sctp.test")
	build := exec.CommandContext(ctx, "go", "test", "-C", folder, "-c", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(program)
	check(t, err)
	all, err := servers(ctx)
	check(t, err)
	node := all[0].Name
	out, err := sendToNode(ctx, node, string(content), fmt.Sprintf(`cat >/var/tmp/sctp.test && chmod 700 /var/tmp/sctp.test
GOMEMLIMIT=24MiB /var/tmp/sctp.test -test.v -test.run '^(%s)$/^kernel$' 2>&1
rm /var/tmp/sctp.test`, strings.Join(names, "|")))
	check(t, err)
	for _, name := range names {
		if !strings.Contains(out, "--- PASS: "+name+"/kernel ") {
			t.Errorf("%s has not passed with the kernel of %s; an AMF's node needs `modprobe sctp`", name, node)
		}
	}
	if t.Failed() {
		fmt.Fprintln(t.Output(), out)
	}
	t.Logf("%d tests of SCTP with the kernel of %s", len(names), node)
}
