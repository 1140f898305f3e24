package subscriberdatabase

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"core5g.dev/core5g/images/nf/sessionstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is held by who brings the schema up to date: "core5g" in octets.
const migrationLock = 0x636f72653567

// Prepare brings the schema up to date, and checks that the keys are those of the database. Errors beside ErrSchema and ErrSealing are those of a
// database that does not answer.
func Prepare(ctx context.Context, c *pgx.Conn, sealer *sessionstore.Sealer) error {
	if err := migrate(ctx, c); err != nil {
		return err
	}
	return checkSealing(ctx, c, sealer)
}

// Check asks a database whether it can be used, and changes nothing: one that nobody has prepared yet can.
func Check(ctx context.Context, a *Access) error {
	connection, err := pgx.ConnectConfig(ctx, a.Connection)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(ctx) }()
	is, needs, err := version(ctx, connection)
	if err != nil || is == 0 {
		return err
	}
	if latest := len(steps()); needs > latest {
		return tooNew(needs, latest)
	}
	var sealed []byte
	err = connection.QueryRow(ctx, `SELECT sealed FROM core5g.sealing`).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return opens(a.Sealer, sealed)
}

// step is one migration.
type step struct {
	name, sql string
	// readableFrom is the version of the schema that a program must know at least to use the database after this step.
	readableFrom int
}

// steps are all migrations, the first of them version 1.
func steps() []step {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // of a bad pattern
	}
	slices.Sort(names)
	var out []step
	for _, name := range names {
		sql, err := migrations.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		out = append(out, step{strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql"), string(sql), 1})
	}
	return out
}

const versions = `CREATE SCHEMA IF NOT EXISTS core5g;
CREATE TABLE IF NOT EXISTS core5g.versions (
	version       integer PRIMARY KEY,
	name          text NOT NULL,
	readable_from integer NOT NULL,
	applied       timestamptz NOT NULL DEFAULT now()
);
`

// Schema is the SQL that makes the schema, for an administrator whose program's account may not.
func Schema() string {
	var b strings.Builder
	b.WriteString("BEGIN;\n" + versions)
	for i, s := range steps() {
		fmt.Fprintf(&b, "\n%s%s;\n", s.sql, enter(i+1, s))
	}
	b.WriteString("COMMIT;\n")
	return b.String()
}

// enter is the statement that says that a step was made.
func enter(version int, s step) string {
	return fmt.Sprintf("INSERT INTO core5g.versions (version, name, readable_from) VALUES (%d, '%s', %d)", version, s.name, s.readableFrom)
}

// version of the schema, 0 for none, and the one that a program must know to use it.
func version(ctx context.Context, c *pgx.Conn) (is, needs int, err error) {
	var there bool
	if err := c.QueryRow(ctx, `SELECT to_regclass('core5g.versions') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, 0, err
	}
	err = c.QueryRow(ctx, `SELECT coalesce(max(version), 0), coalesce(max(readable_from), 0) FROM core5g.versions`).Scan(&is, &needs)
	return is, needs, err
}

func tooNew(needs, known int) error {
	return fmt.Errorf("%w is for programs that know version %d, and this one knows %d: run the core5g that has made it, or a newer one", ErrSchema, needs, known)
}

// migrate to the last version; of several that want to, one does.
func migrate(ctx context.Context, c *pgx.Conn) error {
	todo := steps()
	is, needs, err := version(ctx, c)
	switch {
	case err != nil:
		return denied(err)
	case needs > len(todo):
		return tooNew(needs, len(todo))
	case is >= len(todo):
		return nil
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, versions); err != nil {
			return err
		}
		is, _, err := version(ctx, tx.Conn())
		if err != nil {
			return err
		}
		for i := is; i < len(todo); i++ {
			if _, err := tx.Exec(ctx, todo[i].sql); err != nil {
				return fmt.Errorf("migration %s: %w", todo[i].name, err)
			}
			if _, err := tx.Exec(ctx, enter(i+1, todo[i])); err != nil {
				return err
			}
		}
		return nil
	})
	return denied(err)
}

// denied turns a refusal of the database into what to do about it.
func denied(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" { // insufficient_privilege
		return fmt.Errorf("%w is not for this account to make: GRANT CREATE ON DATABASE to it, or have an owner run what `subscriber-data subscribers schema` prints, "+
			"and GRANT the account USAGE of the schema core5g and all on its tables: %s", ErrSchema, refused.Message)
	}
	return err
}

// sealedText is what the row of core5g.sealing holds.
const sealedText, sealedUnder = "core5g", "sealing"

// Sealing is what the row of core5g.sealing is to hold.
func Sealing(sealer *sessionstore.Sealer) []byte { return sealer.Seal(sealedUnder, []byte(sealedText)) }

// checkSealing seals something where nothing is yet, and else opens what is.
func checkSealing(ctx context.Context, c *pgx.Conn, sealer *sessionstore.Sealer) error {
	var sealed []byte
	err := c.QueryRow(ctx, `SELECT sealed FROM core5g.sealing`).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := c.Exec(ctx, `INSERT INTO core5g.sealing (sealed) VALUES ($1) ON CONFLICT DO NOTHING`,
			Sealing(sealer)); err != nil {
			return denied(err)
		}
		err = c.QueryRow(ctx, `SELECT sealed FROM core5g.sealing`).Scan(&sealed)
	}
	if err != nil {
		return denied(err)
	}
	return opens(sealer, sealed)
}

func opens(sealer *sessionstore.Sealer, sealed []byte) error {
	if _, err := sealer.Open(sealedUnder, sealed); err != nil {
		return fmt.Errorf("%w are not those that it was sealed with: restore the numbered keys of its Secret from a backup: %w", ErrSealing, err)
	}
	return nil
}
