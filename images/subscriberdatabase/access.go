package subscriberdatabase

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
)

// DirectoryEnv names the environment variable that says where the Secret is mounted.
const DirectoryEnv = "SUBSCRIBER_DATABASE_DIR"

// CoreEnv names the one that says whose it is: NAMESPACE/NAME of the Core5G.
const CoreEnv = "SUBSCRIBER_DATABASE_CORE"

// Names of the Secret's keys. Beside them are sealing keys, named by numbers, and mounted.FileSealWith.
const (
	FileURI         = "uri"
	FileCA          = "ca.crt"
	FileCertificate = "tls.crt"
	FileKey         = "tls.key"
)

// dialLimit is for one attempt to connect; a server whose node is gone refuses nothing.
const dialLimit = 2 * time.Second

// Access is what the Secret says.
type Access struct {
	Connection *pgx.ConnConfig
	Sealer     *sessionstore.Sealer
}

// Parse reads the keys of the Secret, by name. Its errors say what to write, and show nothing of what is there.
func Parse(files map[string][]byte) (*Access, error) {
	uri := strings.TrimSpace(string(files[FileURI]))
	if !strings.HasPrefix(uri, "postgresql://") && !strings.HasPrefix(uri, "postgres://") {
		return nil, fmt.Errorf("%w: no %q that begins with postgresql://: write postgresql://USER:PASSWORD@HOST:5432/DATABASE", ErrSecret, FileURI)
	}
	connection, err := pgx.ParseConfig(uri)
	if err != nil { // which may quote a part of the password
		return nil, fmt.Errorf("%w: %q cannot be read: write postgresql://USER:PASSWORD@HOST:5432/DATABASE, and signs like @ / %% in the password as %%40 %%2F %%25", ErrSecret, FileURI)
	}
	if err := withTLS(connection, files); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecret, err)
	}
	keys := map[string][]byte{}
	for name, content := range files {
		if _, err := strconv.ParseUint(name, 10, 32); err == nil || name == mounted.FileSealWith {
			keys[name] = content
		}
	}
	sealer, err := mounted.ParseKeys(keys)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecret, err)
	}
	if connection.ConnectTimeout == 0 { // connect_timeout of the URI
		connection.ConnectTimeout = dialLimit
	}
	if connection.RuntimeParams["application_name"] == "" {
		connection.RuntimeParams["application_name"] = "core5g"
	}
	return &Access{connection, sealer}, nil
}

// withTLS has the server's certificate checked against ca.crt, on every host that the URI names.
func withTLS(connection *pgx.ConnConfig, files map[string][]byte) error {
	ca, certificate, key := files[FileCA], files[FileCertificate], files[FileKey]
	if len(ca) == 0 {
		if len(certificate)+len(key) > 0 {
			return fmt.Errorf("no %q: write the certificates that sign the server's, or leave %s and %s out", FileCA, FileCertificate, FileKey)
		}
		return nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return fmt.Errorf("%q holds no certificate: write PEM", FileCA)
	}
	var own []tls.Certificate
	if len(certificate)+len(key) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return fmt.Errorf("%s and %s are no pair: %w", FileCertificate, FileKey, err)
		}
		own = []tls.Certificate{pair}
	}
	of := func(host string) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host, Certificates: own}
	}
	connection.TLSConfig = of(connection.Host)
	for _, other := range connection.Fallbacks { // among them the attempts in clear text
		other.TLSConfig = of(other.Host)
	}
	return nil
}

// ReadDirectory reads a mounted Secret: its files by name.
func ReadDirectory(path string) (map[string][]byte, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") { // what the kubelet swaps directories with
			continue
		}
		content, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		files[e.Name()] = content
	}
	return files, nil
}

// Directory returns the reading of a mounted Secret, for Open.
func Directory(path string) func() (*Access, error) {
	return func() (*Access, error) {
		files, err := ReadDirectory(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSecret, err)
		}
		return Parse(files)
	}
}
