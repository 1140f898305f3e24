package postgresql

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/subscriberdatabase"
)

// connections are what a replica opens at most, beside the one that listens.
const connections = 8

// Database of a core's subscribers. It is safe for concurrent use.
type Database struct {
	access func() (*subscriberdatabase.Access, error)
	pool   *pgxpool.Pool
	sealer atomic.Pointer[sessionstore.Sealer]
}

// Open returns the database that access names, which is read again for each connection, so that a password may change. It does not connect
// yet. Errors are subscriberdatabase.ErrSecret.
func Open(access func() (*subscriberdatabase.Access, error)) (*Database, error) {
	d := &Database{access: access}
	first, err := d.reload()
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = first.Connection
	config.MaxConns, config.MinConns = connections, 1
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		now, err := d.reload()
		if err == nil {
			*c = *now.Connection
		}
		return err
	}
	if d.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		return nil, err
	}
	return d, nil
}

// reload what the Secret says.
func (d *Database) reload() (*subscriberdatabase.Access, error) {
	a, err := d.access()
	if err != nil {
		return nil, err
	}
	d.sealer.Store(a.Sealer)
	return a, nil
}

// Close all connections.
func (d *Database) Close() { d.pool.Close() }

// Prepare brings the schema up to date, and checks that the keys are those of the database. Errors beside ErrSchema and ErrSealing of subscriberdatabase
// are those of a database that does not answer.
func (d *Database) Prepare(ctx context.Context) error {
	connection, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	return subscriberdatabase.Prepare(ctx, connection.Conn(), d.sealer.Load())
}
