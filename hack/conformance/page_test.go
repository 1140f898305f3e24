package conformance

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaults(t *testing.T) {
	there := tests{
		names: map[string]bool{"TestA": true, "FuzzB": true, "story/by the UE": true},
		text:  `"a case": {}`,
	}
	head := "| Clause | Subject | State | Shown by, or why not |\n|---|---|---|---|\n"
	plain := Page{Clause: regexp.MustCompile(`^\d+(\.\d+)*$`)}
	strict := Page{Clause: plain.Clause, Repeats: true, Reasons: true, Names: regexp.MustCompile(`^(Test|Fuzz)`)}
	beside := Page{Clause: plain.Clause, Beside: "–"}
	for name, tt := range map[string]struct {
		page Page
		text string
		want []string
	}{
		"all is well": {plain, head + "| 1 | a | done | `TestA`, `TestA/a case`, `story/by the UE` |\n| 2 | b | part | `FuzzB`. Not c |\n| 3 | c | no | Nobody asks |\n", nil},
		"a test that is not there": {
			plain, head + "| 1 | a | done | `TestC` |\n", []string{"clause 1 names TestC, which is not in the tree"},
		},
		"a case that is not there":          {strict, "`TestA/another case`", []string{"the page names TestA/another case, which is not in the tree"}},
		"names that stand for any":          {plain, "`TestX`, `TestX/a sentence`, `FuzzX`", nil},
		"a story that is not there":         {plain, head + "| 1 | a | done | `story/by the AMF` |\n", []string{"clause 1 names story/by the AMF, which is not in the tree"}},
		"what is quoted and no test":        {strict, head + "| 1 | a | done | `TestA` of `foo.c` |\n", nil},
		"done, and nothing shows it":        {plain, head + "| 1 | a | done | It is |\n", []string{"clause 1 is done, and no test shows it"}},
		"in part, and nothing shows it":     {plain, head + "| 1 | a | part | It is |\n", []string{"clause 1 is part, and no test shows it"}},
		"in part, and nothing says which":   {strict, head + "| 1 | a | part | `TestA` |\n", []string{"clause 1 is part, and nothing says what is missing"}},
		"in part, in words":                 {strict, head + "| 1 | a | part | Not b |\n", nil},
		"not, and nothing says why":         {plain, head + "| 1 | a | no | |\n", []string{"clause 1 is not done, and nothing says why"}},
		"not, and a test shows the refusal": {plain, head + "| 1 | a | no | `TestA` |\n", nil},
		"not, and no word":                  {strict, head + "| 1 | a | no | `TestA` |\n", []string{"clause 1 is not done, and nothing says why"}},
		"a state beside":                    {beside, head + "| 1 | a | – | Not ours |\n", nil},
		"a state beside, and no reason":     {beside, head + "| 1 | a | – | |\n", []string{"clause 1 is not done, and nothing says why"}},
		"a state that is none":              {plain, head + "| 1 | a | – | Not ours |\n", []string{"clause 1 has the state –: done, part or no are meant"}},
		"a clause twice":                    {plain, head + "| 1 | a | done | `TestA` |\n| 1 | b | done | `TestA` |\n", []string{"1 is no clause, or stands there twice"}},
		"a clause twice, of other subjects": {strict, head + "| 1 | a | done | `TestA` |\n| 1 | b | done | `TestA` |\n", nil},
		"a clause and a subject twice":      {strict, head + "| 1 | a | done | `TestA` |\n| 1 | a | done | `TestA` |\n", []string{"1 is no clause, or stands there twice"}},
		"no clause":                         {plain, head + "| one | a | done | `TestA` |\n", []string{"one is no clause, or stands there twice"}},
		"a cell too few":                    {plain, head + "| 1 | a | done |\n", []string{"a row has not four cells: | 1 | a | done |"}},
		"too few rows":                      {Page{Clause: plain.Clause, Rows: 2}, head + "| 1 | a | done | `TestA` |\n", []string{"too few rows found in the page: the search does not work"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.page.faults(tt.text, there)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
