// Package certificates is the certification authority of a core that has no cert-manager: it makes the
// authority once per core, and certificates of it for the core's functions, and says when each is to be
// made anew. It keeps nothing itself; the caller keeps Secrets.
//
// An authority that is replaced is replaced in two steps. First everybody learns to believe the new one
// beside the old; only when every pod must have read that do the functions get certificates of the new one.
package certificates
