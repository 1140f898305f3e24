package subscribers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// entry is a subscriber as it was read.
type entry struct {
	// place is the line of CSV, or the document of manifests, from 1.
	place int
	spec  v1alpha1.SubscriberSpec
	// keys are nil where none were given: those of the database stay.
	keys *aka.Encoded
	// problem says why it cannot be used.
	problem error
}

// reader reads entries until io.EOF. Another error is of the whole: nothing behind it can be read.
type reader interface {
	next() (entry, error)
	// places is what an entry's place is called.
	places() string
}

// errEmpty: there is nothing to read.
var errEmpty = errors.New("there is nothing to import: give CSV, whose first line names the columns, or manifests, on standard input")

// headOf the input says what it is.
const headOf = 4096

// newReader looks at the input: CSV begins with the names of its columns.
func newReader(in io.Reader) (reader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	head, err := buffered.Peek(headOf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	switch {
	case len(line) == 0:
		return nil, errEmpty
	case isHeader(string(line)):
		return newCSV(buffered)
	}
	return newManifests(buffered), nil
}

// readSlices reads what slicesText writes.
func readSlices(text string) ([]v1alpha1.SubscribedSlice, error) {
	var out []v1alpha1.SubscribedSlice
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&out); err != nil {
			return nil, errors.New(`slices: write the names of Slices with spaces between, or JSON as of spec.slices of a Subscriber, for example [{"name":"internet","dnns":["internet"]}]`)
		}
		return out, nil
	}
	for _, name := range strings.Fields(text) {
		out = append(out, v1alpha1.SubscribedSlice{Name: name})
	}
	return out, nil
}

// withDefaults are those of the kind Subscriber.
func withDefaults(s *v1alpha1.SubscriberSpec) {
	if s.Authentication.AMF == "" {
		s.Authentication.AMF = v1alpha1.DefaultAMF
	}
	if s.AMBR.Uplink == "" {
		s.AMBR.Uplink = v1alpha1.DefaultUplink
	}
	if s.AMBR.Downlink == "" {
		s.AMBR.Downlink = v1alpha1.DefaultDownlink
	}
}
