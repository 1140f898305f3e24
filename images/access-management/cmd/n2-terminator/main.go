// Command n2-terminator is the end of N2 that gNBs see: it has their SCTP associations, and hands what comes by them to AMF workers.
package main

import (
	"core5g.dev/core5g/images/access-management/terminator/program"
	"core5g.dev/core5g/images/nf/pod"
)

func main() { pod.Main("n2-terminator", program.ParseConfig, program.Run) }
