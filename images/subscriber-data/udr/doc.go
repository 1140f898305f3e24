// Package udr serves the part of Nudr_DataRepository (TS 29.504, TS 29.519) that the PCF asks for:
// policy data and influence data. There is no application function, so influence data is always empty.
package udr
