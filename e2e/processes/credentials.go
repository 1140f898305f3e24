package processes

import (
	"os"
	"path/filepath"
	"time"

	"core5g.dev/core5g/operators/certificates"
)

// Namespace that the certificates are for.
const Namespace = "bench"

// Authority signs the certificates of a core.
type Authority struct{ authority *certificates.Authority }

// NewAuthority makes one for a day.
func NewAuthority() (*Authority, error) {
	data, err := certificates.NewAuthority(Namespace, time.Now(), nil)
	if err != nil {
		return nil, err
	}
	authority, err := certificates.ReadAuthority(data)
	return &Authority{authority}, err
}

// Issue writes a certificate for Services of those names, with its key and the authority, into a directory, as a Secret is mounted. It returns the files'
// content by their names.
func (a *Authority) Issue(directory string, names ...string) (map[string][]byte, error) {
	var all []string
	for _, name := range names {
		all = append(all, name, name+"."+Namespace+".svc")
	}
	made, _, err := a.authority.Renew(nil, certificates.Certificate{DNSNames: all, Duration: 24 * time.Hour, RenewBefore: time.Hour}, time.Now())
	if err != nil {
		return nil, err
	}
	for name, content := range made {
		if err := Write(filepath.Join(directory, name), content); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Write a file that is not for others, and the directories that it is in.
func Write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
