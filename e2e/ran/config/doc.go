// Package config reads and checks the YAML of the ran program. Every refusal names the file, the key
// and what to write instead.
package config
