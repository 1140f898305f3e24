package spdx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	mitText = `Permission is hereby granted, free of charge, to any person
	obtaining a copy of this software …`
	bsdText = `Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met: …`
)

func TestNames(t *testing.T) {
	for sentence, test := range map[string]struct {
		text string
		want []string
	}{
		"MIT, broken over lines":            {mitText, []string{"MIT"}},
		"BSD with two clauses":              {bsdText, []string{"BSD-2-Clause"}},
		"BSD with three clauses":            {bsdText + " Neither the name … may be used to endorse or promote products …", []string{"BSD-3-Clause"}},
		"Apache, centred":                   {"                 Apache License\n           Version 2.0, January 2004", []string{"Apache-2.0"}},
		"two licences in one file":          {mitText + "\n---\n" + bsdText, []string{"BSD-2-Clause", "MIT"}},
		"a text in comments":                {"# " + "Mozilla Public License\n# Version 2.0", []string{"MPL-2.0"}},
		"a text that nobody knows":          {"You may not use this.", nil},
		"the GNU licence that reaches far":  {"GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007", []string{"AGPL-3.0"}},
		"ISC":                               {"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice …", []string{"ISC"}},
		"the Mozilla licence names the GNU": {"Mozilla Public License Version 2.0 … GNU Lesser General Public License, Version 2.1 …", []string{"MPL-2.0"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Names(test.text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOfFolder(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"LICENSE-MIT.txt": mitText, "COPYING": bsdText, "licensing.go": "Apache License Version 2.0"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := OfFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"BSD-2-Clause", "MIT"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
