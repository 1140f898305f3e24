package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// opaque are fields whose inner fields are Kubernetes' own and described there.
var opaque = map[string]string{
	"conditions":                "[Conditions](api.md) as everywhere in Kubernetes: type, status, reason, message, observedGeneration, lastTransitionTime",
	"resources":                 "As in a container: `requests`, `limits`, `claims`",
	"tolerations":               "As in a pod",
	"affinity":                  "As in a pod",
	"topologySpreadConstraints": "As in a pod",
}

// row is one line of a table.
type row struct {
	path, kind, byDefault, says string
	required                    bool
}

// writeKind writes one kind: its names, columns, rules over the whole object, spec and status.
func writeKind(b *strings.Builder, crd *apiextensionsv1.CustomResourceDefinition) error {
	names := crd.Spec.Names
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 || crd.Spec.Versions[i].Schema == nil {
		return errors.New("no stored version with a schema")
	}
	version := crd.Spec.Versions[i]
	schema := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", names.Kind, prose(schema.Description))
	fmt.Fprintf(b, "%s, `%s`", crd.Spec.Scope, names.Plural)
	if len(names.ShortNames) > 0 {
		fmt.Fprintf(b, " (`%s`)", strings.Join(names.ShortNames, "`, `"))
	}
	if version.Subresources != nil && version.Subresources.Scale != nil {
		fmt.Fprintf(b, "; `kubectl scale` sets `%s`", strings.TrimPrefix(version.Subresources.Scale.SpecReplicasPath, "."))
	}
	b.WriteString(".\n")
	if rules := messages(schema); len(rules) > 0 {
		b.WriteString("\n")
		for _, rule := range rules {
			fmt.Fprintf(b, "- %s\n", rule)
		}
	}
	for _, part := range []string{"spec", "status"} {
		sub, ok := schema.Properties[part]
		if !ok {
			continue
		}
		fmt.Fprintf(b, "\n### %s: %s\n\n", names.Kind, part)
		if sub.Description != "" {
			fmt.Fprintf(b, "%s\n\n", prose(sub.Description))
		}
		if rules := messages(&sub); len(rules) > 0 {
			for _, rule := range rules {
				fmt.Fprintf(b, "- %s\n", rule)
			}
			b.WriteString("\n")
		}
		writeTable(b, fields("", &sub), part == "spec")
	}
	return nil
}

// writeTable writes rows; nobody writes a status, so that it has no defaults to tell.
func writeTable(b *strings.Builder, rows []row, defaults bool) {
	if defaults {
		b.WriteString("| field | type | default | |\n|---|---|---|---|\n")
	} else {
		b.WriteString("| field | type | |\n|---|---|---|\n")
	}
	for _, row := range rows {
		path := "`" + row.path + "`"
		if row.required && defaults {
			path = "**" + path + "**"
		}
		if defaults {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", path, row.kind, row.byDefault, row.says)
		} else {
			fmt.Fprintf(b, "| %s | %s | %s |\n", path, row.kind, row.says)
		}
	}
}

// fields lists the fields of an object, each followed by those below it.
func fields(prefix string, schema *apiextensionsv1.JSONSchemaProps) []row {
	var rows []row
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		property := schema.Properties[name]
		path := prefix + name
		inner := &property
		for inner.Type == "array" && inner.Items != nil && inner.Items.Schema != nil {
			inner, path = inner.Items.Schema, path+"[]"
		}
		next := row{path: path, kind: typeOf(&property), byDefault: defaultOf(property.Default), required: slices.Contains(schema.Required, name) && property.Default == nil}
		next.says = sentence(prose(property.Description), bounds(&property), strings.Join(messages(&property), "; "))
		if inner != &property {
			next.says = sentence(next.says, bounds(inner), strings.Join(messages(inner), "; "))
		}
		short, closed := opaque[name]
		if closed {
			next.says = sentence(next.says, short)
		}
		if inner.AdditionalProperties != nil && inner.AdditionalProperties.Schema != nil {
			next.says = sentence(next.says, bounds(inner.AdditionalProperties.Schema))
		}
		rows = append(rows, next)
		if !closed && len(inner.Properties) > 0 {
			rows = append(rows, fields(path+".", inner)...)
		}
	}
	return rows
}

// typeOf names a type the way the API's users write it.
func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString && len(s.AnyOf) == 0:
		return "string" // the API server takes a number too, for a rule to say how to write it
	case s.XIntOrString:
		return "quantity"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(s.Items.Schema)
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(s.AdditionalProperties.Schema)
	case s.Type == "string" && s.Format == "date-time":
		return "time"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

func defaultOf(value *apiextensionsv1.JSON) string {
	if value == nil {
		return ""
	}
	text := string(value.Raw)
	if text == "{}" {
		return "" // its fields have their own
	}
	if unquoted, err := strconv.Unquote(text); err == nil && unquoted != "" {
		text = unquoted
	}
	return "`" + text + "`"
}

// bounds says what values are allowed.
func bounds(s *apiextensionsv1.JSONSchemaProps) string {
	var parts []string
	if len(s.Enum) > 0 {
		var words []string
		for _, value := range s.Enum {
			words = append(words, "`"+strings.Trim(string(bytes.TrimSpace(value.Raw)), `"`)+"`")
		}
		parts = append(parts, "one of "+strings.Join(words, ", "))
	}
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		parts = append(parts, number(s.Minimum)+" to "+number(s.Maximum))
	case s.Minimum != nil:
		parts = append(parts, "at least "+number(s.Minimum))
	case s.Maximum != nil:
		parts = append(parts, "at most "+number(s.Maximum))
	}
	switch {
	case s.MinItems != nil && s.MaxItems != nil:
		parts = append(parts, fmt.Sprintf("%d to %d entries", *s.MinItems, *s.MaxItems))
	case s.MaxItems != nil:
		parts = append(parts, fmt.Sprintf("at most %d entries", *s.MaxItems))
	}
	if s.Pattern != "" && !s.XIntOrString {
		parts = append(parts, "matches `"+cell(s.Pattern)+"`")
	}
	text := strings.Join(parts, "; ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// messages are what the API server answers where a rule is broken. A message that is computed is told by
// the literal parts of its expression.
func messages(s *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	for _, rule := range s.XValidations {
		text := rule.Message
		if text == "" {
			text = literals(rule.MessageExpression)
		}
		if text == "" {
			text = "`" + rule.Rule + "`"
		}
		all = append(all, cell(text))
	}
	return all
}

// literals joins the string literals of a CEL expression, with … for what is computed between them.
func literals(expression string) string {
	var parts []string
	for i := 0; i < len(expression); i++ {
		quote := expression[i]
		if quote != '\'' && quote != '"' {
			continue
		}
		end := i + 1
		var text strings.Builder
		for end < len(expression) && expression[end] != quote {
			if expression[end] == '\\' && end+1 < len(expression) {
				end++
			}
			text.WriteByte(expression[end])
			end++
		}
		parts = append(parts, text.String())
		i = end
	}
	return strings.Join(parts, "…")
}

// prose joins the lines of a comment.
func prose(text string) string { return cell(strings.Join(strings.Fields(text), " ")) }

// sentence joins what is not empty, each a sentence.
func sentence(parts ...string) string {
	var said []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if !strings.HasSuffix(part, ".") {
			part += "."
		}
		said = append(said, part)
	}
	return strings.Join(said, " ")
}

// cell keeps a text within its cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
