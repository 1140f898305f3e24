package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRecipe(t *testing.T) {
	got, err := parseRecipe([]byte(`
base: scratch
entrypoint: [/upf-u]
user: "1000:1000"
env: {B: "2", A: "1"}
libs: auto
files:
  - {from: out/bin/upf-u, to: /upf-u, mode: "0755", owner: "1000:1000", capabilities: [cap_net_raw]}
dirs: [{path: /run/upf, mode: "0770"}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &recipe{
		Base: "scratch", Entrypoint: []string{"/upf-u"}, User: "1000:1000",
		Env: map[string]string{"A": "1", "B": "2"}, Libs: "auto",
		Files: []fileEntry{{
			From: "out/bin/upf-u", To: "/upf-u", Mode: 0o755, Owner: owner{1000, 1000},
			Capabilities: []string{"cap_net_raw"},
		}},
		Dirs: []dirEntry{{Path: "/run/upf", Mode: 0o770}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(owner{})); diff != "" {
		t.Errorf("recipe (-want +got):\n%s", diff)
	}
}

func TestParseRecipeNamesTheKey(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":               {"entrypoint: [/a]\nentrypont: [/b]", "entrypont"},
		"an unknown key below a list":  {"entrypoint: [/a]\nfiles: [{from: a, to: /a, modes: \"0755\"}]", "files[0].modes"},
		"a mode that is a number":      {"entrypoint: [/a]\nfiles: [{from: a, to: /a, mode: 0755}]", "in quotes"},
		"a mode that is not octal":     {"entrypoint: [/a]\nfiles: [{from: a, to: /a, mode: \"0855\"}]", `mode "0855"`},
		"an owner without a group":     {"entrypoint: [/a]\nfiles: [{from: a, to: /a, owner: \"1000\"}]", `owner "1000"`},
		"nothing to run":               {"user: \"1\"", "entrypoint"},
		"a base that must be pulled":   {"base: debian\nentrypoint: [/a]", "base"},
		"libraries by hand":            {"libs: [libc]\nentrypoint: [/a]", "libs"},
		"a file without a source":      {"entrypoint: [/a]\nfiles: [{to: /a}]", "files[0].from"},
		"a file without a place":       {"entrypoint: [/a]\nfiles: [{from: a}]", "files[0].to"},
		"a relative place":             {"entrypoint: [/a]\nfiles: [{from: a, to: b}]", "files[0].to"},
		"a place that climbs":          {"entrypoint: [/a]\nfiles: [{from: a, to: /a/../b}]", "files[0].to"},
		"capabilities of both kinds":   {"entrypoint: [/a]\nfiles: [{from: a, to: /a, capabilities: [cap_net_raw], permitted: [cap_net_admin]}]", "write capabilities or permitted"},
		"a capability misspelt":        {"entrypoint: [/a]\nfiles: [{from: a, to: /a, capabilities: [net_raw]}]", "files[0].capabilities"},
		"a relative working directory": {"entrypoint: [/a]\nworkdir: a", "workdir"},
		"a link to nowhere":            {"entrypoint: [/a]\nsymlinks: [{path: /a}]", "symlinks[0].target"},
		"a directory without a path":   {"entrypoint: [/a]\ndirs: [{mode: \"0755\"}]", "dirs[0].path"},
		"two documents' worth of text": {"entrypoint: [/a\n", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseRecipe([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that names %s", err, c.want)
			}
		})
	}
}

func FuzzParseRecipe(f *testing.F) {
	f.Add([]byte("entrypoint: [/a]\nfiles: [{from: a, to: /a, mode: \"0755\"}]"))
	f.Add([]byte("dirs: [{path: /x}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecipe(text)
		if err != nil {
			return
		}
		for _, file := range r.Files {
			if !strings.HasPrefix(file.To, "/") || strings.Contains(file.To+"/", "/../") {
				t.Errorf("place %q was accepted", file.To)
			}
		}
	})
}
