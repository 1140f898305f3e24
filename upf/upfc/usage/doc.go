// Package usage does the arithmetic of usage reporting (TS 29.244 5.2.2): which octets a report
// covers, when it is due, and at which volume upf-u is to speak up. It is pure; counters and the
// time are handed in.
package usage
