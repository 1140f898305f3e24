package sbi

// What a request carries, taken apart one information element at a time, so that a refusal names the one that is
// wrong and says with its cause whether it was mandatory (TS 29.500 5.2.7.2). Types bring what they refuse along
// in their UnmarshalJSON. Members that nobody asks for are ignored, so that newer generations of a client are
// understood; null counts as absent, because free5GC's functions write it for what they leave out.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ReadJSON reads the request's content into v.
func ReadJSON(req *http.Request, v any) error {
	raw, err := readAll(req)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return BadRequest("INVALID_MSG_FORMAT", "the content is not the JSON that is expected: "+mistake(err))
	}
	return nil
}

func readAll(req *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(req.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, NewProblem(http.StatusRequestEntityTooLarge, "INVALID_MSG_FORMAT", "the content is too large")
	case err != nil:
		return nil, BadRequest("INVALID_MSG_FORMAT", "the content cannot be read")
	case len(bytes.TrimSpace(raw)) == 0:
		return nil, BadRequest("INVALID_MSG_FORMAT", "there is no content")
	}
	return raw, nil
}

// Content is the members of a JSON object, not yet read.
type Content map[string]json.RawMessage

// ReadContent reads the request's content, which must be an object.
func ReadContent(req *http.Request) (Content, error) {
	var c Content
	if err := ReadJSON(req, &c); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, BadRequest("INVALID_MSG_FORMAT", "the content is null: write an object")
	}
	return c, nil
}

// Mandatory reads a member that must be there.
func Mandatory[T any](c Content, name string) (T, error) {
	v, there, err := read[T](c[name])
	switch {
	case err != nil:
		return v, BadRequest("MANDATORY_IE_INCORRECT", name+": "+mistake(err))
	case !there:
		return v, BadRequest("MANDATORY_IE_MISSING", name+" is mandatory")
	}
	return v, nil
}

// Optional reads a member that may be absent, and reports whether it was there.
func Optional[T any](c Content, name string) (T, bool, error) {
	v, there, err := read[T](c[name])
	if err != nil {
		return v, false, BadRequest("OPTIONAL_IE_INCORRECT", name+": "+mistake(err))
	}
	return v, there, nil
}

// Query reads a query parameter that carries JSON, and reports whether it was there.
func Query[T any](req *http.Request, name string) (T, bool, error) {
	var v T
	query := req.URL.Query()
	if !query.Has(name) {
		return v, false, nil
	}
	if err := readValue(query.Get(name), &v); err != nil {
		return v, false, BadRequest("OPTIONAL_QUERY_PARAM_INCORRECT", "query parameter "+name+": "+mistake(err))
	}
	return v, true, nil
}

// MandatoryQuery reads a query parameter that is text, and must be there.
func MandatoryQuery(req *http.Request, name string) (string, error) {
	text := req.URL.Query().Get(name)
	if text == "" {
		return "", BadRequest("MANDATORY_QUERY_PARAM_MISSING", "query parameter "+name+" is mandatory")
	}
	return text, nil
}

func readValue(text string, v any) error {
	if text == "" || text == "null" {
		return errors.New("it is empty")
	}
	return json.Unmarshal([]byte(text), v)
}

func read[T any](raw json.RawMessage) (v T, there bool, err error) {
	if raw == nil || string(raw) == "null" {
		return v, false, nil
	}
	err = json.Unmarshal(raw, &v)
	return v, err == nil, err
}

// mistake says what is wrong with JSON in words that the sender can use.
func mistake(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s must not be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it must not be a JSON %s", kind.Value)
	case errors.As(err, &syntax):
		return "it is not JSON"
	}
	return err.Error()
}

// Text is a string that is not empty.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return errors.New("it must be a string")
	}
	if s == "" {
		return errors.New("it must not be empty")
	}
	*t = Text(s)
	return nil
}

// CallbackURI is where somebody wants to be notified: http or https, with a host.
type CallbackURI string

// UnmarshalJSON implements json.Unmarshaler.
func (c *CallbackURI) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return errors.New("it must be a string")
	}
	if u, err := url.Parse(s); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return errors.New("write http://host:port/path or https://host:port/path")
	}
	*c = CallbackURI(s)
	return nil
}
