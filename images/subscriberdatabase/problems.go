package subscriberdatabase

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Errors of a database that answers, and cannot be used until somebody does something.
var (
	// ErrSecret: the Secret lacks something, and only its change heals that.
	ErrSecret = errors.New("the Secret of the subscriber database")
	// ErrSchema: the schema is newer than this program, or older and not for this account to change.
	ErrSchema = errors.New("the schema of the subscriber database")
	// ErrSealing: what is there was sealed with other keys.
	ErrSealing = errors.New("the keys of the subscriber database")
)

// IsAway says whether an error is that of a database that does not answer, or not now, and not an answer to what was asked.
func IsAway(err error) bool {
	var answered *pgconn.PgError
	if !errors.As(err, &answered) {
		return err != nil && !errors.Is(err, pgx.ErrNoRows)
	}
	// Classes 08 connection, 53 resources, 57 ended by an administrator, 28 who may connect (PostgreSQL, Appendix A).
	class := answered.Code[:min(2, len(answered.Code))]
	return slices.Contains([]string{"08", "53", "57", "28"}, class)
}

// Explain says what a person is to do about an error of this package, of which nothing is secret.
func Explain(err error) string {
	var answered *pgconn.PgError
	switch {
	case errors.Is(err, ErrSecret), errors.Is(err, ErrSchema), errors.Is(err, ErrSealing):
		return err.Error()
	case errors.As(err, &answered) && strings.HasPrefix(answered.Code, "28"):
		return "the database refuses the user or password: write those that it has into " + strconv.Quote(FileURI) + " of the Secret: " + answered.Message
	case errors.As(err, &answered) && answered.Code == "3D000":
		return "there is no such database: CREATE DATABASE, or name another in " + strconv.Quote(FileURI) + " of the Secret: " + answered.Message
	}
	return "the database does not answer: look whether it runs, and whether its network lets pods of this namespace in: " + cmp.Or(err.Error(), "no answer")
}
