// Package spdx names licences by their texts: the few that Go modules have, by phrases that no other
// licence has. A text that it does not know has no name; it never guesses.
package spdx

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A rule gives a name to a text that has all phrases and none of the others.
type rule struct {
	name         string
	has, without []string
}

const (
	bsd = "redistribution and use in source and binary forms"
	isc = "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"
	// ISC without "and/or", as OpenBSD wrote it at first.
	iscOld = "permission to use, copy, modify, and distribute this software for any purpose with or without fee"
	notice = "provided that the above copyright notice"
)

// The third clause of BSD has many wordings; they all speak of names and of endorsement.
var endorse = []string{bsd, "endorse or promote products"}

var rules = []rule{
	{"Apache-2.0", []string{"apache license", "version 2.0"}, nil},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}, nil},
	{"BSD-3-Clause", endorse, nil},
	{"BSD-2-Clause", []string{bsd}, []string{"endorse or promote products"}},
	{"ISC", []string{isc, notice}, nil},
	{"ISC", []string{iscOld, notice}, nil},
	{"0BSD", []string{isc}, []string{notice}},
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}, nil},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}, nil},
	{"CC0-1.0", []string{"cc0 1.0 universal"}, nil},
	{"CC-BY-4.0", []string{"creative commons attribution 4.0 international"}, nil},
	{"BSL-1.0", []string{"boost software license"}, nil},
	{"Zlib", []string{"this software is provided 'as-is', without any express or implied warranty"}, nil},
	{"AGPL-3.0", []string{"gnu affero general public license", "version 3"}, []string{"mozilla public license"}},
	{"LGPL-3.0", []string{"gnu lesser general public license", "version 3"}, []string{"mozilla public license"}},
	{"LGPL-2.1", []string{"gnu lesser general public license", "version 2.1"}, []string{"mozilla public license"}},
	{"GPL-3.0", []string{"gnu general public license version 3"}, nil},
	{"GPL-2.0", []string{"gnu general public license version 2"}, nil},
}

var space = regexp.MustCompile(`(\s|#|\*|//)+`)

// Names of the licences in a text, sorted; several where it holds several.
func Names(text string) []string {
	text = space.ReplaceAllString(strings.ToLower(text), " ")
	var names []string
	for _, r := range rules {
		matches := true
		for _, phrase := range r.has {
			matches = matches && strings.Contains(text, phrase)
		}
		for _, phrase := range r.without {
			matches = matches && !strings.Contains(text, phrase)
		}
		if matches {
			names = append(names, r.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[sc]e|copying)([.-].*)?$`)

// OfFolder names the licences of the files in a folder that are called LICENSE, COPYING or so.
func OfFolder(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		names = append(names, Names(string(text))...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
