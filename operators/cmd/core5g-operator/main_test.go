package main

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestParse(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "from-the-pod")
	c, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.namespaces, []string{"from-the-pod"}) || c.platform.Registry != "core5g" || c.platform.Tag != "dev" || c.platform.PullPolicy != corev1.PullIfNotPresent {
		t.Errorf("defaults: %+v", c)
	}
	c, err = parse([]string{"--namespace=a", "--leader-elect", "--operator-image=r/operator:1", "--image-tag=1",
		"--subscriber-data-service-account=sa", "--log-level=debug", "--metrics-bind-address=0", "--health-probe-bind-address=:1"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.namespaces, []string{"a"}) || !c.leaderElect || c.platform.OperatorImage != "r/operator:1" || c.platform.Tag != "1" ||
		c.platform.SubscriberDataServiceAccount != "sa" || c.level != "debug" || c.metrics != "0" || c.health != ":1" {
		t.Errorf("flags: %+v", c)
	}
	if _, err := parse([]string{"extra"}); err == nil || !strings.Contains(err.Error(), `"extra"`) {
		t.Errorf("an argument too many: %v", err)
	}
}

func TestWatchedNamespaces(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "own")
	for name, test := range map[string]struct {
		args []string
		want []string
		// refusal is a part of the error.
		refusal string
	}{
		"the operator's own":             {nil, []string{"own"}, ""},
		"all":                            {[]string{"--namespace="}, nil, ""},
		"some beside the operator's own": {[]string{"--watch-namespaces=a,b"}, []string{"own", "a", "b"}, ""},
		"each once":                      {[]string{"--watch-namespaces=a,own,a"}, []string{"own", "a"}, ""},
		"some and all":                   {[]string{"--namespace=", "--watch-namespaces=a"}, nil, "leave one out"},
		"no name":                        {[]string{"--watch-namespaces=a,,b"}, nil, `"" is no name of a namespace`},
		"a pattern":                      {[]string{"--watch-namespaces=core-*"}, nil, `"core-*" is no name of a namespace, nor * for all`},
		"all, with roles for accounts":   {[]string{"--watch-namespaces=*", "--account-roles=own-"}, nil, ""},
		"all, and some by name":          {[]string{"--watch-namespaces=*,a", "--account-roles=own-"}, nil, ""},
		"all, without roles":             {[]string{"--watch-namespaces=*"}, nil, "go together"},
		"roles without all":              {[]string{"--watch-namespaces=a", "--account-roles=own-"}, nil, "go together"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parse(test.args)
			if test.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), test.refusal) {
					t.Fatalf("got %v, want %q", err, test.refusal)
				}
				return
			}
			if err != nil || !slices.Equal(c.namespaces, test.want) {
				t.Errorf("%q, %v, want %q", c.namespaces, err, test.want)
			}
			if c.platform.OperatorNamespace != "own" {
				t.Errorf("the operator is in %q", c.platform.OperatorNamespace)
			}
			if all := len(test.args) == 2; all != c.platform.Accounts.Made("elsewhere") || c.platform.Accounts.Made("own") || c.platform.Accounts.Made("a") != (name == "all, with roles for accounts") {
				t.Errorf("the operator makes accounts as %+v", c.platform.Accounts)
			}
		})
	}
}

func TestUnknownCommandIsRefused(t *testing.T) {
	if got := run([]string{"wiat"}); got != 2 {
		t.Errorf("exit status %d, want 2", got)
	}
}

func TestImageDigests(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for sentence, test := range map[string]struct {
		text string
		want string // a part of the error
	}{
		"a release's":                    {`{"1.2.3":{"amf":"` + digest + `"}}`, ""},
		"none":                           {`{}`, ""},
		"a digest without its algorithm": {`{"1.2.3":{"amf":"` + digest[7:] + `"}}`, "amf:1.2.3"},
		"digests without a tag":          {`{"amf":"` + digest + `"}`, `write {"tag": {"image": "sha256:…"}}`},
		"no JSON":                        {"amf=" + digest, `write {"tag": {"image": "sha256:…"}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, err := parse([]string{"--image-digests=" + test.text})
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("%v, want %q in it", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := c.platform.Digests["1.2.3"]["amf"]; strings.Contains(test.text, "amf") && got != digest {
				t.Errorf("digest %q, want %q", got, digest)
			}
		})
	}
}
