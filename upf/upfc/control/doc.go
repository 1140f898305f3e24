// Package control lets humans and tests look into a running upf-c: a small HTTP service on a Unix
// socket, and the upfctl commands that ask it.
package control
