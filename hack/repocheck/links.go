package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	// inlineLink is [text](target "title"), image or not.
	inlineLink = regexp.MustCompile(`\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	// pathInCode is a path with a folder in code quotes, for example `hack/cluster.sh` or `upf/upfu/`.
	pathInCode = regexp.MustCompile("`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+/?)`")
	heading    = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
)

// links checks the relative links of every document, and the paths that it names in code quotes when
// their first folder is one of ours.
func links(t tree) (looked int, wrong []string) {
	anchors := map[string]map[string]bool{}
	for _, f := range t.files {
		if strings.HasSuffix(f.path, ".md") {
			anchors[f.path] = anchorsOf(f)
		}
	}
	for _, f := range t.files {
		if !strings.HasSuffix(f.path, ".md") {
			continue
		}
		fenced := false
		for i, line := range f.lines() {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			// A pattern in code quotes may look like a link.
			plain := inQuotes.ReplaceAllStringFunc(line, func(code string) string { return strings.Repeat("`", len(code)) })
			for _, match := range inlineLink.FindAllStringSubmatch(plain, -1) {
				if strings.Contains(match[1], "://") || strings.HasPrefix(match[1], "mailto:") {
					continue
				}
				looked++
				if complaint := followLink(t, anchors, f.path, match[1]); complaint != "" {
					wrong = append(wrong, fmt.Sprintf("%s:%d: %s", f.path, i+1, complaint))
				}
			}
			for _, match := range pathInCode.FindAllStringSubmatch(line, -1) {
				target := strings.TrimSuffix(match[1], "/")
				top, _, _ := strings.Cut(target, "/")
				if !t.paths[top] || t.paths[path.Join(path.Dir(f.path), target)] {
					continue // not one of our folders, or a path seen from the document's own folder
				}
				looked++
				if !t.paths[target] && !generatedPath(target) {
					wrong = append(wrong, fmt.Sprintf("%s:%d: there is no %s", f.path, i+1, target))
				}
			}
		}
	}
	return looked, wrong
}

// generatedPath reports paths that exist only after a build.
func generatedPath(target string) bool { return target == "out" || strings.HasPrefix(target, "out/") }

func followLink(t tree, anchors map[string]map[string]bool, from, link string) string {
	target, anchor, _ := strings.Cut(link, "#")
	resolved := from
	if target != "" {
		resolved = path.Join(path.Dir(from), target)
		if strings.HasPrefix(target, "/") {
			return fmt.Sprintf("link %s is absolute: write it relative to the document", link)
		}
		if !t.paths[resolved] {
			return fmt.Sprintf("link %s leads nowhere: there is no %s", link, resolved)
		}
	}
	if anchor != "" && anchors[resolved] != nil && !anchors[resolved][anchor] {
		return fmt.Sprintf("link %s: %s has no such heading", link, resolved)
	}
	return ""
}

// anchorsOf returns the anchors that code hosts give a document's headings: lower case, punctuation
// dropped, blanks to hyphens, a number behind what came before.
func anchorsOf(f file) map[string]bool {
	anchors := map[string]bool{}
	fenced := false
	for _, line := range f.lines() {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		match := heading.FindStringSubmatch(line)
		if fenced || match == nil {
			continue
		}
		var b strings.Builder
		for _, r := range strings.ToLower(match[1]) {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		anchor := b.String()
		for n := 1; anchors[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", b.String(), n)
		}
		anchors[anchor] = true
	}
	return anchors
}
