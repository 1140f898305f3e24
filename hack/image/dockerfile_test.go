package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDockerfile(t *testing.T) {
	r, err := parseRecipe([]byte(`
entrypoint: [/demo]
cmd: [-v, "a b"]
user: "1000:1000"
workdir: /srv
env: {B: two, A: "one's"}
build: {go: [./cmd/demo], module: images/demo, out: out/bin/nf/}
inline: [{to: /etc/passwd, text: x}]
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := dockerfile("demo", "images/demo/Dockerfile", "1.2.3", r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"--platform linux/amd64,linux/arm64 -f images/demo/Dockerfile .\n",
		"FROM --platform=$BUILDPLATFORM golang:1.2.3-bookworm AS build\n",
		"RUN GOOS=$TARGETOS GOARCH=$TARGETARCH image -programs demo\n",
		"RUN image -rootfs /rootfs demo\n\nFROM scratch\nCOPY --from=build /rootfs/ /\n",
		"ENV A=\"one's\"\nENV B=\"two\"\nWORKDIR /srv\nUSER 1000:1000\nENTRYPOINT [\"/demo\"]\nCMD [\"-v\",\"a b\"]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// A program in C is compiled where it will run, and only for what it is written for.
func TestDockerfileOfCommand(t *testing.T) {
	r, err := parseRecipe([]byte(`
cmd: [/demo]
build: {run: make demo, sections: [upf], platforms: [linux/amd64]}
inline: [{to: /demo, text: x}]
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := dockerfile("demo", "images/demo/Dockerfile", "1.2.3", r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nFROM golang:1.2.3-bookworm AS build\n",
		"RUN hack/install-tools.sh upf\nCOPY . .\n",
		`RUN [ "$TARGETOS/$TARGETARCH" = linux/amd64 ] || { echo "demo is written for linux/amd64, not for $TARGETOS/$TARGETARCH" >&2; exit 1; }`,
		"\nRUN image -programs demo\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestRootfs(t *testing.T) {
	b := repository(t, `
entrypoint: [/opt/demo]
files: [{from: bin/demo, to: /opt/, mode: "0750", owner: "1000:1001", capabilities: [cap_net_raw]}]
dirs: [{path: /tmp, mode: "1777"}]
symlinks: [{path: /bin/demo, target: /opt/demo}]
`, map[string]string{"bin/demo": "program"})
	folder := filepath.Join(t.TempDir(), "rootfs")
	if err := writeRootfs(b, folder, []string{"demo"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "opt/demo"))
	if err != nil || string(text) != "program" {
		t.Errorf("%q, %v; want the program", text, err)
	}
	for name, want := range map[string]uint32{"opt/demo": 0o100750, "tmp": 0o041777, "bin": 0o040755} {
		var s syscall.Stat_t
		if err := syscall.Stat(filepath.Join(folder, name), &s); err != nil || s.Mode != want {
			t.Errorf("%s: mode %o, %v; want %o", name, s.Mode, err, want)
		}
		if name == "opt/demo" && os.Geteuid() == 0 && (s.Uid != 1000 || s.Gid != 1001) {
			t.Errorf("%s: owner %d:%d, want 1000:1001", name, s.Uid, s.Gid)
		}
	}
	if target, err := os.Readlink(filepath.Join(folder, "bin/demo")); err != nil || target != "/opt/demo" {
		t.Errorf("bin/demo leads to %q, %v", target, err)
	}
	if os.Geteuid() == 0 {
		var value [64]byte
		size, err := syscall.Getxattr(filepath.Join(folder, "opt/demo"), "security.capability", value[:])
		if err != nil || size != 20 {
			t.Errorf("capabilities of %d octets, %v; want 20", size, err)
		}
	}
	if err := writeRootfs(b, folder, []string{"demo"}); err == nil {
		t.Error("a folder that is there already is written into")
	}
}

func TestMakePrograms(t *testing.T) {
	t.Setenv("GOFLAGS", "-trimpath")
	b := repository(t, `
entrypoint: [/demo]
build: {go: [.], module: images/demo, out: out/bin/nf/}
files: [{from: out/bin/nf/demo, to: /demo}]
`, map[string]string{
		"images/demo/go.mod":  "module example.org/demo\n\ngo 1.26\n",
		"images/demo/main.go": "package main\n\nfunc main() {}\n",
	})
	if err := makePrograms(b, []string{"demo"}); err != nil {
		t.Fatal(err)
	}
	first := mustBuild(t, b)
	digest, err := sum(first.archive)
	if err != nil {
		t.Fatal(err)
	}

	// Elsewhere, the same sources make the same image.
	other := *b
	other.root = filepath.Join(t.TempDir(), "a", "longer", "way")
	other.outDir = filepath.Join(other.root, "out", "images")
	if err := os.CopyFS(filepath.Join(other.root, "images"), os.DirFS(filepath.Join(b.root, "images"))); err != nil {
		t.Fatal(err)
	}
	if err := makePrograms(&other, []string{"demo"}); err != nil {
		t.Fatal(err)
	}
	again, err := sum(mustBuild(t, &other).archive)
	if err != nil {
		t.Fatal(err)
	}
	if string(digest) != string(again) {
		t.Errorf("built in another folder the image is %x, and was %x", again, digest)
	}
}

func TestMakeProgramsByCommand(t *testing.T) {
	t.Setenv("GOFLAGS", "-trimpath")
	b := repository(t, "cmd: [/demo]\nbuild: {run: 'echo made >demo'}\nfiles: [{from: demo, to: /demo}]\n", map[string]string{})
	if err := makePrograms(b, []string{"demo"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(b.root, "demo")); err != nil || string(text) != "made\n" {
		t.Errorf("%q, %v; want what the command makes, in the repository", text, err)
	}
	b = repository(t, "cmd: [/demo]\ninline: [{to: /demo, text: x}]\n", map[string]string{})
	if err := makePrograms(b, []string{"demo"}); err == nil || !strings.Contains(err.Error(), "no build") {
		t.Errorf("error %v, want that the recipe has no build", err)
	}
}
