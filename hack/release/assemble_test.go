package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const repository = "../.."

// helmProgram is the one that the project's tools build, or that of the PATH.
func helmProgram(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("HELM"), filepath.Join(repository, "out", "bin", "helm")} {
		if path == "" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil {
			if _, err := os.Stat(abs); err == nil {
				return abs
			}
		}
	}
	path, err := exec.LookPath("helm")
	if err != nil && os.Getenv("CORE5G_TOOLS") == "required" {
		t.Fatal("no helm: run `make tools`")
	}
	if err != nil {
		t.Skip("no helm: run `make tools`, or set HELM")
	}
	return path
}

// write writes a file with its folders.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// dockerArchive writes an image with one file, as `docker save` would.
func dockerArchive(t *testing.T, path, arch, text string) {
	t.Helper()
	var layer bytes.Buffer
	tw := tar.NewWriter(&layer)
	if err := tw.WriteHeader(&tar.Header{Name: "program", Mode: 0o755, Size: int64(len(text)), PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "\x01"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := tw.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	raw := layer.Bytes()
	file := filepath.Join(t.TempDir(), "layer.tar")
	write(t, file, string(raw))
	l, err := tarball.LayerFromFile(file, tarball.WithMediaType(types.DockerLayer))
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{Entrypoint: []string{"/program"}, User: "1000:1000"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, name.MustParseReference("core5g/x:dev"), img); err != nil {
		t.Fatal(err)
	}
}

// debianArchive writes a package that has nothing but a control file.
func debianArchive(t *testing.T, path, control string) {
	t.Helper()
	var member bytes.Buffer
	zw := gzip.NewWriter(&member)
	if err := writeTar(zw, []entry{{name: "./control", mode: 0o644, text: []byte(control)}}); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	text := "!<arch>\n"
	for _, m := range []struct{ name, text string }{{"debian-binary", "2.0\n"}, {"control.tar.gz", member.String()}} {
		text += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name, 0, 0, 0, 0o100644, len(m.text)) + m.text
		text += strings.Repeat("\n", len(m.text)%2)
	}
	write(t, path, text)
}

// built makes what hack/release.sh would have built, of images that hold a line of text.
func built(t *testing.T) *inputs {
	t.Helper()
	work := t.TempDir()
	r := &inputs{version: "1.2.3", commit: "c0ffee", source: repository, built: filepath.Join(work, "built"), out: filepath.Join(work, "files"), helm: helmProgram(t)}
	for _, image := range []string{"operator", "node-agent", "amf"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if image == "amf" && arch == "arm64" {
				continue
			}
			folder := filepath.Join(r.built, "images", "linux-"+arch)
			dockerArchive(t, filepath.Join(folder, image+".tar"), arch, image+" for "+arch)
			write(t, filepath.Join(folder, image+".cdx.json"), `{"bomFormat": "CycloneDX"}`)
		}
	}
	left := "amf linux/arm64 its sources compile for linux/amd64, not for linux/arm64\n"
	recipes, err := filepath.Glob(filepath.Join(repository, "images", "*", "image.yaml"))
	if err != nil || len(recipes) == 0 {
		t.Fatalf("no recipes: %v", err)
	}
	for _, recipe := range recipes {
		if image := filepath.Base(filepath.Dir(recipe)); !slices.Contains([]string{"operator", "node-agent", "amf"}, image) {
			left += image + " all left out by IMAGES\n"
		}
	}
	write(t, filepath.Join(r.built, "left-out"), left)
	for _, folder := range []string{"linux-amd64", "darwin-arm64"} {
		write(t, filepath.Join(r.built, "plugin", folder, program), "the program for "+folder)
		write(t, filepath.Join(r.built, "plugin", folder, program+".cdx.json"), `{"bomFormat": "CycloneDX"}`)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		deb := filepath.Join(r.built, "packages", "core5g-upf_1.2.3_"+arch+".deb")
		debianArchive(t, deb, "Package: core5g-upf\nVersion: 1.2.3\nArchitecture: "+arch+"\n")
		write(t, deb+".cdx.json", `{"bomFormat": "CycloneDX"}`)
	}
	write(t, filepath.Join(r.built, "licences", "go", "example.org", "a@v1", "LICENSE"), "Do as you like.\n")
	return r
}

// key makes a key and names it in an environment; its public half is in the file.
func key(t *testing.T) (env func(string) string, public string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := newKey(file); err != nil {
		t.Fatal(err)
	}
	return func(variable string) string { return map[string]string{keyFile: file}[variable] }, file + ".pub"
}

func mustAssemble(t *testing.T, r *inputs, env func(string) string) *contents {
	t.Helper()
	var private *minisign.PrivateKey
	if env != nil {
		var err error
		if private, err = keyOfEnvironment(env); err != nil || private == nil {
			t.Fatalf("key: %v, %v", private, err)
		}
	}
	m, err := r.assemble(private)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// signed is a copy of one signed release that all tests share, with the public key.
func signed(t *testing.T) (folder, public string) {
	t.Helper()
	shared.once.Do(func() {
		var err error
		if shared.folder, err = os.MkdirTemp("", "core5g-release-*"); err != nil {
			t.Fatal(err)
		}
		r := built(t)
		env, pub := key(t)
		mustAssemble(t, r, env)
		if err := os.CopyFS(filepath.Join(shared.folder, "files"), os.DirFS(r.out)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(pub)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(shared.folder, "key.pub"), string(text))
	})
	folder, public = filepath.Join(t.TempDir(), "files"), filepath.Join(shared.folder, "key.pub")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(shared.folder, "files"))); err != nil {
		t.Fatal(err)
	}
	return folder, public
}

// shared is made by the first test that needs it.
var shared struct {
	once   sync.Once
	folder string
}

func TestMain(m *testing.M) {
	status := m.Run()
	if shared.folder != "" {
		os.RemoveAll(shared.folder)
	}
	os.Exit(status)
}

func octets(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, folder+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAssembleIsTheSameTwice(t *testing.T) {
	r := built(t)
	env, public := key(t)
	mustAssemble(t, r, env)
	one := octets(t, r.out)
	r.out += "-again"
	mustAssemble(t, r, env)
	another := octets(t, r.out)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(another))); diff != "" {
		t.Errorf("files (-one +another):\n%s", diff)
	}
	for name := range one {
		if one[name] != another[name] {
			t.Errorf("%s is not the same twice", name)
		}
	}
	if _, err := verify(r.out, public); err != nil {
		t.Error(err)
	}
}

// TestDigestsHoldInARegistry pushes an archive, and asks the registry by the reference that the chart has.
func TestDigestsHoldInARegistry(t *testing.T) {
	r := built(t)
	m := mustAssemble(t, r, nil)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, i := range m.Images {
		a, err := openArchive(filepath.Join(r.out, i.Archive))
		if err != nil {
			t.Fatal(err)
		}
		tag, err := name.ParseReference(host + "/mirror/" + i.Name + ":" + m.Version)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(tag, a.index); err != nil {
			t.Fatal(err)
		}
		a.close()
		byDigest, err := name.ParseReference(host + "/mirror/" + i.Name + "@" + i.Digest)
		if err != nil {
			t.Fatal(err)
		}
		for _, platform := range i.Platforms {
			system, arch, _ := strings.Cut(platform, "/")
			img, err := remote.Image(byDigest, remote.WithPlatform(v1.Platform{OS: system, Architecture: arch}))
			if err != nil {
				t.Fatalf("%s for %s: %v", i.Name, platform, err)
			}
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if config.Architecture != arch || config.Config.User != "1000:1000" || len(config.RootFS.DiffIDs) != 1 {
				t.Errorf("%s for %s: %+v", i.Name, platform, config)
			}
		}
	}
}

// TestIndexesSayNoMoreThanTheyMust: an unknown key keeps older programs from copying an index as it is.
func TestIndexesSayNoMoreThanTheyMust(t *testing.T) {
	r := built(t)
	m := mustAssemble(t, r, nil)
	a, err := openArchive(filepath.Join(r.out, m.Images[0].Archive))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	text, err := a.index.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Annotations   map[string]string `json:"annotations"`
		Manifests     []struct {
			MediaType string      `json:"mediaType"`
			Size      int64       `json:"size"`
			Digest    string      `json:"digest"`
			Platform  v1.Platform `json:"platform"`
		} `json:"manifests"`
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&index); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	if index.MediaType != string(types.OCIImageIndex) || len(index.Manifests) != len(m.Images[0].Platforms) {
		t.Errorf("index %+v", index)
	}
}

func TestImagesKeepWhatTheirFilesHave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	dockerArchive(t, file, "amd64", "text")
	img, err := ociImage(file)
	if err != nil {
		t.Fatal(err)
	}
	before, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := before.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	// The same layers by their uncompressed digests, capabilities of files included.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-docker +oci):\n%s", diff)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON || m.Layers[0].MediaType != types.OCILayer {
		t.Errorf("types %s, %s, %s", m.MediaType, m.Config.MediaType, m.Layers[0].MediaType)
	}
}

func TestVerifyRefuses(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(t *testing.T, folder string)
		want   string
	}{
		"a changed chart of the operator": {func(t *testing.T, folder string) { flip(t, filepath.Join(folder, "core5g-operator-1.2.3.tgz")) }, "are not those of the manifest"},
		"a changed chart":                 {func(t *testing.T, folder string) { flip(t, filepath.Join(folder, "core5g-1.2.3.tgz")) }, "are not those of the manifest"},
		"a changed manifest": {func(t *testing.T, folder string) {
			replace(t, filepath.Join(folder, manifestFile), "c0ffee", "c0ffed")
		}, manifestFile + " is not what was signed"},
		"changed sums": {func(t *testing.T, folder string) { flip(t, filepath.Join(folder, sumsFile)) }, sumsFile + " is not what was signed"},
		"a missing image": {func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, "images", "amf-1.2.3.oci.tar")); err != nil {
				t.Fatal(err)
			}
		}, "images/amf-1.2.3.oci.tar"},
		"a file too many": {func(t *testing.T, folder string) { write(t, filepath.Join(folder, "images", "extra.oci.tar"), "x") }, "images/extra.oci.tar"},
		"no signature": {func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, manifestFile+signatureEnd)); err != nil {
				t.Fatal(err)
			}
		}, "no signature"},
		"all of it, signed by somebody else": {func(t *testing.T, folder string) {
			env, _ := key(t)
			private, err := keyOfEnvironment(env)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{manifestFile, sumsFile} {
				if err := sign(*private, filepath.Join(folder, name), "core5g"); err != nil {
					t.Fatal(err)
				}
			}
		}, "another key signed it"},
	} {
		t.Run(sentence, func(t *testing.T) {
			folder, public := signed(t)
			test.change(t, folder)
			if _, err := verify(folder, public); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
}

// TestVerifyRefusesReleasesThatDoNotFit changes what the manifest says, and makes the sums anew: whoever made the files
// made them wrong.
func TestVerifyRefusesReleasesThatDoNotFit(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(m *contents)
		want   string
	}{
		"a digest that is another's":         {func(m *contents) { m.Images[0].Digest = m.Images[1].Digest }, "image amf: "},
		"a platform that is not there":       {func(m *contents) { m.Images[0].Platforms = append(m.Images[0].Platforms, "linux/arm64") }, "platforms"},
		"another version than the chart's":   {func(m *contents) { m.Version = "1.2.4" }, "want 1.2.4 of all"},
		"a chart in another one's place":     {func(m *contents) { m.OperatorChart = m.Chart }, "lacks core5g-operator/Chart.yaml"},
		"no chart of UPFs":                   {func(m *contents) { m.UPFChart = m.OperatorChart }, "lacks core5g-upf/Chart.yaml"},
		"a function whose image nobody made": {func(m *contents) { m.LeftOut = m.LeftOut[:1] }, "which the release does not have"},
		"a package of another architecture":  {func(m *contents) { m.Packages[0].Arch = "arm64" }, "package core5g-upf for arm64: "},
		"an image the chart knows, unlisted": {func(m *contents) { m.Images = m.Images[1:] }, "images.digests"},
	} {
		t.Run(sentence, func(t *testing.T) {
			folder, _ := signed(t)
			m, _, err := readManifest(filepath.Join(folder, manifestFile))
			if err != nil {
				t.Fatal(err)
			}
			test.change(m)
			if err := writeManifest(folder, m); err != nil {
				t.Fatal(err)
			}
			if _, err := verify(folder, ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), from, to, 1)
	if changed == string(text) {
		t.Fatalf("no %q in %s", from, path)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheChartGoesOnToKnowTheReleaseBefore(t *testing.T) {
	r := built(t)
	before := mustAssemble(t, r, nil)
	r.previous = filepath.Join(r.out, manifestFile)
	r.out += "-next"
	if _, err := r.assemble(nil); err == nil || !strings.Contains(err.Error(), "name the release before") {
		t.Errorf("a release that follows itself: %v", err)
	}
	r.version = "1.3.0"
	if err := os.RemoveAll(filepath.Join(r.built, "packages")); err != nil { // they are of 1.2.3
		t.Fatal(err)
	}
	m := mustAssemble(t, r, nil)
	want := map[string]map[string]string{"1.2.3": {}, "1.3.0": {}}
	for _, i := range before.Images {
		want["1.2.3"][i.Name] = i.Digest
	}
	for _, i := range m.Images {
		want["1.3.0"][i.Name] = i.Digest
	}
	for name, archive := range map[string]string{coreChart: m.Chart, operatorChart: m.OperatorChart} {
		c, err := readChart(filepath.Join(r.out, archive), name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Digests); diff != "" {
			t.Errorf("digests of %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPackagedChartsStandAlone takes the charts without the sources: what is a link there is a file in the archive.
func TestPackagedChartsStandAlone(t *testing.T) {
	r := built(t)
	m := mustAssemble(t, r, nil)
	names := func(archive string) map[string]bool {
		t.Helper()
		entries, err := readTarGz(filepath.Join(r.out, archive))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, e := range entries {
			_, name, _ := strings.Cut(e.name, "/")
			found[name] = true
		}
		return found
	}
	core, operator, upf := names(m.Chart), names(m.OperatorChart), names(m.UPFChart)
	for name := range core {
		if shared := strings.HasPrefix(name, "files/") || strings.HasPrefix(name, "templates/operator/"); shared && !operator[name] {
			t.Errorf("%s lacks %s", m.OperatorChart, name)
		}
	}
	for _, name := range []string{"files/rbac/operator-namespaced.yaml", "templates/operator/deployment.yaml", "values.schema.json", "README.md"} {
		if !operator[name] {
			t.Errorf("%s lacks %s", m.OperatorChart, name)
		}
	}
	for name := range upf {
		if strings.HasPrefix(name, "files/") {
			t.Errorf("%s has %s", m.UPFChart, name)
		}
	}
	if !upf["templates/upfinstance.yaml"] {
		t.Errorf("%s has %v", m.UPFChart, upf)
	}
}

func TestAssembleRefuses(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(t *testing.T, r *inputs)
		want   string
	}{
		"a v before the version":  {func(_ *testing.T, r *inputs) { r.version = "v1.2.3" }, "write it as SemVer does"},
		"build metadata":          {func(_ *testing.T, r *inputs) { r.version = "1.2.3+4" }, "write it as SemVer does"},
		"two numbers":             {func(_ *testing.T, r *inputs) { r.version = "1.2" }, "write it as SemVer does"},
		"a folder with files":     {func(t *testing.T, r *inputs) { write(t, filepath.Join(r.out, "old"), "x") }, "is not empty"},
		"nothing built":           {func(t *testing.T, r *inputs) { r.built = t.TempDir() }, "no images/<os>-<arch>/<name>.tar"},
		"an image without a bill": {func(t *testing.T, r *inputs) { remove(t, filepath.Join(r.built, "images/linux-amd64/amf.cdx.json")) }, "amf.cdx.json"},
		"an image of another arch": {func(t *testing.T, r *inputs) {
			dockerArchive(t, filepath.Join(r.built, "images/linux-arm64/operator.tar"), "amd64", "x")
		}, "operator in linux-arm64 is for linux/amd64"},
		"no reason":         {func(t *testing.T, r *inputs) { write(t, filepath.Join(r.built, "left-out"), "amf all\n") }, "want image, platform and reason"},
		"no release before": {func(_ *testing.T, r *inputs) { r.previous = "nowhere.json" }, "nowhere.json is not there"},
		"no plug-in":        {func(t *testing.T, r *inputs) { remove(t, filepath.Join(r.built, "plugin")) }, "no plugin/<os>-<arch>/kubectl-core5g"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := built(t)
			test.change(t, r)
			if _, err := r.assemble(nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestKeyOfEnvironment(t *testing.T) {
	folder := t.TempDir()
	plain := filepath.Join(folder, "plain")
	if err := newKey(plain); err != nil {
		t.Fatal(err)
	}
	private, err := keyOfEnvironment(func(v string) string { return map[string]string{keyFile: plain}[v] })
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := minisign.EncryptKey("correct", *private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "sealed"), string(sealed))
	for sentence, test := range map[string]struct {
		file, password string
		want           string // a part of the error
	}{
		"without a password":          {"plain", "", ""},
		"with its password":           {"sealed", "correct", ""},
		"with another password":       {"sealed", "wrong", keyPassword},
		"a password that nobody says": {"sealed", "", "say it in " + keyPassword},
		"the public half":             {"plain.pub", "", "no secret key"},
		"a file that is not there":    {"none", "", keyFile},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := keyOfEnvironment(func(v string) string {
				return map[string]string{keyFile: filepath.Join(folder, test.file), keyPassword: test.password}[v]
			})
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("%v, want %q in it", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(*private) {
				t.Error("it is another key")
			}
		})
	}
	if none, err := keyOfEnvironment(func(string) string { return "" }); none != nil || err != nil {
		t.Errorf("no key named: %v, %v", none, err)
	}
	if info, err := os.Stat(plain); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret key is for others too: %v, %v", info.Mode(), err)
	}
	if err := newKey(plain); err == nil {
		t.Error("a key was written over another")
	}
}

func TestReleaseValues(t *testing.T) {
	text := "images:\n  # why\n  tag: dev\n  digests: {}\nother: 1\n"
	got, err := releaseValues(text, "1.2.3", map[string]map[string]string{"1.2.3": {"b": "sha256:2", "a": "sha256:1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "images:\n  # why\n  tag: \"1.2.3\"\n  digests:\n    \"1.2.3\":\n      a: \"sha256:1\"\n      b: \"sha256:2\"\nother: 1\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := releaseValues("images: {}\n", "1.2.3", nil); err == nil {
		t.Error("values without a tag were taken")
	}
}

func TestKrewManifest(t *testing.T) {
	r := built(t)
	r.url = "https://releases.example.org/1.2.3/"
	m := mustAssemble(t, r, nil)
	text, err := os.ReadFile(filepath.Join(r.out, "core5g-krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Plugins) != 2 {
		t.Fatalf("plug-ins: %v", m.Plugins)
	}
	for _, p := range m.Plugins {
		sum, _, err := digestOf(filepath.Join(r.out, p.Archive))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"sha256: " + sum, "uri: https://releases.example.org/1.2.3/" + p.Archive} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

func TestManifestIsReadStrictly(t *testing.T) {
	file := filepath.Join(t.TempDir(), manifestFile)
	text, err := json.Marshal(map[string]string{"name": "core5g", "verison": "1"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text))
	if _, _, err := readManifest(file); err == nil || !strings.Contains(err.Error(), "verison") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestPackagesAreOfTheRelease(t *testing.T) {
	for sentence, test := range map[string]struct{ text, control, want string }{
		"another version":                     {control: "Package: core5g-upf\nVersion: 1.2.2\nArchitecture: amd64\n", want: "of version 1.2.2, want 1.2.3"},
		"a package that does not name itself": {control: "Version: 1.2.3\n", want: "its control file says"},
		"no package":                          {text: "a text", want: "does not begin as"},
		"one that is cut off":                 {text: "!<arch>\n" + fmt.Sprintf("%-48s%-10d`\n", "control.tar.gz", 100), want: "is cut off"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := built(t)
			deb := filepath.Join(r.built, "packages", "core5g-upf_1.2.3_amd64.deb")
			if debianArchive(t, deb, test.control); test.text != "" {
				write(t, deb, test.text)
			}
			if _, err := r.assemble(nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
	for version, want := range map[string]string{"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3~rc.1", "1.2.3-a-b": "1.2.3~a.b"} {
		if got := debianVersion(version); got != want {
			t.Errorf("%s is %s for Debian, want %s", version, got, want)
		}
	}
}
