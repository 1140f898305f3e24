// Package filling brings a upf-u and upf-c's account of the sessions to the same, before anybody may use the connection
// (package link): a new upf-u, one that lived on while upf-c did not, and that of a standby, which is filled ahead.
//
// It stands above sessions and reports, and neither knows of it.
package filling
