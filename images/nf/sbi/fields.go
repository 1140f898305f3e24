package sbi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// Fields goes through the members of an object, either to read them or to write them: a type that is both sent and
// taken names each member once. Reading stops at the first that is wrong, which Err names. What is written leaves out
// zero values.
//
// Whoever reads must check itself what it cannot do without; see Required.
type Fields struct {
	content Content // nil: it writes
	message Message
	text    bytes.Buffer
	parts   []Part
	err     error
}

// Reading is for the members of a message.
func Reading(c Content, m Message) *Fields {
	if c == nil {
		c = Content{}
	}
	return &Fields{content: c, message: m}
}

// Writing is for a message that is empty yet.
func Writing() *Fields { return new(Fields) }

// Reads reports whether the members are read.
func (f *Fields) Reads() bool { return f.content != nil }

// Err is what is wrong with a member, a *Problem where it was read.
func (f *Fields) Err() error { return f.err }

// Fail has the first of all mistakes told by Err.
func (f *Fields) Fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// Empty reports whether nothing was written.
func (f *Fields) Empty() bool { return f.text.Len() == 0 }

// Written is the object, and its binary parts.
func (f *Fields) Written() (json.RawMessage, []Part, error) {
	if f.err != nil {
		return nil, nil, f.err
	}
	return f.object(), f.parts, nil
}

// Member reads a member that may be absent, and reports whether it was there: what was in v stays where it was not. Or
// it writes v where that is not zero.
func Member[T any](f *Fields, name string, v *T) bool {
	if f.err != nil {
		return false
	}
	if !f.Reads() {
		return !isZero(*v) && f.write(name, *v)
	}
	read, there, err := Optional[T](f.content, name)
	if f.err = err; there {
		*v = read
	}
	return there
}

// Required reads a member that must be there, or writes v whatever it is.
func Required[T any](f *Fields, name string, v *T) {
	switch {
	case f.err != nil:
	case f.Reads():
		*v, f.err = Mandatory[T](f.content, name)
	default:
		f.write(name, *v)
	}
}

// Binary reads the part that a member refers to, or writes a reference and the part, with that Content-Id and type.
func (f *Fields) Binary(name, contentID, contentType string, v *[]byte) {
	switch {
	case f.err != nil:
	case f.Reads():
		*v, f.err = Referred(f.content, f.message, name)
	case len(*v) > 0 && f.write(name, Refer(contentID)):
		f.parts = append(f.parts, Part{ContentID: contentID, ContentType: contentType, Content: *v})
	}
}

// Object goes through the members of an object that is a member, which may be absent, and reports whether it was there.
// What is written is left out where it has no member.
func (f *Fields) Object(name string, members func(*Fields)) bool {
	if f.err != nil {
		return false
	}
	if !f.Reads() {
		inner := Writing()
		members(inner)
		return f.take(inner) && !inner.Empty() && f.write(name, inner.object())
	}
	content, there, err := Optional[Content](f.content, name)
	if f.err = err; !there {
		return false
	}
	inner := Reading(content, f.message)
	members(inner)
	return f.take(inner)
}

// Objects goes through the members of each object of a list, which may be absent.
func Objects[T any](f *Fields, name string, list *[]T, members func(*Fields, *T)) {
	if f.err != nil {
		return
	}
	if !f.Reads() {
		var out []json.RawMessage
		for n := range *list {
			inner := Writing()
			if members(inner, &(*list)[n]); !f.take(inner) {
				return
			}
			out = append(out, inner.object())
		}
		if len(out) > 0 {
			f.write(name, out)
		}
		return
	}
	contents, there, err := Optional[[]Content](f.content, name)
	if f.err = err; !there {
		return
	}
	out := make([]T, len(contents))
	for n := range contents {
		inner := Reading(contents[n], f.message)
		if members(inner, &out[n]); !f.take(inner) {
			return
		}
	}
	*list = out
}

// take is what an inner object leaves behind.
func (f *Fields) take(inner *Fields) bool {
	f.parts = append(f.parts, inner.parts...)
	f.err = inner.err
	return f.err == nil
}

func (f *Fields) object() json.RawMessage {
	return append(append(json.RawMessage{'{'}, f.text.Bytes()...), '}')
}

func (f *Fields) write(name string, v any) bool {
	text, err := json.Marshal(v)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", name, err)
		return false
	}
	if f.text.Len() > 0 {
		f.text.WriteByte(',')
	}
	f.text.WriteString(strconv.Quote(name))
	f.text.WriteByte(':')
	f.text.Write(text)
	return true
}

func isZero(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return r.Len() == 0
	}
	return r.IsZero()
}

// Content reads the message's object.
func (m Message) Content() (Content, error) {
	var c Content
	if err := json.Unmarshal(m.JSON, &c); err != nil {
		return nil, fmt.Errorf("the content is not the JSON that is expected: %s", mistake(err))
	}
	return c, nil
}
