// Package n2 is what an AMF and an NG-RAN node say to each other: the messages of NGAP (TS 38.413 8 and 9), octets to plain
// structs and back.
package n2
