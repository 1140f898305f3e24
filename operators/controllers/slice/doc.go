// Package slice is the controller of Slices.
package slice
