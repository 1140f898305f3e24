// Command session-management is core5g's SMF: shards of PDU sessions, which outlive the pods that hold them.
//
//	session-management sessions [-slice NAME] …   and
//	session-management session SUPI/ID            ask the pod that they run in what sessions there are
//	session-management trace SUPI                 what is said for a UE's
package main

import (
	"os"

	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/session-management"
	"core5g.dev/core5g/images/session-management/inspection"
)

func main() {
	if inspection.IsCommand(os.Args[1:]) {
		pod.Command("session-management", inspection.RunCommand)
	}
	pod.Main("session-management", sessionmanagement.ParseConfig, sessionmanagement.Run)
}
