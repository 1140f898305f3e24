package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"aead.dev/minisign"
)

// The environment names the key: a file as `minisign -G` or `release key` writes it, and its password if it has one.
const (
	keyFile     = "CORE5G_RELEASE_KEY"
	keyPassword = "CORE5G_RELEASE_KEY_PASSWORD"
)

// keyOfEnvironment is nil where no key is named.
func keyOfEnvironment(env func(string) string) (*minisign.PrivateKey, error) {
	name := env(keyFile)
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keyFile, err)
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		if env(keyPassword) == "" {
			return nil, fmt.Errorf("%s has a password: say it in %s", keyFile, keyPassword)
		}
		if key, err = minisign.DecryptKey(env(keyPassword), text); err != nil {
			return nil, fmt.Errorf("%s: the password of %s does not fit, or it is no secret key of minisign: %w", keyFile, keyPassword, err)
		}
		return &key, nil
	}
	if err := key.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("%s: no secret key of minisign: %w", keyFile, err)
	}
	return &key, nil
}

// newKey writes both halves of a new key, the secret one without a password and for its owner alone.
func newKey(name string) error {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	secret, err := private.MarshalText()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(secret, '\n')); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return writePublic(name+".pub", public)
}

func writePublic(name string, key minisign.PublicKey) error {
	text, err := key.MarshalText()
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(bytes.TrimSpace(text), '\n'), 0o644)
}

// sign writes the signature beside the file. It is the same each time: its comment has no time.
func sign(key minisign.PrivateKey, path, comment string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := minisign.NewReader(f)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	return os.WriteFile(path+signatureEnd, r.SignWithComments(key, comment, "signature from a core5g release key"), 0o644)
}

// checkSignature wants the file signed by the key.
func checkSignature(key minisign.PublicKey, path string) error {
	signature, err := os.ReadFile(path + signatureEnd)
	if err != nil {
		return fmt.Errorf("no signature: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := minisign.NewReader(f)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	if !r.Verify(key, signature) {
		return fmt.Errorf("%s is not what was signed, or another key signed it: do not use these files", path)
	}
	return nil
}
