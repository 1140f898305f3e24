package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// What documents say in code quotes of the code: functions, methods, C structs and source files.
var (
	inQuotes   = regexp.MustCompile("`([^`]+)`")
	namedFunc  = regexp.MustCompile(`^([A-Za-z_]\w*)\(\)$`)
	namedType  = regexp.MustCompile(`^([A-Za-z]\w*)\.([A-Za-z]\w*)(?:\(\))?$`)
	namedC     = regexp.MustCompile(`^(struct|enum) ([a-z]\w*)$`)
	namedFile  = regexp.MustCompile(`^(?:[\w.-]+/)*[\w.-]+\.(?:c|h|go|py)$`)
	linkedFunc = regexp.MustCompile("\\[`([A-Za-z_]\\w*)\\(\\)`\\]\\(([^)#]+\\.(?:c|h|go))\\)")

	// Definitions: Go's, and C's with the name at the beginning of a line.
	goDefinition     = regexp.MustCompile(`(?m)^func (?:\(\w*\s*\*?(\w+)(?:\[\w+\])?\) )?(\w+)[\[(]`)
	goMember         = regexp.MustCompile(`(?m)^type (\w+) (?:struct|interface) \{\n((?:.*\n)*?)\}`)
	goMemberName     = regexp.MustCompile(`(?m)^\t(\w+)`)
	cDefinition      = regexp.MustCompile(`(?m)^(?:#define )?(\w+)\(`)
	cTypeDefinition  = regexp.MustCompile(`(?m)^\s*(?:typedef )?(struct|enum) (\w+)\s*\{`)
	pythonDefinition = regexp.MustCompile(`(?m)^\s*def (\w+)\(`)
)

// definitions are the names that the sources define.
type definitions struct {
	functions map[string]map[string]bool // by name, the files
	members   map[string]bool            // Type.Member
	types     map[string]bool            // struct name, enum name, Go types
	files     []string
}

func define(t tree) definitions {
	d := definitions{functions: map[string]map[string]bool{}, members: map[string]bool{}, types: map[string]bool{}}
	function := func(name, file string) {
		if d.functions[name] == nil {
			d.functions[name] = map[string]bool{}
		}
		d.functions[name][file] = true
	}
	for _, f := range t.files {
		text := string(f.content)
		switch path.Ext(f.path) {
		case ".go":
			for _, m := range goDefinition.FindAllStringSubmatch(text, -1) {
				function(m[2], f.path)
				d.members[m[1]+"."+m[2]] = true
				d.types[m[1]] = d.types[m[1]] || !ofATest(f.path, m[1])
			}
			for _, m := range goMember.FindAllStringSubmatch(text, -1) {
				d.types[m[1]] = d.types[m[1]] || !ofATest(f.path, m[1])
				for _, n := range goMemberName.FindAllStringSubmatch(m[2], -1) {
					d.members[m[1]+"."+n[1]] = true
				}
			}
		case ".c", ".h":
			for _, m := range cDefinition.FindAllStringSubmatch(text, -1) {
				function(m[1], f.path)
			}
			for _, m := range cTypeDefinition.FindAllStringSubmatch(text, -1) {
				d.types[m[1]+" "+m[2]] = true
			}
		case ".py":
			for _, m := range pythonDefinition.FindAllStringSubmatch(text, -1) {
				function(m[1], f.path)
			}
		default:
			continue
		}
		d.files = append(d.files, f.path)
	}
	return d
}

// ofATest: what has the name of a test's own type, such as `sessions.txt`, is something else.
func ofATest(file, name string) bool {
	return strings.HasSuffix(file, "_test.go") && name != "" && !unicode.IsUpper(rune(name[0]))
}

func (d *definitions) hasFile(name string) bool {
	for _, f := range d.files {
		if f == name || strings.HasSuffix(f, "/"+name) {
			return true
		}
	}
	return false
}

// codeNames checks that what the documents in docs and upf name in code quotes is there: `name()`,
// `Type.Method`, `struct name` and source files; and that a function which is a link is defined where
// the link leads.
func codeNames(t tree) (looked int, wrong []string) {
	d := define(t)
	for _, f := range t.files {
		if !strings.HasSuffix(f.path, ".md") || !strings.HasPrefix(f.path, "docs/") && !strings.HasPrefix(f.path, "upf/") {
			continue
		}
		if strings.HasPrefix(string(f.content), "<!-- Generated") {
			continue // it names fields of the API, as its generator found them
		}
		fenced := false
		for i, line := range f.lines() {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			complain := func(format string, args ...any) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s", f.path, i+1, fmt.Sprintf(format, args...)))
			}
			for _, quoted := range inQuotes.FindAllStringSubmatch(line, -1) {
				word := quoted[1]
				if m := namedFunc.FindStringSubmatch(word); m != nil && !strings.HasPrefix(m[1], "rte_") { // DPDK names its own
					looked++
					if d.functions[m[1]] == nil {
						complain("there is no function %s()", m[1])
					}
				} else if m := namedFile.FindStringSubmatch(word); m != nil {
					looked++
					if !d.hasFile(word) {
						complain("there is no file %s", word)
					}
				} else if m := namedType.FindStringSubmatch(word); m != nil && (unicode.IsUpper(rune(word[0])) || d.types[m[1]]) {
					looked++ // others are packages, and keys of configuration
					if !d.members[m[1]+"."+m[2]] {
						complain("there is no %s", word)
					}
				} else if m := namedC.FindStringSubmatch(word); m != nil {
					looked++
					if !d.types[word] {
						complain("there is no %s", word)
					}
				}
			}
			for _, link := range linkedFunc.FindAllStringSubmatch(line, -1) {
				target := path.Join(path.Dir(f.path), link[2])
				if d.functions[link[1]] != nil && !d.functions[link[1]][target] {
					complain("%s() is not defined in %s", link[1], target)
				}
			}
		}
	}
	return looked, wrong
}
