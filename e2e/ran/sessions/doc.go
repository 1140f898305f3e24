// Package sessions tells stories of PDU sessions as UEs see them: simulated UEs and gNBs, an AMF that tests script, and core5g's
// own SMF and UPF, in one process. The SMF is one or two pods over a session store, which are killed without a word; what they
// and the AMF say to each other goes over HTTP, and to upf-c by PFCP over UDP.
//
// Where there are root and a upf-u (make -C upf upf-u), packets flow: upf-u forwards them in network namespaces between
// the gNBs and a data network. The other stories look at what upf-u would be given, and need neither.
//
//	rig_test.go        the parts, and how they are started and killed
//	packets_test.go    the network namespaces with upf-u
//	*_test.go          a subject each
package sessions
