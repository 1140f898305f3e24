// Package node is this UPF as CP functions know it, and what it knows of them: the node-related procedures of PFCP (TS
// 29.244 6.2) on both sides. It has the associations and their heartbeats, who may ask for what and where a CP function
// is (PFCP authenticates nobody, and instances move), features, load and overload control, Node Reports, and whose
// sessions are being restored.
//
// It has no sessions and no upf-u: package agent hands it as functions (Owner) what it needs of both.
// Whatever is done in the name of a CP function asks here first.
package node
