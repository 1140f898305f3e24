// Package subscriberdatabase is what the operator and the subscriber data functions both know of the database of subscribers: how to get in, what its schema
// is, and what is to be done about one that cannot be used. Who asks it for subscribers is images/subscriber-data/postgresql.
//
//	access.go           the Secret: where the database is, and the keys that seal K and OPc
//	schema.go           migrations/*.sql, and whether keys and program are those of the database
//	problems.go         what a person is to do about an error
//	subscribercommand   what the command `subscribers` understands, in a pod and in kubectl core5g
//	postgresqltest      a PostgreSQL for tests
package subscriberdatabase
