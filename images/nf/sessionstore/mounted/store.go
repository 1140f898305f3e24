package mounted

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
)

// What the environment names.
const (
	// DirectoryEnv is where the store's Secret is mounted, KeysEnv where the sealing keys are.
	DirectoryEnv = "SESSION_STORE_DIR"
	KeysEnv      = "SESSION_STORE_KEYS_DIR"
	// PrefixEnv begins all keys of this core: cores may share a server.
	PrefixEnv = "SESSION_STORE_PREFIX"
)

// lookEvery is how long a change of the files may go unnoticed, at most.
const lookEvery = time.Second

// Store is a store and the keys for what is in it.
type Store struct {
	*redisstore.Store
	access *watched[*Access]
	keys   *watched[*sessionstore.Sealer]
}

// FromEnvironment opens the store that the environment names; keys begin with what PrefixEnv says and further. problem is told why files that have
// changed are not used.
func FromEnvironment(ctx context.Context, further string, problem func(error)) (*Store, error) {
	directory, keys, prefix := os.Getenv(DirectoryEnv), os.Getenv(KeysEnv), os.Getenv(PrefixEnv)
	for name, value := range map[string]string{DirectoryEnv: directory, KeysEnv: keys, PrefixEnv: prefix} {
		if value == "" {
			return nil, fmt.Errorf("%s is not set: it takes %s, %s and %s to open the session store", name, DirectoryEnv, KeysEnv, PrefixEnv)
		}
	}
	return Open(ctx, directory, keys, prefix+further, problem)
}

// Open opens the store that the directories name; all keys begin with prefix.
func Open(ctx context.Context, directory, keys, prefix string, problem func(error)) (*Store, error) {
	s := &Store{}
	var err error
	if s.access, err = watch(directory, Parse, problem); err != nil {
		return nil, err
	}
	if s.keys, err = watch(keys, ParseKeys, problem); err != nil {
		return nil, err
	}
	first := s.access.now()
	options := first.Options
	options.Prefix = prefix
	options.Credentials = func() (username, password string) {
		a := s.access.now()
		return a.Username, a.Password
	}
	if first.Config != nil {
		options.TLS = func() *tls.Config {
			if c := s.access.now().Config; c != nil {
				return c
			}
			return first.Config // never in clear without a new start
		}
	}
	if s.Store, err = redisstore.Open(ctx, options); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(options.Addresses, ", "), err)
	}
	return s, nil
}

// Sealer is what to seal records with now, and open them.
func (s *Store) Sealer() *sessionstore.Sealer { return s.keys.now() }

// watched is what the files of a directory say. Those that make no sense leave the old content in use.
type watched[T any] struct {
	directory string
	parse     func(map[string][]byte) (T, error)
	problem   func(error)
	clock     func() time.Time

	mu      sync.Mutex
	looked  time.Time
	stamp   string
	current T
}

func watch[T any](directory string, parse func(map[string][]byte) (T, error), problem func(error)) (*watched[T], error) {
	if problem == nil {
		problem = func(error) {}
	}
	w := &watched[T]{directory: directory, parse: parse, problem: problem, clock: time.Now}
	files, stamp, err := readFiles(directory)
	if err == nil {
		w.current, err = parse(files)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", directory, err)
	}
	w.stamp, w.looked = stamp, w.clock()
	return w, nil
}

func (w *watched[T]) now() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock()
	if now.Sub(w.looked) < lookEvery {
		return w.current
	}
	w.looked = now
	files, stamp, err := readFiles(w.directory)
	if err == nil && stamp == w.stamp {
		return w.current
	}
	var changed T
	if err == nil {
		w.stamp = stamp // said once
		changed, err = w.parse(files)
	}
	if err != nil {
		w.problem(fmt.Errorf("%s: what was read before stays in use: %w", w.directory, err))
		return w.current
	}
	w.current = changed
	return w.current
}

// maxFile bounds a file; a bundle of certificates is the largest.
const maxFile = 1 << 20

// readFiles reads a directory that a Secret is mounted at, without what the kubelet keeps beside it (..data).
func readFiles(directory string) (files map[string][]byte, stamp string, err error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, "", err
	}
	files = map[string][]byte{}
	digest := sha256.New()
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(directory, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			return nil, "", err
		}
		if info.IsDir() {
			continue
		}
		if info.Size() > maxFile {
			return nil, "", errors.New(e.Name() + " has more than 1 MiB")
		}
		if files[e.Name()], err = os.ReadFile(path); err != nil {
			return nil, "", err
		}
		fmt.Fprintf(digest, "%q %q\n", e.Name(), files[e.Name()])
	}
	return files, string(digest.Sum(nil)), nil
}
