// Command subscriber-data serves AUSF, UDM, UDR and NSSF from Subscriber, Slice and Core5G objects.
package main

import (
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/subscriber-data"
)

func main() { pod.Main("subscriber-data", subscriberdata.ParseConfig, subscriberdata.Run) }
