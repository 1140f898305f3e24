package edge

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/hack/repository"
)

const pkg = "core5g-upf"

// story begins one, where make e2e-edge asks for it.
func story(t *testing.T) {
	t.Helper()
	if os.Getenv("CORE5G_E2E_EDGE") == "" {
		t.Skip("installs packages and makes network namespaces: make e2e-edge")
	}
	if os.Geteuid() != 0 {
		t.Fatal("needs root: chroot, dpkg and network namespaces")
	}
}

// run runs a command, which must succeed, and returns what it said.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	said, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said)
	}
	return string(said)
}

// pack makes the package in a folder, of programs that are built, and returns its file.
func pack(t *testing.T, version, folder string, environment ...string) string {
	t.Helper()
	cmd := exec.Command(repository.Path(t, "hack/package.sh"), version, runtime.GOARCH, repository.Path(t, "out/bin"), folder)
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH=1767225600"), environment...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("package.sh: %v\n%s", err, &stderr)
	}
	return strings.TrimSpace(string(said))
}

var constraint = regexp.MustCompile(`\s*\([^)]*\)`)

// debian is a bare Debian 12 with what the package says that it depends on, in a folder. The archive that it comes from is kept for the
// next run with the same dependencies.
func debian(t *testing.T, deb string) (root string) {
	t.Helper()
	depends := strings.ReplaceAll(constraint.ReplaceAllString(strings.TrimSpace(run(t, "dpkg-deb", "-f", deb, "Depends")), ""), " ", "")
	kept := repository.Path(t, "out/edge")
	archive, stamp := filepath.Join(kept, "debian.tar"), filepath.Join(kept, "debian.stamp")
	if was, err := os.ReadFile(stamp); err != nil || string(was) != depends {
		if err := os.MkdirAll(kept, 0o755); err != nil {
			t.Fatal(err)
		}
		mirror := os.Getenv("CORE5G_DEBIAN_MIRROR")
		if mirror == "" {
			mirror = "http://deb.debian.org"
		}
		_ = os.Remove(stamp)
		// Mounts of its own: those that a failed one leaves go with it.
		run(t, "unshare", "--mount", "--propagation", "private", "mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", "--keyring=/usr/share/keyrings",
			"--include="+depends, `--aptopt=APT::Install-Recommends "false"`, "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
			"bookworm", archive, mirror+"/debian")
		if err := os.WriteFile(stamp, []byte(depends), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root = filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "tar", "-xf", archive, "-C", root)
	return root
}

// dpkg runs it for the Debian in a folder, with that one's shell for maintainer scripts.
func dpkg(t *testing.T, root string, args ...string) string {
	t.Helper()
	return run(t, "dpkg", append([]string{"--root=" + root, "--force-confold", "--log=/dev/null"}, args...)...)
}

// await waits for what must come true; f says why it has not.
func await(t *testing.T, what string, f func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		why := f()
		if why == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", what, why)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
