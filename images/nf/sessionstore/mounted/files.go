// Package mounted opens the session store that a pod's files name: a Secret that says where the store is and how to
// get in, and one with the keys that seal records. Both are mounted as directories, and read anew when they change.
//
//	addresses          host:port of the server, or of the Sentinels; one a line, or with commas
//	primary            the name that the Sentinels know the primary by; without it addresses are the server's
//	username           of the ACL user; "default" where there is none
//	password
//	sentinelUsername   of the Sentinels, where they ask for one
//	sentinelPassword
//	ca.crt             who signs the server's certificate: with it the connection is TLS
//	tls.crt, tls.key   the client's own certificate, where the server asks for one
//	serverName         in the server's certificate, where it is not the host of the address
//	replicas           how many replicas must have a write before it counts; 0
//
// Addresses, primary, replicas and what is of the Sentinels are read once, when the store is opened.
package mounted

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
)

// Names of the files.
const (
	FileAddresses        = "addresses"
	FilePrimary          = "primary"
	FileUsername         = "username"
	FilePassword         = "password"
	FileSentinelUsername = "sentinelUsername"
	FileSentinelPassword = "sentinelPassword"
	FileCA               = "ca.crt"
	FileCertificate      = "tls.crt"
	FileKey              = "tls.key"
	FileServerName       = "serverName"
	FileReplicas         = "replicas"
	// FileSealWith, among the sealing keys, names the one to seal with; without it, it is the highest number.
	FileSealWith = "sealWith"
)

// maxReplicas is more than anybody runs.
const maxReplicas = 9

// Access is what the files say.
type Access struct {
	redisstore.Options
	// Config is for TLS, nil for clear text.
	Config *tls.Config
}

// Parse reads the files of the Secret, by name. Its errors say which file to write what in, and show none.
func Parse(files map[string][]byte) (*Access, error) {
	text := func(name string) string { return strings.TrimSpace(string(files[name])) }
	a := &Access{Options: redisstore.Options{
		Primary: text(FilePrimary), Username: text(FileUsername), Password: text(FilePassword),
		SentinelUsername: text(FileSentinelUsername), SentinelPassword: text(FileSentinelPassword),
	}}
	a.Addresses = strings.FieldsFunc(text(FileAddresses), func(r rune) bool { return r == ',' || r == '\n' || r == ' ' || r == '\r' || r == '\t' })
	if len(a.Addresses) == 0 {
		return nil, fmt.Errorf("no %q: write host:port of the server, or of the Sentinels with %q", FileAddresses, FilePrimary)
	}
	for _, address := range a.Addresses {
		host, port, err := net.SplitHostPort(address)
		if n, failed := strconv.ParseUint(port, 10, 16); err != nil || host == "" || failed != nil || n == 0 {
			return nil, fmt.Errorf("%q holds %q: write host:port", FileAddresses, address)
		}
	}
	if len(a.Addresses) > 1 && a.Primary == "" {
		// A client would take them for a Redis Cluster, whose scripts cannot touch keys of several slots.
		return nil, fmt.Errorf("%q holds %d addresses: write one, or those of the Sentinels, and the primary's name in %q", FileAddresses, len(a.Addresses), FilePrimary)
	}
	if a.Password == "" {
		return nil, fmt.Errorf("no %q: write the password of the ACL user; a store without one is everybody's", FilePassword)
	}
	if n := text(FileReplicas); n != "" {
		var err error
		if a.Replicas, err = strconv.Atoi(n); err != nil || a.Replicas < 0 || a.Replicas > maxReplicas {
			return nil, fmt.Errorf("%q holds %q: write how many replicas must have a write, 0 to %d", FileReplicas, n, maxReplicas)
		}
	}
	var err error
	a.Config, err = parseTLS(files, text(FileServerName))
	return a, err
}

func parseTLS(files map[string][]byte, serverName string) (*tls.Config, error) {
	ca, certificate, key := files[FileCA], files[FileCertificate], files[FileKey]
	if len(ca) == 0 {
		if len(certificate) != 0 || len(key) != 0 || serverName != "" {
			return nil, fmt.Errorf("no %q: write the certificates that sign the server's, or leave %s, %s and %s out for clear text",
				FileCA, FileCertificate, FileKey, FileServerName)
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: serverName}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%q holds no certificate: write PEM", FileCA)
	}
	if len(certificate) == 0 && len(key) == 0 {
		return config, nil
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are no pair: %w", FileCertificate, FileKey, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// ParseKeys reads sealing keys: files named by a number, each with 32 octets, or with these in base64.
func ParseKeys(files map[string][]byte) (*sessionstore.Sealer, error) {
	keys := map[uint32][]byte{}
	for name, content := range files {
		if name == FileSealWith {
			continue
		}
		id, err := strconv.ParseUint(name, 10, 32)
		if err != nil || name != strconv.FormatUint(id, 10) {
			return nil, fmt.Errorf("%q is no name of a sealing key: name keys by numbers, as 1", name)
		}
		key := content
		if len(key) != sessionstore.KeySize {
			if key, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(content))); err != nil || len(key) != sessionstore.KeySize {
				return nil, fmt.Errorf("sealing key %q: write %d octets, or these in base64 (openssl rand -base64 %d)", name, sessionstore.KeySize, sessionstore.KeySize)
			}
		}
		keys[uint32(id)] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("no sealing key: write one, named by a number, as 1")
	}
	sealer, err := sessionstore.NewSealer(keys)
	if err != nil {
		return nil, err
	}
	if with := strings.TrimSpace(string(files[FileSealWith])); with != "" {
		id, err := strconv.ParseUint(with, 10, 32)
		if err == nil {
			err = sealer.SealWith(uint32(id))
		}
		if err != nil {
			return nil, fmt.Errorf("%q holds %q: write the number of a key that is there", FileSealWith, with)
		}
	}
	return sealer, nil
}
