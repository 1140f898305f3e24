// Command control-plane is a core's whole control plane in one program: N2 terminator, AMF, SMF and subscriber data.
//
//	control-plane sessions [-slice NAME] …, session SUPI/ID,
//	control-plane ues [-slice S-NSSAI] …, ue SUPI              ask the pod that they run in what sessions and UEs there are
//	control-plane trace -part amf|smf SUPI                     what is said for a UE
//	control-plane subscribers import|export|get|…              works on the database of subscribers that the pod has
package main

import (
	"os"

	controlplane "core5g.dev/core5g/images/control-plane"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/subscriber-data/subscribers"
)

func main() {
	if look := controlplane.Look(os.Args[1:]); look != nil {
		pod.Command("control-plane", look)
	}
	if subscribers.IsCommand(os.Args[1:]) {
		pod.Command("control-plane", subscribers.RunCommand)
	}
	pod.Main("control-plane", controlplane.ParseConfig, controlplane.Run)
}
