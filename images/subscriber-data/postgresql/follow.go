package postgresql

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"core5g.dev/core5g/images/subscriberdatabase"
)

const (
	channel = "core5g_subscribers"
	// everybody is the payload that names nobody.
	everybody = "*"
	// quiet is how long nothing may come before the connection is asked whether it is there: with answerLimit and the 2 s of an attempt to connect it keeps what was
	// changed in the dark within 5 s of when the database can be reached.
	quiet       = time.Second
	answerLimit = 2 * time.Second
	// again is the time between two attempts to connect.
	again = time.Second
	// prepareLimit is for migrations, which wait for each other.
	prepareLimit = time.Minute
	// gather is how long changes are gathered that come together, and many how many of them count as everybody's: then who is served is looked at,
	// and not each of a million that was imported.
	gather = 100 * time.Millisecond
	many   = 1000
)

// Run follows the changes of the database until ctx ends, and connects again whenever it must.
func (s *Served) Run(ctx context.Context) {
	said := ""
	for {
		err := s.follow(ctx, func() { said = "" })
		s.setUp(false)
		if ctx.Err() != nil {
			return
		}
		if text := subscriberdatabase.Explain(err); text != said { // once for each cause
			said = text
			s.log.Error("the subscriber database: only what is cached is served, trying on", "error", text)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// follow on one connection, until it fails. up is called when it stands.
func (s *Served) follow(ctx context.Context, up func()) error {
	connection, err := s.listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.answerLimit)
		defer cancel()
		_ = connection.Close(ctx)
	}()
	// It listens already: what changes from here on is told, and what was before is read.
	s.database.pool.Reset()
	s.anew(false)
	s.setUp(true)
	s.tellAll("")
	s.log.Info("the subscriber database answers")
	up()
	for {
		supis, all, err := s.next(ctx, connection)
		switch { // what was told before it failed is true
		case all:
			s.anew(true)
			s.tellAll("")
		case len(supis) > many:
			s.changed(supis)
			s.tellAll("")
		case len(supis) > 0:
			s.changed(supis)
			s.tellAll(supis...)
		}
		if err != nil {
			return err
		}
	}
}

// listen prepares the database and returns a connection that is told of changes.
func (s *Served) listen(ctx context.Context) (*pgx.Conn, error) {
	preparing, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	access, err := s.database.reload()
	if err != nil {
		return nil, err
	}
	connection, err := pgx.ConnectConfig(preparing, access.Connection)
	if err != nil {
		return nil, err
	}
	if err = subscriberdatabase.Prepare(preparing, connection, access.Sealer); err == nil {
		_, err = connection.Exec(preparing, "LISTEN "+channel)
	}
	if err != nil {
		_ = connection.Close(preparing)
		return nil, err
	}
	return connection, nil
}

// next waits for changes, and gathers those that come with them. While none come, it asks whether the connection is there.
func (s *Served) next(ctx context.Context, c *pgx.Conn) (supis []string, all bool, err error) {
	payload, err := wait(ctx, c, quiet)
	if err != nil {
		return nil, false, err
	}
	if payload == "" {
		if _, err := s.database.reload(); err != nil { // keys may be added while it is open
			s.log.Warn("the Secret of the subscriber database is left as it was", "error", err)
		}
		ctx, cancel := context.WithTimeout(ctx, s.answerLimit)
		defer cancel()
		_, err := c.Exec(ctx, "SELECT 1")
		return nil, false, err
	}
	for until := time.Now().Add(gather); payload != ""; {
		if payload == everybody {
			all = true
		} else {
			supis = append(supis, strings.Fields(payload)...)
		}
		left := time.Until(until)
		if left <= 0 {
			break
		}
		if payload, err = wait(ctx, c, left); err != nil {
			break
		}
	}
	return supis, all, err
}

// wait so long for a notification; "" for none.
func wait(ctx context.Context, c *pgx.Conn, limit time.Duration) (payload string, err error) {
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	told, err := c.WaitForNotification(waiting)
	switch {
	case err == nil:
		return told.Payload, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && !c.IsClosed():
		return "", nil
	}
	return "", err
}
