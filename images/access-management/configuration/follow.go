package configuration

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
)

// lookEvery is how long a change of the file may go unnoticed, at most.
const lookEvery = 500 * time.Millisecond

// File is one that Settings are read from.
type File struct {
	path    string
	text    []byte
	problem string // that was said last
}

// Open a file. One that cannot be used is an error, which says what to write instead.
func Open(path string) (*File, *procedure.Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	settings, err := Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return &File{path: path, text: text}, settings, nil
}

// Follow tells of Settings whenever the file says others, until ctx ends. While it cannot be used, those of before stay in force, and the log says why, once.
func (f *File) Follow(ctx context.Context, tell func(*procedure.Settings), log *slog.Logger) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		settings, err := f.look()
		switch {
		case err != nil && err.Error() != f.problem:
			f.problem = err.Error()
			log.Warn("the configuration cannot be used as it is, the one before stays in force", "file", f.path, "error", err)
		case err == nil && settings != nil:
			log.Info("the configuration has changed", "file", f.path)
			tell(settings)
		}
	}
}

// look at the file; nil: it says what it said.
func (f *File) look() (*procedure.Settings, error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(text, f.text) {
		f.problem = ""
		return nil, nil
	}
	settings, err := Parse(text)
	if err != nil {
		return nil, err
	}
	f.text, f.problem = text, ""
	return settings, nil
}
