package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCount(t *testing.T) {
	tests := map[string]struct {
		log  string
		want Count
	}{
		"go test events, a skip with its reason": {
			log: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: upf-u is not built\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`,
			want: Count{Passed: 1, Skipped: 1, SkippedNames: []string{"p TestB: b_test.go:3: upf-u is not built"}},
		},
		"a package that does not build counts as one failure": {
			log:  `{"Action":"fail","Package":"p"}` + "\n",
			want: Count{Failed: 1, FailedNames: []string{"p"}},
		},
		"a failed test and its package count once": {
			log: `{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			want: Count{Failed: 1, FailedNames: []string{"p TestA"}},
		},
		"a failed test says why, without what was printed around it": {
			log: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: helm upgrade: exit status 1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"        post-upgrade hooks failed\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    kubectl get pods\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"            \"rejects\": 4\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (7.36s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			want: Count{Failed: 1, FailedNames: []string{"p TestA\n       a_test.go:3: helm upgrade: exit status 1\n       post-upgrade hooks failed"}},
		},
		"a package that does not build says where": {
			log: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"# p [p.test]\n"}
{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a.go:4:17: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}
`,
			want: Count{Failed: 1, FailedNames: []string{"p\n       p/a.go:4:17: undefined: x"}},
		},
		"cmocka and plain lines add up": {
			log: `[==========] 3 test(s) run.
[  PASSED  ] 2 test(s).
[  FAILED  ] qer: 1 test(s), listed below:
lint: 4 passed, 0 failed, 1 skipped
SKIP: clang-tidy: not installed
`,
			want: Count{Passed: 6, Failed: 1, Skipped: 1, SkippedNames: []string{"clang-tidy: not installed"}},
		},
		"talk of passing is no result": {
			log:  "all 3 passed, 0 failed so far\n",
			want: Count{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := count(strings.NewReader(tt.log))
			if err != nil {
				t.Fatal(err)
			}
			got.Settle()
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Count{})); diff != "" {
				t.Errorf("count (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkippedInOneStepPassedInAnother(t *testing.T) {
	var total Count
	for _, log := range []string{
		`{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB/part"}
{"Action":"skip","Package":"p","Test":"TestC"}`,
	} {
		c, err := count(strings.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		total.Add(c)
	}
	total.Settle()
	want := Count{Passed: 2, Skipped: 1, SkippedNames: []string{"p TestC: "}}
	if diff := cmp.Diff(want, total, cmpopts.IgnoreUnexported(Count{})); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
}
