// Package core is the controller of Core5Gs, and watches over their NRFs and N2 terminators.
package core
