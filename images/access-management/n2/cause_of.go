package n2

import "reflect"

// CauseOf a message, where it says one. It is for people: it looks for the field.
func CauseOf(m Message) (Cause, bool) {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return 0, false
	}
	f := v.Elem().FieldByName("Cause")
	if !f.IsValid() {
		return 0, false
	}
	switch c := f.Interface().(type) {
	case Cause:
		return c, true
	case *Cause:
		if c != nil {
			return *c, true
		}
	}
	return 0, false
}
