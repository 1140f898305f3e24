// Command subscriber-data serves AUSF, UDM, UDR and NSSF from Subscriber, Slice and Core5G objects.
//
//	subscriber-data subscribers import|export|get|set|delete|reseal|schema   works on the database of subscribers that the pod has
package main

import (
	"os"

	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/subscriber-data"
	"core5g.dev/core5g/images/subscriber-data/subscribers"
)

func main() {
	if subscribers.IsCommand(os.Args[1:]) {
		pod.Command("subscriber-data", subscribers.RunCommand)
	}
	pod.Main("subscriber-data", subscriberdata.ParseConfig, subscriberdata.Run)
}
