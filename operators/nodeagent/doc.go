// Package nodeagent tells the planner what a node has, NUMA cell by NUMA cell: it reads sysfs, the kubelet's
// configuration and the kubelet's podresources API, and writes them as the status of the DataplaneNode that
// has the node's name. The conditions of that status are the preflight: each setting that is missing, and
// how to set it. It changes nothing on the node.
package nodeagent
