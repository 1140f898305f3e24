// Command control-plane is a core's whole control plane in one program: N2 terminator, AMF, SMF and subscriber data.
//
//	control-plane sessions [-slice NAME] …, session SUPI/ID   and
//	control-plane ues [-slice S-NSSAI] …, ue SUPI              ask the pod that they run in what sessions and UEs there are
package main

import (
	"os"

	ues "core5g.dev/core5g/images/access-management/inspection"
	controlplane "core5g.dev/core5g/images/control-plane"
	"core5g.dev/core5g/images/nf/pod"
	sessions "core5g.dev/core5g/images/session-management/inspection"
)

func main() {
	switch args := os.Args[1:]; {
	case sessions.IsCommand(args):
		pod.Command("control-plane", sessions.RunCommand)
	case ues.IsCommand(args):
		pod.Command("control-plane", ues.RunCommand)
	}
	pod.Main("control-plane", controlplane.ParseConfig, controlplane.Run)
}
