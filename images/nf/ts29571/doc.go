// Package ts29571 is the data types that the services of the core have in common (TS 29.571), as far as they are used:
// plain Go values, read from JSON with a sentence for the sender about what is wrong with it.
package ts29571
