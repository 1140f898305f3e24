// Command access-management is a worker of core5g's AMF: shards of UEs, which outlive the pods that hold them.
//
//	access-management ues [-slice S-NSSAI] …   and
//	access-management ue SUPI                  ask the pod that they run in what UEs there are
//	access-management trace SUPI               what is said for one
package main

import (
	"os"

	accessmanagement "core5g.dev/core5g/images/access-management"
	"core5g.dev/core5g/images/access-management/inspection"
	"core5g.dev/core5g/images/nf/pod"
)

func main() {
	if inspection.IsCommand(os.Args[1:]) {
		pod.Command("access-management", inspection.RunCommand)
	}
	pod.Main("access-management", accessmanagement.ParseConfig, accessmanagement.Run)
}
