// Command control-plane is a core's whole control plane in one program: N2 terminator, AMF, SMF and subscriber data.
//
//	control-plane sessions [-slice NAME] …   and
//	control-plane session SUPI/ID            ask the pod that they run in what sessions there are
package main

import (
	"os"

	controlplane "core5g.dev/core5g/images/control-plane"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/session-management/inspection"
)

func main() {
	if inspection.IsCommand(os.Args[1:]) {
		pod.Command("control-plane", inspection.RunCommand)
	}
	pod.Main("control-plane", controlplane.ParseConfig, controlplane.Run)
}
