package main

import (
	"strings"
	"testing"
)

// whole has all that operatorValues wants to find.
const whole = `# Values of a chart.

# Where images come from.
images:
  tag: dev # of all

operator:
  # false where another
  # release has it.
  create: true
  # Of the pod.
  replicas: 1

# The core.
core:
  create: true

upf: {create: true}

uninstall:
  timeoutSeconds: 1
`

func TestOperatorValues(t *testing.T) {
	const want = operatorValuesHead + `# Where images come from.
images:
  tag: dev # of all

operator:
  # Of the pod.
  replicas: 1
`
	got, err := operatorValues(whole)
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	for name, test := range map[string]struct{ without, want string }{
		"an operator without a switch": {"  create: true\n  # Of the pod.", "section operator has no create"},
		"no core":                      {"core:\n", "no section core"},
		"a core that is not apart":     {"\n\n# The core.", "no section core"},
	} {
		if _, err := operatorValues(strings.Replace(whole, test.without, "", 1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestOperatorSchemaKnowsNoCore(t *testing.T) {
	schema, err := operatorSchema(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range instanceSections {
		if property(schema, section) != nil {
			t.Errorf("the schema has %s", section)
		}
	}
	for _, section := range []string{"images", "operator", "webhook", "nodeAgent", "monitoring", "networkPolicy", "crds"} {
		if property(schema, section) == nil {
			t.Errorf("the schema lacks %s", section)
		}
	}
	operator := property(schema, "operator")
	if property(operator, createsOperator) != nil || property(operator, "replicas") == nil {
		t.Errorf("section operator has %v", operator["properties"])
	}
	for _, name := range schema["required"].([]any) {
		if property(schema, name.(string)) == nil {
			t.Errorf("%s is required, and unknown", name)
		}
	}
}
