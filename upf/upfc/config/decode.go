package config

// The file is decoded here and not by the YAML library, whose errors speak of Go: what is wrong is told with
// its line, its key from the top, what is written there, and what to write.

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// document is a YAML document that is being decoded; lines are those of its keys and elements.
type document struct{ lines map[string]int }

func failAt(n *yaml.Node, path, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if path != "" {
		what = path + ": " + what
	}
	return fmt.Errorf("line %d: %s", n.Line, what)
}

// at puts the line of what an error is about, which begins with its key, before it.
func (d *document) at(err error) error {
	if err == nil {
		return nil
	}
	for path, _, _ := strings.Cut(err.Error(), ": "); path != ""; {
		if line, ok := d.lines[path]; ok {
			return fmt.Errorf("line %d: %w", line, err)
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// decode reads a node into v, which has its default. A key without a value leaves that.
func (d *document) decode(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	d.lines[path] = n.Line
	if _, ok := scalars[v.Type()]; ok || v.Kind() != reflect.Struct && v.Kind() != reflect.Slice {
		return decodeScalar(n, v, path)
	}
	if v.Kind() == reflect.Struct {
		return d.decodeMapping(n, v, path)
	}
	return d.decodeList(n, v, path)
}

func (d *document) decodeMapping(n *yaml.Node, v reflect.Value, path string) error {
	known := make([]string, v.NumField())
	for i := range known {
		known[i] = v.Type().Field(i).Tag.Get("yaml")
	}
	if n.Kind != yaml.MappingNode {
		return failAt(n, path, "%s is no mapping: write keys and values; known here are: %s", written(n), strings.Join(known, ", "))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.Index(known, key.Value)
		if at < 0 {
			return failAt(key, path, "unknown key %q; known here are: %s", key.Value, strings.Join(known, ", "))
		}
		if line, twice := seen[key.Value]; twice {
			return failAt(key, join(path, key.Value), "is given twice, in line %d too: write it once", line)
		}
		seen[key.Value] = key.Line
		d.lines[join(path, key.Value)] = key.Line
		if err := d.decode(value, v.Field(at), join(path, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) decodeList(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind != yaml.SequenceNode {
		return failAt(n, path, "%s is no list: write it in brackets, [%s]", written(n), n.Value)
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		if err := d.decode(e, list.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// written is what stands in the file, shortened.
func written(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	const most = 64
	if s := []rune(n.Value); len(s) > most {
		return strconv.Quote(string(s[:most])) + "…"
	}
	return strconv.Quote(n.Value)
}

// scalar is how a type of value is read, and how it is written.
type scalar struct {
	what, example string
	read          func(s string, v reflect.Value) error
}

func parsed[T any](parse func(string) (T, error)) func(string, reflect.Value) error {
	return func(s string, v reflect.Value) error {
		p, err := parse(s)
		if err == nil {
			v.Set(reflect.ValueOf(p))
		}
		return err
	}
}

var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[time.Duration]():  {"duration", "3s or 500ms", parsed(time.ParseDuration)},
	reflect.TypeFor[netip.Addr]():     {"IP address", "172.30.3.1", parsed(netip.ParseAddr)},
	reflect.TypeFor[netip.AddrPort](): {"IP address and port", "0.0.0.0:8805", parsed(netip.ParseAddrPort)},
	reflect.TypeFor[netip.Prefix]():   {"subnet", "10.0.0.0/8", parsed(netip.ParsePrefix)},
	reflect.TypeFor[slog.Level]():     {"log level", "debug, info, warn or error", textual},
	reflect.TypeFor[Endpoint]():       {"address or prefix", "172.30.3.16 or 172.30.3.16/28", textual},
	reflect.TypeFor[Peer]():           {"address or FQDN", "10.0.0.9, smf.core5g.svc or 10.0.0.9:8806", textual},
}

func textual(s string, v reflect.Value) error {
	return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
}

func decodeScalar(n *yaml.Node, v reflect.Value, path string) error {
	of, ok := scalars[v.Type()]
	if !ok {
		switch v.Kind() {
		case reflect.Int:
			of = scalar{"whole number", "3", func(s string, v reflect.Value) error {
				i, err := strconv.ParseInt(s, 10, 32)
				v.SetInt(i)
				return err
			}}
		case reflect.Bool:
			of = scalar{"truth value", "true or false", func(s string, v reflect.Value) error {
				if s != "true" && s != "false" {
					return strconv.ErrSyntax
				}
				v.SetBool(s == "true")
				return nil
			}}
		case reflect.Uint32:
			of = scalar{"whole number from 0 to 4294967295", "1000", func(s string, v reflect.Value) error {
				u, err := strconv.ParseUint(s, 10, 32)
				v.SetUint(u)
				return err
			}}
		default:
			of = scalar{"text", "upf-0", func(s string, v reflect.Value) error { v.SetString(s); return nil }}
		}
	}
	if n.Kind != yaml.ScalarNode {
		return failAt(n, path, "%s is no %s: write %s", written(n), of.what, of.example)
	}
	if err := of.read(n.Value, v); err != nil {
		return failAt(n, path, "%s is no %s: write %s", written(n), of.what, of.example)
	}
	return nil
}

// parse reads one YAML document into c, which has its defaults.
func parse(text []byte, c *Config) (*document, error) {
	d := &document{lines: map[string]int{}}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return d, nil // an empty file
	} else if err != nil {
		return nil, notYAML(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second YAML document begins: write one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	return d, d.decode(first.Content[0], reflect.ValueOf(c).Elem(), "")
}

// notYAML is the library's "yaml: line 3: …" as ours.
func notYAML(err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	if at, rest, ok := strings.Cut(strings.TrimPrefix(what, "line "), ": "); ok {
		if line, err := strconv.Atoi(at); err == nil {
			if strings.HasPrefix(rest, "did not find expected") { // the library's parser counts from 0, its scanner from 1
				line++
			}
			return fmt.Errorf("line %d: not YAML: %s", line, rest)
		}
	}
	return errors.New("not YAML: " + what)
}
