// Package nf is what the mains of free5GC's network functions have in common: how one begins, joins the core, calls
// the others and is called.
//
// A main reads the configuration, which each function has a type of its own for, and between Join and Run makes and
// starts the function. What it repairs of its function stands in files of its own beside it.
package nf
