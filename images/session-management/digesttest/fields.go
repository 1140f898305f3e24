// Package digesttest is for tests of digests that records have: they are written out field by field, so that no change of a type changes them, and one that is
// new could be left out.
package digesttest

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

// Fields of a struct: each makes a difference to its digest, but those that are named.
func Fields[T any, D comparable](t *testing.T, digest func(T) D, but ...string) {
	t.Helper()
	var zero T
	seen := map[D]string{digest(zero): "nothing"}
	fields(t, reflect.TypeFor[T](), "", but, func(path []int, name string, to reflect.Value) {
		var changed T
		reflect.ValueOf(&changed).Elem().FieldByIndex(path).Set(to)
		d := digest(changed)
		if other, there := seen[d]; there {
			t.Errorf("%s makes no difference to the digest, or the same as %s", name, other)
		}
		seen[d] = name
	}, nil)
}

func fields(t *testing.T, of reflect.Type, prefix string, but []string, each func(path []int, name string, to reflect.Value), path []int) {
	t.Helper()
	for n := range of.NumField() {
		f := of.Field(n)
		name, at := prefix+f.Name, append(slices.Clone(path), n)
		if slices.Contains(but, name) {
			continue
		}
		if v, ok := something(f.Type); ok {
			each(at, name, v)
		} else if f.Type.Kind() == reflect.Struct {
			fields(t, f.Type, name+".", but, each, at)
		} else {
			t.Errorf("nobody knows what to write into %s, which is a %s", name, f.Type)
		}
	}
}

// something of a type that is not its zero; of most structs there is nothing that is.
func something(of reflect.Type) (reflect.Value, bool) {
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[netip.Addr]():
		return reflect.ValueOf(netip.MustParseAddr("192.0.2.1")), true
	case reflect.TypeFor[netip.Prefix]():
		return reflect.ValueOf(netip.MustParsePrefix("192.0.2.0/24")), true
	}
	switch {
	case v.CanUint():
		v.SetUint(1)
	case v.CanInt():
		v.SetInt(1)
	case of.Kind() == reflect.Bool:
		v.SetBool(true)
	case of.Kind() == reflect.String:
		v.SetString("x")
	case of.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(of, 1, 1))
		if e, ok := something(of.Elem()); ok {
			v.Index(0).Set(e)
		}
	case of.Kind() == reflect.Array:
		e, ok := something(of.Elem())
		if ok {
			v.Index(0).Set(e)
		}
		return v, ok
	default:
		return v, false
	}
	return v, true
}
