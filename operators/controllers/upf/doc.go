// Package upf is the controller of UPFInstances: their pods, the places of these, and who serves.
package upf
