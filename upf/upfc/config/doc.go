// Package config reads upf-c.yaml. Decoding is strict: a key that is not known is an error, and
// every error names the key that it is about.
package config
