package main

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// frames gives one at each Read, and keeps each Write.
type frames struct {
	in, out [][]byte
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.in[0])
	f.in = f.in[1:]
	return n, nil
}

func (f *frames) Write(p []byte) (int, error) {
	f.out = append(f.out, bytes.Clone(p))
	return len(p), nil
}

func TestForward(t *testing.T) {
	ethernet := func(afterAddresses string) []byte { return []byte("destinsource" + afterAddresses) }
	tests := map[string]struct {
		change   func(room, frame []byte, vlan uint16) []byte
		in, want [][]byte
	}{
		"a tag is put on each frame": {
			change: tagged,
			in:     [][]byte{ethernet("\x08\x00first"), ethernet("\x08\x06second, longer")},
			want:   [][]byte{ethernet("\x81\x00\x00\x1e\x08\x00first"), ethernet("\x81\x00\x00\x1e\x08\x06second, longer")},
		},
		"what has a tag already gets no second": {change: tagged, in: [][]byte{ethernet("\x81\x00\x00\x1e\x08\x00")}},
		"a frame without a type is none":        {change: tagged, in: [][]byte{ethernet("\x08"), {}}},
		"the tag comes off, whatever its priority": {
			change: untagged,
			in:     [][]byte{ethernet("\x81\x00\xa0\x1e\x08\x00up")},
			want:   [][]byte{ethernet("\x08\x00up")},
		},
		"other VLANs, no VLAN, and half a tag end here": {
			change: untagged,
			in:     [][]byte{ethernet("\x81\x00\x00\x1f\x08\x00other"), ethernet("\x08\x00none, but long"), ethernet("\x81\x00\x00\x1e\x08")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &frames{in: test.in}
			if err := forward(f, f, 30, test.change); !errors.Is(err, io.EOF) {
				t.Errorf("error %v, want the end", err)
			}
			if diff := cmp.Diff(test.want, f.out); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}
