// Trunk is the port of a switch that the emulated server's NICs are cabled to, where N3 is a tagged VLAN. Towards
// the server every frame has the VLAN's tag (IEEE 802.1Q 9.6); what comes from it without, or with another one, ends
// here. The bridge in the cluster's sandbox, on the other side, sees untagged frames: the kernels that run the
// cluster need neither 8021q nor VLAN filtering in bridges.
//
//	trunk -tap c5g-onprem-n3 -vlan 30 -local n3.trunk -server n3.qemu -pid trunk.pid
//
// A datagram on the two Unix sockets is a frame, as QEMU's netdev dgram wants it. QEMU may come and go.
package main
