package n2

import (
	"bytes"
	"reflect"
	"testing"
)

// No message has a key behind WithoutKeys, and those that there are stay in the message that was given.
func TestWithoutKeys(t *testing.T) {
	seen := 0
	for _, s := range samples() {
		before := keysOf(reflect.ValueOf(s.message))
		if left := keysOf(reflect.ValueOf(WithoutKeys(s.message))); len(left) > 0 {
			t.Errorf("%s: %d keys are left", s.name, len(left))
		}
		if after := keysOf(reflect.ValueOf(s.message)); len(after) != len(before) {
			t.Errorf("%s: the message has lost its keys", s.name)
		}
		if len(before) == 0 {
			continue
		}
		seen++
		was, err := Write(s.message)
		if err != nil {
			t.Fatal(err)
		}
		is, err := Write(WithoutKeys(s.message))
		if err != nil || len(is) != len(was) || bytes.Equal(is, was) {
			t.Errorf("%s: %d octets of %d, %v", s.name, len(is), len(was), err)
		}
	}
	if seen < 4 {
		t.Errorf("%d samples have keys", seen)
	}
}

// keysOf a message that are not zero.
func keysOf(v reflect.Value) (out []SecurityKey) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			out = keysOf(v.Elem())
		}
	case reflect.Struct:
		for n := range v.NumField() {
			out = append(out, keysOf(v.Field(n))...)
		}
	case reflect.Slice:
		for n := range v.Len() {
			out = append(out, keysOf(v.Index(n))...)
		}
	case reflect.Array:
		if v.Type() == reflect.TypeFor[SecurityKey]() && !v.IsZero() {
			out = append(out, SecurityKey{})
		}
	}
	return out
}
