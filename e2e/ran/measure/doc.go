// Package measure pings and loads a path, and says what it saw; nothing in its results is made up.
package measure
