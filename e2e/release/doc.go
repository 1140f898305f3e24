// Package release reads the files of a release.
package release
