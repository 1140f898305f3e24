package subscriberdatabase

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"core5g.dev/core5g/images/subscriberdatabase/postgresqltest"
)

func TestMain(m *testing.M) { postgresqltest.Main(m) }

// prepare the database of a Secret, on a connection of its own.
func prepare(t *testing.T, files map[string][]byte) error {
	t.Helper()
	access, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(t.Context(), access.Connection)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.Background()) }()
	return Prepare(t.Context(), c, access.Sealer)
}

func TestWhatTheSecretLacks(t *testing.T) {
	const uri = "postgresql://core5g:geheim@db:5432/core5g"
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"nothing at all":           {nil, `no "uri" that begins with postgresql://`},
		"a URI of something else":  {map[string][]byte{"uri": []byte("mongodb://geheim@x")}, `no "uri" that begins with postgresql://`},
		"a password with signs":    {map[string][]byte{"uri": []byte("postgresql://core5g:geheim%zz@db/core5g")}, "cannot be read"},
		"no sealing key":           {map[string][]byte{"uri": []byte(uri)}, "no sealing key"},
		"a short sealing key":      {map[string][]byte{"uri": []byte(uri), "1": []byte("geheim")}, `sealing key "1": write 32 octets`},
		"a certificate that is no": {map[string][]byte{"uri": []byte(uri), "1": bytes.Repeat([]byte{1}, 32), "ca.crt": []byte("geheim")}, `"ca.crt" holds no certificate`},
		"a key without authority":  {map[string][]byte{"uri": []byte(uri), "1": bytes.Repeat([]byte{1}, 32), "tls.key": []byte("geheim")}, `no "ca.crt"`},
	} {
		_, err := Parse(c.files)
		if !errors.Is(err, ErrSecret) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestADatabaseThatCannotBeUsed(t *testing.T) {
	f := map[string][]byte{FileURI: []byte(postgresqltest.Database(t) + "?connect_timeout=60"), "1": bytes.Repeat([]byte{1}, 32)}
	with := func(name string, value []byte) map[string][]byte {
		out := maps.Clone(f)
		out[name] = value
		return out
	}
	c, err := pgx.Connect(t.Context(), string(f[FileURI]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if err := prepare(t, f); err != nil {
		t.Fatal(err)
	}
	newer := func() {
		if _, err := c.Exec(t.Context(), `INSERT INTO core5g.versions (version, name, readable_from) VALUES (99, 'one day', 99)`); err != nil {
			t.Fatal(err)
		}
	}
	uri := string(f[FileURI])
	for _, x := range []struct {
		name  string
		files map[string][]byte
		first func()
		want  string
	}{
		{"as it must be", f, nil, ""},
		{"a key beside it", with("2", bytes.Repeat([]byte{2}, 32)), nil, ""},
		{"other keys", with("1", bytes.Repeat([]byte{9}, 32)), nil, "are not those that it was sealed with: restore"},
		{"another password", with(FileURI, []byte(strings.Replace(uri, "p%40ss", "false", 1))), nil, "refuses the user or password"},
		{"no such database", with(FileURI, []byte(strings.Replace(uri, "?", "x?", 1))), nil, "there is no such database: CREATE DATABASE"},
		{"nobody there", with(FileURI, []byte("postgresql://a:b@127.0.0.1:1/core5g")), nil, "does not answer: look whether it runs"},
		{"a newer schema", f, newer, "is for programs that know version 99, and this one knows 1"},
	} {
		if x.first != nil {
			x.first()
		}
		access, err := Parse(x.files)
		if err != nil {
			t.Fatal(err)
		}
		problems := map[string]error{"Check": Check(t.Context(), access), "Prepare": prepare(t, x.files)}
		for what, err := range problems {
			if text := explained(err); (x.want == "") != (err == nil) || !strings.Contains(text, x.want) || strings.Contains(text, "false/word") {
				t.Errorf("%s: %s: %s, want %q", x.name, what, text, x.want)
			}
		}
	}
}

func explained(err error) string {
	if err == nil {
		return ""
	}
	return Explain(err)
}
