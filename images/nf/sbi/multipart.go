package sbi

// A message with binary parts (TS 29.500 5.2.2.2, RFC 2387): the first part is JSON, and names the others by their
// Content-Id. One that has none may be plain JSON. What is taken is wider than what is sent: the boundary with quotes
// and without, Content-Ids with angle brackets and without, the JSON at any place.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// Content types of binary parts (TS 29.500 6.1.2.4 of the services).
const (
	NAS  = "application/vnd.3gpp.5gnas"
	NGAP = "application/vnd.3gpp.ngap"
)

// maxParts is more than any message has: JSON, N1, and N2 with its extensions.
const maxParts = 8

// Part is a binary part.
type Part struct {
	ContentID   string
	ContentType string
	Content     []byte
}

// Message is what a request or an answer carries.
type Message struct {
	JSON  []byte
	Parts []Part
}

// ReadMessage reads the request's content, which must be an object, with or without binary parts.
func ReadMessage(req *http.Request) (Content, Message, error) {
	raw, err := readAll(req)
	if err != nil {
		return nil, Message{}, err
	}
	message, err := Decode(req.Header.Get("Content-Type"), raw)
	if err != nil {
		return nil, Message{}, BadRequest("INVALID_MSG_FORMAT", err.Error())
	}
	var c Content
	if err := json.Unmarshal(message.JSON, &c); err != nil {
		return nil, Message{}, BadRequest("INVALID_MSG_FORMAT", "the content is not the JSON that is expected: "+mistake(err))
	}
	if c == nil {
		return nil, Message{}, BadRequest("INVALID_MSG_FORMAT", "the content is null: write an object")
	}
	return c, message, nil
}

// Decode takes a content apart. It is not said whether the JSON is any.
func Decode(contentType string, raw []byte) (Message, error) {
	kind, parameters, err := mime.ParseMediaType(contentType)
	switch {
	case contentType == "":
		return Message{}, errors.New("there is no Content-Type: write application/json or multipart/related")
	case err != nil:
		return Message{}, errors.New("the Content-Type cannot be read: write application/json, or multipart/related; boundary=...")
	case isJSON(kind):
		return Message{JSON: raw}, nil
	case kind != "multipart/related":
		return Message{}, fmt.Errorf("the Content-Type is %.64q: write application/json or multipart/related", kind)
	case parameters["boundary"] == "":
		return Message{}, errors.New("multipart/related needs a boundary")
	}
	var m Message
	for reader := multipart.NewReader(bytes.NewReader(raw), parameters["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Message{}, errors.New("the parts cannot be told apart: each begins with --boundary, and --boundary-- is behind the last")
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return Message{}, errors.New("a part has no end: --boundary-- is behind the last")
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		switch {
		case m.JSON == nil && isJSON(kind):
			m.JSON = content
		case len(m.Parts) == maxParts:
			return Message{}, fmt.Errorf("there are more than %d binary parts", maxParts)
		default:
			m.Parts = append(m.Parts, Part{bareID(part.Header.Get("Content-Id")), kind, content})
		}
	}
	if m.JSON == nil {
		return Message{}, errors.New("no part is application/json")
	}
	return m, nil
}

func isJSON(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") }

func bareID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(id), "<"), ">")
}

// Binary is the part with the Content-Id. nil: there is none.
func (m Message) Binary(contentID string) []byte {
	n := slices.IndexFunc(m.Parts, func(p Part) bool { return p.ContentID == bareID(contentID) })
	if n < 0 {
		return nil
	}
	return m.Parts[n].Content
}

// Reference is RefToBinaryData of TS 29.571 5.4.4.26.
type Reference struct {
	ContentID Text `json:"contentId"`
}

// Refer is a reference to a part.
func Refer(contentID string) *Reference { return &Reference{Text(contentID)} }

// Referred reads the part that a member of the object refers to. nil: there is no such member.
func Referred(c Content, m Message, name string) ([]byte, error) {
	ref, there, err := Optional[Reference](c, name)
	if err != nil || !there {
		return nil, err
	}
	content := m.Binary(string(ref.ContentID))
	switch {
	case ref.ContentID == "":
		return nil, BadRequest("OPTIONAL_IE_INCORRECT", name+": it has no contentId")
	case content == nil:
		return nil, BadRequest("OPTIONAL_IE_INCORRECT", fmt.Sprintf("%s: no part has the Content-Id %.64q", name, ref.ContentID))
	case len(content) == 0:
		return nil, BadRequest("OPTIONAL_IE_INCORRECT", fmt.Sprintf("%s: the part %.64q is empty", name, ref.ContentID))
	}
	return content, nil
}

// Related writes a message: JSON alone where there are no parts.
func Related(v any, parts ...Part) (Raw, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return Raw{}, err
	}
	if len(parts) == 0 {
		return Raw{"application/json", text}, nil
	}
	return Multipart(text, parts...)
}

// Multipart writes a message as multipart/related whether or not it has binary parts.
func Multipart(text []byte, parts ...Part) (Raw, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range slices.Concat([]Part{{ContentType: "application/json", Content: text}}, parts) {
		header := textproto.MIMEHeader{"Content-Type": {p.ContentType}}
		if p.ContentID != "" {
			header["Content-Id"] = []string{p.ContentID}
		}
		part, err := w.CreatePart(header)
		if err != nil {
			return Raw{}, err
		}
		if _, err := part.Write(p.Content); err != nil {
			return Raw{}, err
		}
	}
	if err := w.Close(); err != nil {
		return Raw{}, err
	}
	// RFC 2387 wants a type parameter, which free5GC's functions take for the type of the whole.
	return Raw{fmt.Sprintf(`multipart/related; boundary="%s"`, w.Boundary()), out.Bytes()}, nil
}
