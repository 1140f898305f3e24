package processes

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
)

// Store is where a session store listens, and where it keeps its data.
type Store struct {
	Host, Port string
	Directory  string
}

// StorePassword is that of every session store, StorePrefix begins its keys as in a cluster.
const (
	StorePassword = "bench"
	StorePrefix   = "core5g:" + Namespace + "/core5g:"
)

// Start a Redis that answers when what it was told is on its disk. It may have been there before.
func (s Store) Start(ctx context.Context) (*Process, error) {
	if err := os.MkdirAll(s.Directory, 0o700); err != nil {
		return nil, err
	}
	p, err := Start(Command{Program: "redis-server", Args: []string{
		"--bind", s.Host, "--port", s.Port, "--dir", s.Directory, "--appendonly", "yes", "--save", "", "--requirepass", StorePassword,
		"--maxmemory-policy", "noeviction", "--appendfsync", "always",
	}})
	if err != nil {
		return nil, err
	}
	err = Await(ctx, "the session store", func() error {
		conn, err := net.Dial("tcp", net.JoinHostPort(s.Host, s.Port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return p, err
}

// Secrets writes how functions reach the store, and the key by which they seal records, into two directories as they are mounted. It returns the environment
// that names these.
func (s Store) Secrets(directory string) ([]string, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	for name, content := range map[string]string{
		"store-secret/addresses": net.JoinHostPort(s.Host, s.Port), "store-secret/password": StorePassword, "keys/1": string(key),
	} {
		if err := Write(filepath.Join(directory, name), []byte(content)); err != nil {
			return nil, err
		}
	}
	return []string{
		"SESSION_STORE_DIR=" + filepath.Join(directory, "store-secret"), "SESSION_STORE_KEYS_DIR=" + filepath.Join(directory, "keys"), "SESSION_STORE_PREFIX=" + StorePrefix,
	}, nil
}
