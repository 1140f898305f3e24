package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// block is a fenced block of a document; line is that of its first line of text.
type block struct {
	language string
	line     int
	text     string
}

// blocksOf returns the fenced blocks of a document, without the indentation that a list gives them.
func blocksOf(f file) []block {
	var (
		all    []block
		open   bool
		indent string
		now    block
	)
	for i, line := range f.lines() {
		trimmed := strings.TrimSpace(line)
		switch {
		case !open && strings.HasPrefix(trimmed, "```"):
			open, indent = true, line[:strings.Index(line, "`")]
			now = block{language: strings.TrimLeft(trimmed, "`"), line: i + 2}
		case open && strings.HasPrefix(trimmed, "```"):
			open = false
			all = append(all, now)
		case open:
			now.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	return all
}

// shellBlocks has bash read every block that calls itself a shell's.
func shellBlocks(t tree) (looked int, wrong []string) {
	for _, f := range t.documents() {
		for _, b := range blocksOf(f) {
			if b.language != "sh" && b.language != "bash" {
				continue
			}
			looked++
			check := exec.Command("bash", "-n")
			check.Stdin = strings.NewReader(b.text)
			var said bytes.Buffer
			check.Stderr = &said
			if err := check.Run(); err != nil {
				first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
				wrong = append(wrong, fmt.Sprintf("%s:%d: bash cannot read this block: %s", f.path, b.line, first))
			}
		}
	}
	return looked, wrong
}

// What documents tell their readers to type.
var (
	makeCall     = regexp.MustCompile(`^(?:\$ )?(?:[A-Z0-9_]+=\S+ +)*(?:sudo )?make((?: +[^ #&|;]+)+)`)
	pluginCall   = regexp.MustCompile(`\bkubectl core5g(?: +-\S+(?: +[^ -]\S*)?)*? +([a-z][a-z-]*)`)
	pathCall     = regexp.MustCompile(`(?:^|[\s=(])((?:hack|manifests|charts|images|operators|upf|e2e|docs)/[A-Za-z0-9_./-]+)`)
	helmSet      = regexp.MustCompile(`--set(?:-json|-string)?[= ]+['"]?([A-Za-z0-9_.\[\]]+)=`)
	makeTarget   = regexp.MustCompile(`(?m)^([a-z][a-z0-9_ -]*):(?:[^=]|$)`)
	pluginVerb   = regexp.MustCompile(`(?m)^  kubectl core5g ([a-z]+)`)
	targetName   = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	makeVariable = regexp.MustCompile(`^[A-Z0-9_]+=`)
)

const (
	pluginUsage  = "operators/kubectlplugin/command.go"
	valuesSchema = "charts/core5g/values.schema.json"
)

// commands checks what is typed in the documents, in code quotes and in blocks: make targets, commands of
// the kubectl plug-in, paths of the repository and values of the chart exist.
func commands(t tree) (looked int, wrong []string) {
	targets := map[string]map[string]bool{}
	for _, f := range t.files {
		if path.Base(f.path) == "Makefile" {
			targets[path.Dir(f.path)] = targetsOf(f)
		}
	}
	verbs := map[string]bool{"help": true}
	var schema map[string]any
	for _, f := range t.files {
		switch f.path {
		case pluginUsage:
			for _, m := range pluginVerb.FindAllStringSubmatch(string(f.content), -1) {
				verbs[m[1]] = true
			}
		case valuesSchema:
			if err := json.Unmarshal(f.content, &schema); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", f.path, err))
			}
		}
	}
	for _, f := range t.documents() {
		fenced := false
		for i, line := range f.lines() {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
				continue
			}
			block := fenced || strings.HasPrefix(line, "    ")
			typed := []string{strings.TrimSpace(line)}
			if !block {
				typed = nil
				for _, m := range inQuotes.FindAllStringSubmatch(line, -1) {
					typed = append(typed, m[1])
				}
			}
			complain := func(format string, args ...any) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s", f.path, i+1, fmt.Sprintf(format, args...)))
			}
			for _, text := range typed {
				if m := makeCall.FindStringSubmatch(text); m != nil {
					looked++
					if missing := missingTarget(targets, path.Dir(f.path), m[1]); missing != "" {
						complain("there is no make target %s", missing)
					}
				}
				for _, m := range pluginCall.FindAllStringSubmatch(text, -1) {
					looked++
					if !verbs[m[1]] {
						complain("kubectl core5g has no command %s", m[1])
					}
				}
				for _, m := range helmSet.FindAllStringSubmatch(text, -1) {
					looked++
					if !hasValue(schema, m[1]) {
						complain("the chart has no value %s", m[1])
					}
				}
				if !block {
					continue // links looks at paths in code quotes
				}
				for _, m := range pathCall.FindAllStringSubmatch(text, -1) {
					target := strings.TrimRight(m[1], "/.")
					// Patterns such as ./operators/... and what stands below the document's own folder.
					if t.paths[path.Join(path.Dir(f.path), target)] || strings.Contains(m[1], "...") {
						continue
					}
					looked++
					if !t.paths[target] {
						complain("there is no %s", target)
					}
				}
			}
		}
	}
	return looked, wrong
}

// targetsOf returns the targets of a Makefile.
func targetsOf(f file) map[string]bool {
	targets := map[string]bool{}
	text := strings.ReplaceAll(string(f.content), "\\\n", " ")
	for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			targets[name] = true
		}
	}
	// Targets whose names are computed are declared.
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, ".PHONY:"); ok {
			for name := range strings.FieldsSeq(rest) {
				targets[name] = true
			}
		}
	}
	return targets
}

// missingTarget returns the first target of a call of make that the Makefile does not have which it means:
// seen from the root, or from the document's own folder.
func missingTarget(targets map[string]map[string]bool, from, call string) string {
	dir := "."
	words := strings.Fields(call)
	for i := 0; i < len(words); i++ {
		word := strings.TrimRight(words[i], ".,")
		switch {
		case word == "-C" && i+1 < len(words):
			i++
			dir = path.Clean(words[i])
		case strings.HasPrefix(word, "-") || makeVariable.MatchString(word) || word == "":
		case !targetName.MatchString(word):
			return "" // no longer a call: `make up, a second time`
		case !targets[dir][word] && !targets[path.Join(from, dir)][word]:
			return word
		}
	}
	return ""
}

// hasValue follows a path of helm's --set through the schema of the values.
func hasValue(schema map[string]any, value string) bool {
	now := schema
	for name := range strings.SplitSeq(value, ".") {
		name, _, list := strings.Cut(name, "[")
		properties, _ := now["properties"].(map[string]any)
		next, ok := properties[name].(map[string]any)
		if !ok {
			// A map of any keys, and what another definition describes.
			_, open := now["additionalProperties"].(map[string]any)
			_, elsewhere := now["$ref"]
			return open || elsewhere
		}
		if now = next; list {
			now, _ = now["items"].(map[string]any)
		}
	}
	return true
}
