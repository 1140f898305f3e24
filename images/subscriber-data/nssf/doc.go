// Package nssf serves Nnssf_NSSelection (TS 29.531) from the slices that exist.
package nssf
