package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func treeOf(files ...file) tree {
	t := tree{paths: map[string]bool{".": true}}
	for _, f := range files {
		t.add(f)
	}
	return t
}

func text(path, content string) file { return file{path: path, content: []byte(content)} }

const definition = `
spec:
  group: core5g.dev
  names: {kind: X}
  versions:
  - name: v1beta1
    served: true
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, x-kubernetes-validations: [{rule: self <= 10, message: write at most 10}]}
`

func TestChecks(t *testing.T) {
	tests := []struct {
		name  string
		check func(tree) (int, []string)
		files []file
		want  []string
	}{
		{name: "links to files, folders and headings that exist", check: links, files: []file{
			text("README.md", "[a](docs/a.md) [b](docs) ![c](docs/a.md#two-words-here) [d](#top)\n# Top\n`docs/a.md` `out/bin/helm`\n"),
			text("docs/a.md", "## Two words, here!\n[up](../README.md \"title\") [web](https://example.org/x)\n`a.md`\n")}},
		{name: "a link to a file that is not there", check: links,
			files: []file{text("docs/a.md", "text\n[x](b.md)\n")},
			want:  []string{"docs/a.md:2: link b.md leads nowhere: there is no docs/b.md"}},
		{name: "a link to a heading that is not there", check: links,
			files: []file{text("a.md", "[x](#one)\n# Two\n")}, want: []string{"a.md:1: link #one: a.md has no such heading"}},
		{name: "an absolute link", check: links,
			files: []file{text("a.md", "[x](/etc/passwd)\n")}, want: []string{"a.md:1: link /etc/passwd is absolute: write it relative to the document"}},
		{name: "a path in code quotes that is not there", check: links,
			files: []file{text("hack/x.sh", ""), text("a.md", "run `hack/y.sh`, see `example/y.sh`\n")}, want: []string{"a.md:1: there is no hack/y.sh"}},
		{name: "code blocks hold no links", check: links, files: []file{text("a.md", "```\n[x](y)\n# no heading\n```\n")}},
		{name: "code quotes hold no links, but links may hold code", check: links, files: []file{text("a.md", "`[0-9a-f](:[0-9])` [`f()`](b.c)\n")},
			want: []string{"a.md:1: link b.c leads nowhere: there is no b.c"}},
		{name: "the second heading of a name has a number", check: links, files: []file{text("a.md", "# A\n# A\n[x](#a-1)\n")}},
		{name: "YAML of several documents", check: yamlFiles, files: []file{text("a.yaml", "a: 1\n---\nb: [2]\n"), text("charts/c/templates/t.yaml", "{{ x }}")}},
		{name: "broken YAML", check: yamlFiles, files: []file{text("a.yaml", "a: [1\n")},
			want: []string{"a.yaml: error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'"}},
		{name: "paths that say nothing of a machine", check: machinePaths,
			files: []file{text("a", "/var/run /workdir ./work/x $HOME/work/x out/work/y golang.org/x/tools /home /root\n")}},
		{name: "a work folder", check: machinePaths, files: []file{text("a", "ok\ncd /work/jane\n")},
			want: []string{"a:2: names a work folder: cd /work/jane"}},
		{name: "modules that share what they need", check: modules, files: []file{
			text("go.mod", "module a\nrequire k8s.io/client-go v0.34.4\nrequire (\n\tb.c/d v1.2.0\n\te.f/g v1.0.0 // indirect\n)\n"),
			text("hack/x/go.mod", "module x\nrequire (\n\tk8s.io/client-go v0.34.0\n\tb.c/d v1.2.0\n)\nreplace k8s.io/client-go => k8s.io/client-go v0.34.4\n"),
			text("hack/y/go.mod", "module y\nrequire (\n\tk8s.io/client-go v0.30.0\n\tb.c/d v1.0.0\n)\n")}},
		{name: "modules that have it in several versions", check: modules, files: []file{
			text("go.mod", "module a\nrequire (\n\tk8s.io/client-go v0.34.4\n\tb.c/d v1.2.0\n)\n"),
			text("hack/x/go.mod", "module x\nrequire (\n\tk8s.io/client-go v0.34.4\n\tb.c/d v1.3.0\n)\n")},
			want: []string{"b.c/d: v1.2.0 in go.mod, v1.3.0 in hack/x/go.mod: write one version, so that what needs it is compiled once"}},
		{name: "a go.mod that cannot be read", check: modules, files: []file{text("go.mod", "module a\nrequire\n")},
			want: []string{"go.mod:2: usage: require module/path v1.2.3"}},
		{name: "a home folder", check: machinePaths, files: []file{text("a", "x=/home/jane/src\n")},
			want: []string{"a:1: names a home folder: x=/home/jane/src"}},
		{name: "a mirror", check: machinePaths, files: []file{text("a", "export GOPROXY=http://mirror.example\n")},
			want: []string{"a:1: names an address of a package mirror: export GOPROXY=http://mirror.example"}},
		{name: "a private key", check: machinePaths, files: []file{text("a", "-----BEGIN EC PRIVATE KEY-----\n")},
			want: []string{"a:1: names a private key: -----BEGIN EC PRIVATE KEY-----"}},
		{name: "binary files are not read", check: machinePaths, files: []file{text("a", "\x00/work/jane\n")}},
		{name: "scripts as they should be", check: scripts, files: []file{
			{path: "a.sh", content: []byte("#!/usr/bin/env bash\n# Does.\nset -euo pipefail\n"), executable: true},
			{path: "b", content: []byte("#!/bin/sh\n"), executable: true}, text("c.go", "package c\n"), text("empty", "")}},
		{name: "scripts that cannot be run, and the other way round", check: scripts, files: []file{
			text("a.sh", "#!/bin/sh\n"), {path: "b.go", content: []byte("package b\n"), executable: true},
			{path: "c.sh", content: []byte("#!/bin/bash\necho\n"), executable: true}},
			want: []string{"a.sh: begins with #! and cannot be run: chmod +x", "b.go: can be run and begins with no #!: chmod -x",
				"c.sh: has no `set -euo pipefail`"}},
		{name: "functions, types and files that are there", check: codeNames, files: []file{
			text("upf/a.c", "static int\npoll(struct pkt *p)\n{\n}\n#define EACH(x) x\n"), text("upf/a.h", "struct pkt {\n};\nenum port {\n};\n"),
			text("upf/b/b.go", "package b\n\ntype Conn struct {\n\tlost bool\n}\n\nfunc (c *Conn) Dial() {}\n\nfunc open(a int) {}\n"),
			text("upf/t.py", "def receive(a):\n"), text("upf/b/b_test.go", "package b\n\ntype list struct {\n\tn int\n}\n"),
			text("docs/walk.md", "`list.txt`, [`poll()`](../upf/a.c), `EACH()`, `open()`, `receive()`, `Conn.Dial`, `Conn.lost`, `struct pkt`, `enum port`, `b/b.go`, `a.h`, `x < y`\n```\n`gone()`\n```\n")}},
		{name: "functions, types and files that are gone", check: codeNames, files: []file{
			text("upf/a.c", "int\npoll(void)\n{\n\tcalled();\n}\n"), text("upf/b.c", "int\npull(void)\n{\n}\n"), text("upf/c.go", "package c\n\nfunc (c *Conn) Dial() {}\n"),
			text("README.md", "`gone()`\n"),
			text("docs/walk.md", "`called()` `Conn.Close` `struct pkt` `d.go`\n[`poll()`](../upf/b.c)\n")},
			want: []string{"docs/walk.md:1: there is no function called()", "docs/walk.md:1: there is no Conn.Close", "docs/walk.md:1: there is no struct pkt",
				"docs/walk.md:1: there is no file d.go", "docs/walk.md:2: poll() is not defined in upf/b.c"}},
		{name: "includes that lean one way", check: includes, files: []file{
			text("upf/upfu/a/top.c", "#include \"a/top.h\"\n#include <a/top.h>\n#include \"b/floor.h\"\n#include \"upf_abi.h\"\n"), text("upf/upfu/a/top.h", ""), text("upf/upfu/b/floor.h", ""),
			text("docs/x.c", "#include \"docs/y.h\"\n"), text("docs/y.c", "#include \"docs/x.h\"\n")}},
		{name: "a circle of includes", check: includes, files: []file{
			text("upf/upfu/a/one.c", "#include \"a/one.h\"\n#include \"b/two.h\"\n"), text("upf/upfu/b/two.h", "#include \"b/three.h\"\n"), text("upf/upfu/b/three.c", "#include \"a/one.h\"\n")},
			want: []string{"upf/upfu/a/one.h: a circle of includes: a/one > b/two > b/three > a/one"}},
		{name: "shell blocks that a shell can read", check: shellBlocks, files: []file{
			text("a.md", "1. In a list:\n   ```sh\n   for i in 1 2; do\n     echo \"$i\"\n   done\n   ```\n```\nif this is no shell's\n```\n")}},
		{name: "a shell block that no shell can read", check: shellBlocks, files: []file{text("a.md", "x\n```sh\nif true\n```\n")},
			want: []string{"a.md:3: bash cannot read this block: bash: line 2: syntax error: unexpected end of file"}},
		{name: "commands that are there", check: commands, files: []file{
			text("Makefile", ".PHONY: up $(ALL) e2e\nup test: x\n\tdo\n"), text("upf/Makefile", "bench-upf:\n"), text("upf/abi/Makefile", "generate:\n"),
			text(pluginUsage, "const Usage = `\n  kubectl core5g status   x\n  kubectl core5g sessions\n`\n"),
			text(valuesSchema, `{"properties": {"a": {"properties": {"list": {"items": {"properties": {"b": {}}}}, "map": {"additionalProperties": {}}}}}}`),
			text("hack/x.sh", ""), text("upf/README.md", "`make -C abi generate`\n"),
			text("a.md", "`make up`, a second time; `make -C upf bench-upf BASE=x`\n\n    CORE5G_CLUSTER=kind make up   # comment\n```\nsudo make test; make e2e && ok\n"+
				"kubectl core5g -n core5g status | kubectl core5g help\nhack/x.sh y\nhelm upgrade x --set a.map.any=1 --set-json 'a.list[0].b=[]'\ngo test ./upf/...\n```\nWe make do.\n")}},
		{name: "commands that are not", check: commands, files: []file{
			text("Makefile", "up:\n"), text(pluginUsage, "  kubectl core5g status\n"), text(valuesSchema, `{"properties": {"a": {"properties": {"b": {}}}}}`), text("hack/x.sh", ""),
			text("a.md", "`make down`\n```\nkubectl core5g -n x sesions\nhelm install --set a.c=1\nhack/y.sh\n```\n")},
			want: []string{"a.md:1: there is no make target down", "a.md:3: kubectl core5g has no command sesions", "a.md:4: the chart has no value a.c", "a.md:5: there is no hack/y.sh"}},
		{name: "tests that a long run takes, or a short one", check: shortTests, files: []file{
			text("Makefile", "INTEGRATION    := Integration|Envtest\nINTEGRATION_IN := operators upf\n"),
			text("operators/a_test.go", "func TestEnvtestA(t *testing.T) {\n\tif testing.Short() {\n}\nfunc TestB(t *testing.T) {\n}\nfunc helper() {\n\tif testing.Short() {\n"),
			text("images/a_test.go", "func TestC(t *testing.T) {\n\tif testing.Short() {\n")}},
		{name: "a test that nobody runs", check: shortTests, files: []file{
			text("Makefile", "INTEGRATION    := Integration|Envtest\nINTEGRATION_IN := operators upf\n"),
			text("upf/a_test.go", "func TestA(t *testing.T) {\n\tif testing.Short() {\n")},
			want: []string{"upf/a_test.go:2: TestA runs nowhere: `make unit` is short, and `make integration` runs what has Integration or Envtest in its name"}},
		{name: "a Makefile that does not say which", check: shortTests, files: []file{text("Makefile", "integration:\n\t@go test ./upf/...\n")},
			want: []string{"Makefile: no INTEGRATION and INTEGRATION_IN, by which tests are looked for that a short run leaves out"}},
		{name: "examples that the API server takes", check: examples, files: []file{
			text("operators/config/crd/x.yaml", definition), text("manifests/x.yaml", "apiVersion: v1\nkind: Secret\n---\napiVersion: core5g.dev/v1alpha1\nkind: X\nspec: {size: 3}\n"),
			text("a.md", "```yaml\nsnippet: [1]\n```\n")}},
		{name: "examples that it refuses", check: examples, files: []file{
			text("operators/config/crd/x.yaml", definition),
			text("manifests/x.yaml", "apiVersion: core5g.dev/v1alpha1\nkind: X\nspec: {size: 3, m: 1}\n---\napiVersion: core5g.dev/v1alpha1\nkind: Other\n---\napiVersion: core5g.dev/v1\nkind: X\n---\napiVersion: core5g.dev/v1beta1\nkind: X\n"),
			text("a.md", "text\n```yaml\napiVersion: core5g.dev/v1alpha1\nkind: X\nspec: {size: 13}\n```\n```yaml\na: [\n```\n")},
			want: []string{"manifests/x.yaml: X: unknown field spec.m", "manifests/x.yaml: there is no kind Other",
				"manifests/x.yaml: core5g.dev/v1 is no version of X: write one of core5g.dev/v1beta1, core5g.dev/v1alpha1",
				`a.md:3: X: spec.size: Invalid value: "integer": write at most 10`,
				"a.md:8: error converting YAML to JSON: yaml: line 1: did not find expected node content"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, wrong := test.check(treeOf(test.files...))
			if diff := cmp.Diff(test.want, wrong); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}
