// Package trace makes what upf-u tells about single packets readable: a line for each stage of a
// packet's way, its headers in one line, and a capture file of what came and what left.
package trace
