// Command access-management is a worker of core5g's AMF: shards of UEs, which outlive the pods that hold them.
package main

import (
	accessmanagement "core5g.dev/core5g/images/access-management"
	"core5g.dev/core5g/images/nf/pod"
)

func main() { pod.Main("access-management", accessmanagement.ParseConfig, accessmanagement.Run) }
