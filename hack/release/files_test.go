package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// files is the folder of a release that `make release` made, and nothing else of this machine but helm and what its reader
// pushes with: CORE5G_RELEASE names it.
func files(t *testing.T) (folder string, m *contents) {
	t.Helper()
	folder = os.Getenv("CORE5G_RELEASE")
	if folder == "" {
		t.Skip("CORE5G_RELEASE names no folder of a release: `make release-check` makes a small one")
	}
	m, _, err := readManifest(filepath.Join(folder, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	return folder, m
}

func TestFilesAreWhatTheyWereMade(t *testing.T) {
	folder, _ := files(t)
	public := filepath.Join(folder, publicFile)
	if _, err := os.Stat(public); err != nil {
		t.Logf("not signed: %v", err)
		public = ""
	}
	if _, err := verify(folder, public); err != nil {
		t.Error(err)
	}
	// As a reader without this program would.
	cmd := exec.Command("sha256sum", "--check", "--strict", "--quiet", sumsFile)
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v: %s", err, said)
	}
}

func TestFilesThatWereTamperedWithAreRefused(t *testing.T) {
	folder, m := files(t)
	public := filepath.Join(folder, publicFile)
	if _, err := os.Stat(public); err != nil {
		t.Skipf("not signed: %v", err)
	}
	for _, name := range []string{manifestFile, sumsFile, m.Chart, m.OperatorChart, m.Images[0].Archive} {
		copied := t.TempDir()
		err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			to := filepath.Join(copied, strings.TrimPrefix(path, folder))
			if d.IsDir() {
				return os.MkdirAll(to, 0o755)
			}
			abs, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			return os.Symlink(abs, to)
		})
		if err != nil {
			t.Fatal(err)
		}
		// Signatures are of two files; links stand for those that are not looked at before the first difference.
		changed := filepath.Join(copied, name)
		text, err := os.ReadFile(changed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(changed); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(changed, text, 0o644); err != nil {
			t.Fatal(err)
		}
		flip(t, changed)
		if name == manifestFile || name == sumsFile {
			if _, err := verify(copied, public); err == nil || !strings.Contains(err.Error(), "is not what was signed") {
				t.Errorf("%s: %v, want it refused", name, err)
			}
			continue
		}
		cmd := exec.Command("sha256sum", "--check", "--strict", "--quiet", sumsFile)
		cmd.Dir = copied
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(said), name) {
			t.Errorf("%s: sha256sum: %v: %s, want it named", name, err, said)
		}
	}
}

var reference = regexp.MustCompile(`(?m)^\s+(?:- )?(?:image: |- --operator-image=)"?(\S+?)"?$`)

// TestFilesRender renders the chart as a reader would for a registry of his own: every image that pods of the chart itself
// have, and those that the operator is told, is that of an archive.
func TestFilesRender(t *testing.T) {
	folder, m := files(t)
	for name, archive := range map[string]string{coreChart: m.Chart, operatorChart: m.OperatorChart} {
		t.Run(name, func(t *testing.T) { rendersFrom(t, folder, m, name, archive) })
	}
}

func rendersFrom(t *testing.T, folder string, m *contents, chart, archive string) {
	cmd := exec.Command(helmProgram(t), "template", "core5g", filepath.Join(folder, archive), "--namespace=core5g",
		"--set=images.registry=registry.example.org/telco")
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "HELM_PLUGINS="+home, "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	rendered, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm template: %v: %s", err, &stderr)
	}
	digests := map[string]string{}
	for _, i := range m.Images {
		a, err := openArchive(filepath.Join(folder, i.Archive))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := a.index.Digest()
		a.close()
		if err != nil {
			t.Fatal(err)
		}
		digests[i.Name] = digest.String()
	}
	found := map[string]bool{}
	for _, match := range reference.FindAllSubmatch(rendered, -1) {
		image, ok := strings.CutPrefix(string(match[1]), "registry.example.org/telco/")
		if !ok {
			t.Errorf("%s is not of the reader's registry", match[1])
			continue
		}
		name, _, _ := strings.Cut(image, ":")
		found[name] = true
		want := name + ":" + m.Version
		if digests[name] != "" {
			want += "@" + digests[name]
		} else if !left(m, name) {
			t.Errorf("the chart runs %s, which is not in the release, and not named as left out", name)
		}
		if image != want {
			t.Errorf("image %s, want %s", image, want)
		}
	}
	for _, name := range []string{"operator", "node-agent"} {
		if !found[name] {
			t.Errorf("no pod of %s in what the chart renders", name)
		}
	}
	told := regexp.MustCompile(`(?m)^\s+- ("--image-digests=.*")$`).FindSubmatch(rendered)
	if told == nil {
		t.Fatal("the operator is told no digests")
	}
	var flag string
	if err := yaml.Unmarshal(told[1], &flag); err != nil {
		t.Fatal(err)
	}
	var known map[string]map[string]string
	if err := yaml.Unmarshal([]byte(strings.TrimPrefix(flag, "--image-digests=")), &known); err != nil {
		t.Fatal(err)
	}
	c, err := readChart(filepath.Join(folder, archive), chart)
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range c.Functions {
		if got := known[m.Version][function]; got != digests[function] {
			t.Errorf("the operator takes %s by %q, its archive is %q", function, got, digests[function])
		}
		if digests[function] == "" && !left(m, function) {
			t.Errorf("a Core5G may have %s, which is not in the release, and not named as left out", function)
		}
	}
}

func left(m *contents, image string) bool {
	return slices.ContainsFunc(m.LeftOut, func(l leftOut) bool { return l.Image == image && l.Platform == "all" && l.Reason != "" })
}

func TestFilesHaveBillsAndLicences(t *testing.T) {
	folder, m := files(t)
	texts, err := readTarGz(filepath.Join(folder, "core5g-licences-"+m.Version+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, e := range texts {
		have[filepath.Dir(strings.TrimPrefix(e.name, "core5g-licences-"+m.Version+"/"))] = len(e.text) > 0
	}
	for _, i := range m.Images {
		for _, platform := range i.Platforms {
			bill := filepath.Join(folder, "sbom", i.Name+"-"+m.Version+"-"+strings.Replace(platform, "/", "-", 1)+".cdx.json")
			text, err := os.ReadFile(bill)
			if err != nil {
				t.Error(err)
				continue
			}
			var content struct {
				BOMFormat string
				Metadata  struct {
					Component struct{ Name, Version string }
				}
				Components []struct{ Name, Version, PURL string }
			}
			if err := yaml.Unmarshal(text, &content); err != nil {
				t.Errorf("%s: %v", bill, err)
			}
			if of := content.Metadata.Component; content.BOMFormat != "CycloneDX" || of.Name != "core5g/"+i.Name || of.Version != m.Version || len(content.Components) == 0 {
				t.Errorf("%s is of %+v with %d components", bill, of, len(content.Components))
			}
			for _, c := range content.Components {
				// A module without a version is a folder of core5g's own; exceptions of the licences' policy have no text.
				if strings.HasPrefix(c.PURL, "pkg:golang/") && c.Version != "" && c.Name != "std" && c.Name != "github.com/fclairamb/afero-snd" && !have["go/"+c.Name+"@"+c.Version] {
					t.Errorf("%s: no licence of %s %s", i.Name, c.Name, c.Version)
				}
				if strings.HasPrefix(c.PURL, "pkg:deb/") && !have["debian/"+c.Name] {
					t.Errorf("%s: no licence of the Debian package %s", i.Name, c.Name)
				}
			}
		}
	}
}

func TestFilesHaveAPluginThatRuns(t *testing.T) {
	folder, m := files(t)
	for _, p := range m.Plugins {
		entries, err := readTarGz(filepath.Join(folder, p.Archive))
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]entry{}
		for _, e := range entries {
			names[e.name] = e
		}
		for _, want := range []string{program, "LICENSE", "NOTICE"} {
			if len(names[want].text) == 0 {
				t.Errorf("%s has no %s", p.Archive, want)
			}
		}
		if names[program].mode != 0o755 {
			t.Errorf("%s: mode %o of the program", p.Archive, names[program].mode)
		}
		if p.OS != runtime.GOOS || p.Arch != runtime.GOARCH {
			continue
		}
		path := filepath.Join(t.TempDir(), program)
		if err := os.WriteFile(path, names[program].text, 0o755); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(path, "help").CombinedOutput()
		if err != nil || !strings.Contains(string(said), "preflight") {
			t.Errorf("%s help: %v: %s", program, err, said)
		}
	}
}

// TestFilesArePushed runs push.sh with each of the programs that it knows, against a registry in this process, and asks it
// for what the chart would. crane is built of its module; of the others it takes what is here.
func TestFilesArePushed(t *testing.T) {
	folder, m := files(t)
	for tool, flags := range map[string]string{"skopeo": "--dest-tls-verify=false", "oras": "--to-plain-http", "crane": "--insecure"} {
		t.Run(tool, func(t *testing.T) {
			bin := t.TempDir()
			if tool == "crane" {
				build := exec.Command("go", "build", "-o", filepath.Join(bin, tool), "github.com/google/go-containerregistry/cmd/crane")
				if said, err := build.CombinedOutput(); err != nil {
					t.Fatalf("go build: %v: %s", err, said)
				}
			} else if path, err := exec.LookPath(tool); err != nil {
				t.Skipf("no %s here", tool)
			} else if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
			// No other of the three is found.
			for _, needed := range []string{"sh", "sed", "tar", "basename", "dirname", "mktemp", "rm"} {
				path, err := exec.LookPath(needed)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path, filepath.Join(bin, needed)); err != nil {
					t.Fatal(err)
				}
			}
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			defer server.Close()
			host := strings.TrimPrefix(server.URL, "http://")
			cmd := exec.Command("sh", "./push.sh", host+"/mirror")
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "PUSH_FLAGS="+flags, "PATH="+bin)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("push.sh: %v: %s", err, said)
			}
			for _, i := range m.Images {
				ref, err := name.ParseReference(host + "/mirror/" + i.Name + "@" + i.Digest)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := remote.Index(ref); err != nil {
					t.Errorf("%s is not in the registry by its digest: %v", i.Name, err)
				}
				tag, err := name.ParseReference(host + "/mirror/" + i.Name + ":" + m.Version)
				if err != nil {
					t.Fatal(err)
				}
				if d, err := remote.Head(tag); err != nil || d.Digest.String() != i.Digest {
					t.Errorf("%s:%s: %v, %v, want %s", i.Name, m.Version, d, err, i.Digest)
				}
			}
		})
	}
}

// TestFilesHaveAPackage unpacks the package of this architecture: programs that begin, units, and a bill that names what is linked in.
func TestFilesHaveAPackage(t *testing.T) {
	folder, m := files(t)
	if len(m.Packages) == 0 {
		if !slices.ContainsFunc(m.LeftOut, func(l leftOut) bool { return l.Image == "core5g-upf.deb" }) {
			t.Error("no Debian package, and not named as left out")
		}
		t.Skip("the release was made without Debian packages: IMAGES had neither upf-u nor upf-c, or ARCHS none of this architecture")
	}
	for _, p := range m.Packages {
		bill, err := os.ReadFile(filepath.Join(folder, "sbom", p.Name+"-"+m.Version+"-linux-"+p.Arch+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"pkg:deb/debian/dpdk@`, `"pkg:golang/github.com/wmnsk/go-pfcp@`, `"/usr/sbin/upf-u"`} {
			if !strings.Contains(string(bill), want) {
				t.Errorf("the bill of %s names no %s", p.Archive, want)
			}
		}
		if p.Arch != runtime.GOARCH {
			continue
		}
		root := t.TempDir()
		if said, err := exec.Command("dpkg-deb", "-x", filepath.Join(folder, p.Archive), root).CombinedOutput(); err != nil {
			t.Fatalf("dpkg-deb: %v: %s", err, said)
		}
		for _, name := range []string{"etc/core5g-upf/upf-u.yaml", "usr/lib/systemd/system/core5g-upf-u.service", "etc/apparmor.d/usr.sbin.upf-u", "usr/share/doc/core5g-upf/licences/libdpdk-dev/copyright"} {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
		}
		said, err := exec.Command(filepath.Join(root, "usr/bin/upfctl"), "help").CombinedOutput()
		if err != nil || !strings.Contains(string(said), "associations") {
			t.Errorf("upfctl help: %v: %s", err, said)
		}
	}
}
