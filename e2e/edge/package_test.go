package edge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPackage(t *testing.T) {
	story(t)
	deb := pack(t, "0.0.1", t.TempDir())

	t.Run("lintian finds nothing", func(t *testing.T) {
		if said := run(t, "lintian", "--allow-root", "--fail-on", "error,warning", deb); strings.TrimSpace(said) != "" {
			t.Error(said)
		}
	})

	t.Run("it is the same twice", func(t *testing.T) {
		// With another time zone, and another number of processors.
		again := pack(t, "0.0.1", t.TempDir(), "TZ=Asia/Kolkata", "DEB_BUILD_OPTIONS=parallel=1")
		if read(t, deb) != read(t, again) {
			t.Errorf("%s and %s differ", deb, again)
		}
	})

	t.Run("a candidate comes before its release", func(t *testing.T) {
		candidate := pack(t, "0.0.2-rc.1", t.TempDir())
		version := strings.TrimSpace(run(t, "dpkg-deb", "-f", candidate, "Version"))
		if version != "0.0.2~rc.1" {
			t.Errorf("version %q", version)
		}
		run(t, "dpkg", "--compare-versions", version, "lt", "0.0.2")
	})

	t.Run("it comes and goes", func(t *testing.T) { comesAndGoes(t, deb) })

	folder := t.TempDir()
	run(t, "dpkg-deb", "-x", deb, folder)
	t.Run("systemd takes the units", func(t *testing.T) { unitsAreGood(t, folder) })
	t.Run("hugepages are set aside", func(t *testing.T) { hugepages(t, folder) })
	for _, profile := range []string{"usr.sbin.upf-u", "usr.sbin.upf-c"} {
		t.Run("AppArmor can read "+profile, func(t *testing.T) {
			run(t, "apparmor_parser", "--skip-kernel-load", "--skip-cache", filepath.Join(folder, "etc/apparmor.d", profile))
			broken := filepath.Join(t.TempDir(), profile)
			write(t, broken, strings.Replace(read(t, filepath.Join(folder, "etc/apparmor.d", profile)), " r,", " r", 1), 0o644)
			if err := exec.Command("apparmor_parser", "--skip-kernel-load", "--skip-cache", broken).Run(); err == nil {
				t.Error("the parser takes a profile with a fault")
			}
		})
	}
}

// comesAndGoes installs the package, gives it another version, removes and purges it, on a bare Debian where systemctl notes what it is asked for.
func comesAndGoes(t *testing.T, deb string) {
	root := debian(t, deb)
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join(root, "tmp/asked")
	write(t, filepath.Join(root, "usr/bin/systemctl"), "#!/bin/sh\necho \"$*\" >>/tmp/asked\n", 0o755)
	calls := func() []string {
		t.Helper()
		text := read(t, asked)
		if err := os.Remove(asked); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(text), "\n")
	}

	dpkg(t, root, "--install", deb)
	if got := calls(); !slices.Equal(got, []string{"daemon-reload"}) {
		t.Errorf("an unconfigured UPF: systemctl %q, want nothing begun", got)
	}
	for _, want := range []string{":/nonexistent:", "nologin"} {
		if user := run(t, "chroot", root, "getent", "passwd", pkg); !strings.Contains(user, want) {
			t.Errorf("user %q, want %s in it", user, want)
		}
	}
	if said := run(t, "chroot", root, "ldd", "/usr/sbin/upf-u"); strings.Contains(said, "not found") {
		t.Errorf("on a bare Debian upf-u misses a library: %s", said)
	}
	for name, program := range map[string][]string{
		"upf-u": {"/usr/sbin/upf-u", "-c", "/etc/core5g-upf/upf-u.yaml"},
		"upf-c": {"/usr/sbin/upf-c", "-config", "/etc/core5g-upf/upf-c.yaml"},
	} {
		// As its unit says: RestartPreventExitStatus.
		want := readUnit(t, root, "core5g-"+name+".service").one(t, "Service.RestartPreventExitStatus")
		cmd := exec.Command("chroot", append([]string{root}, program...)...)
		said, _ := cmd.CombinedOutput()
		if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != want || !strings.Contains(string(said), name+".yaml") {
			t.Errorf("%s before it is configured ends with %s: %s, want %s and the file's name", name, got, said, want)
		}
	}
	t.Run("its examples are complete", func(t *testing.T) {
		for name, check := range map[string][]string{"upf-u": {"-t", "-c"}, "upf-c": {"-check", "-config"}} {
			var text strings.Builder
			for line := range strings.Lines(read(t, filepath.Join(root, "etc/core5g-upf", name+".yaml"))) {
				if rest, found := strings.CutPrefix(line, "#"); found && !strings.HasPrefix(rest, " ") && rest != "\n" || strings.HasPrefix(line, "#  ") {
					line = rest
				}
				text.WriteString(line)
			}
			write(t, filepath.Join(root, "tmp", name+".yaml"), text.String(), 0o644)
			run(t, "chroot", append(append([]string{root, "/usr/sbin/" + name}, check...), "/tmp/"+name+".yaml")...)
		}
	})

	conf := filepath.Join(root, "etc/core5g-upf/upf-u.yaml")
	write(t, conf, "memory: 77 # this site's\n", 0o644)
	dpkg(t, root, "--install", pack(t, "0.0.2", t.TempDir()))
	if got := calls(); !slices.Equal(got, []string{"daemon-reload", "try-restart core5g-upf-u.service core5g-upf-c.service"}) {
		t.Errorf("another version: systemctl %q, want what runs begun anew, and nothing else", got)
	}
	if got := read(t, conf); got != "memory: 77 # this site's\n" {
		t.Errorf("another version wrote over a site's configuration: %q", got)
	}

	dpkg(t, root, "--remove", pkg)
	if got := strings.Join(calls(), "; "); !strings.Contains(got, "disable core5g-upf.target; stop core5g-upf.target") {
		t.Errorf("removed: systemctl %q", got)
	}
	if got := read(t, conf); got != "memory: 77 # this site's\n" {
		t.Errorf("its removal changed a site's configuration: %q", got)
	}
	dpkg(t, root, "--purge", pkg)
	for _, gone := range []string{"etc/core5g-upf", "etc/apparmor.d/usr.sbin.upf-u", "usr/sbin/upf-u", "usr/lib/systemd/system/core5g-upf.target", "run/upf"} {
		if _, err := os.Lstat(filepath.Join(root, gone)); !os.IsNotExist(err) {
			t.Errorf("/%s is there when it is purged: %v", gone, err)
		}
	}
}

func unitsAreGood(t *testing.T, folder string) {
	units := []string{"core5g-upf.target", "core5g-upf-u.service", "core5g-upf-c.service", "core5g-upf-hugepages.service"}
	// What units of every Debian come after.
	targets, err := filepath.Glob("/lib/systemd/system/*.target")
	if err != nil || len(targets) == 0 {
		t.Fatalf("this machine has no targets of systemd: %v", err)
	}
	run(t, "cp", append(append([]string{"--no-dereference"}, targets...), filepath.Join(folder, "usr/lib/systemd/system"))...)
	verify := func() (string, error) {
		args := []string{"verify", "--root=" + folder}
		for _, name := range units {
			args = append(args, filepath.Join(folder, "usr/lib/systemd/system", name))
		}
		said, err := exec.Command("systemd-analyze", args...).CombinedOutput()
		return strings.TrimSpace(string(said)), err
	}
	if said, err := verify(); err != nil || said != "" {
		t.Errorf("systemd-analyze verify: %v: %s", err, said)
	}
	// Of ten, as systemd counts: what a unit may do to its machine. upf-u sends raw frames.
	for name, threshold := range map[string]string{"core5g-upf-u.service": "30", "core5g-upf-c.service": "15", "core5g-upf-hugepages.service": "15"} {
		run(t, "systemd-analyze", "security", "--no-pager", "--offline=true", "--root="+folder, "--threshold="+threshold, name)
	}
	for _, name := range units[1:3] {
		u := readUnit(t, folder, name)
		for _, program := range u["Service.ExecStart"] {
			if _, err := os.Stat(filepath.Join(folder, strings.Fields(program)[0])); err != nil {
				t.Error(err)
			}
		}
		if u.one(t, "Service.Type") != "notify" || u.one(t, "Service.Restart") != "always" {
			t.Errorf("%s: %+v", name, u)
		}
	}
	if u := readUnit(t, folder, "core5g-upf-c.service"); u.capabilities("Service.CapabilityBoundingSet") != "-all" {
		t.Errorf("upf-c has capabilities: %+v", u)
	}
	// A unit with a fault is found, and so is one in what a site writes.
	path := filepath.Join(folder, "usr/lib/systemd/system/core5g-upf-u.service")
	good := read(t, path)
	write(t, path, strings.Replace(good, "Restart=always", "Restart=sometimes", 1), 0o644)
	if said, err := verify(); err == nil && said == "" {
		t.Error("a unit with Restart=sometimes passes")
	}
	write(t, path, good, 0o644)
	conf := filepath.Join(folder, "etc/core5g-upf/upf-u.conf")
	write(t, conf, strings.Replace(read(t, conf), "#CPUAffinity=2 3", "CPUAffinity=2 3", 1), 0o644)
	if got := readUnit(t, folder, "core5g-upf-u.service").one(t, "Service.CPUAffinity"); got != "2 3" {
		t.Errorf("CPUAffinity of upf-u.conf is %q in the unit", got)
	}
}

// hugepages runs the script on folders in place of the kernel's: where free_hugepages is the same file as nr_hugepages, all that are asked for come.
func hugepages(t *testing.T, folder string) {
	script := filepath.Join(folder, "usr/libexec/core5g-upf/reserve-hugepages")
	for sentence, test := range map[string]struct {
		config, had string
		generous    bool
		nodes       string
		want        [2]string // nr_hugepages of each node
		fails       bool
	}{
		"half of memory, on each node":        {config: "memory: 1024\n", had: "0\n", generous: true, want: [2]string{"512\n", "512\n"}},
		"on one node":                         {config: "memory: 1024\n", had: "0\n", generous: true, nodes: "1", want: [2]string{"0\n", "512\n"}},
		"what upf-u takes by itself":          {config: "workers: 1\n", had: "0\n", generous: true, want: [2]string{"128\n", "128\n"}},
		"none that are there already":         {config: "memory: 1024\n", had: "600\n", generous: true, want: [2]string{"600\n", "600\n"}},
		"none for who wants none":             {config: "memory: 1024\nhugepages: false\n", had: "0\n", generous: true, want: [2]string{"0\n", "0\n"}},
		"a kernel without memory in a piece":  {config: "memory: 1024\n", had: "3\n", want: [2]string{"515\n", "515\n"}, fails: true},
		"a node that is not there, by number": {config: "memory: 1024\n", had: "0\n", nodes: "7", want: [2]string{"0\n", "0\n"}, fails: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "upf-u.yaml"), test.config, 0o644)
			pages := func(node int, name string) string {
				return filepath.Join(dir, fmt.Sprintf("node%d/hugepages/hugepages-2048kB", node), name)
			}
			for node := range 2 {
				write(t, pages(node, "nr_hugepages"), test.had, 0o644)
				if !test.generous {
					write(t, pages(node, "free_hugepages"), "0\n", 0o644)
				} else if err := os.Symlink("nr_hugepages", pages(node, "free_hugepages")); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(script, filepath.Join(dir, "upf-u.yaml"))
			cmd.Env = append(os.Environ(), "HUGEPAGES_ROOT="+dir, "NODES="+test.nodes)
			said, err := cmd.CombinedOutput()
			if (err != nil) != test.fails {
				t.Errorf("%v: %s", err, said)
			}
			for node := range 2 {
				if got := read(t, pages(node, "nr_hugepages")); got != test.want[node] {
					t.Errorf("node %d has %q, want %q: %s", node, got, test.want[node], said)
				}
			}
		})
	}
}
