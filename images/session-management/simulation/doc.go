// Package simulation runs the SMF's own code in a world that is made of one seed: a clock that jumps from event to event, a network
// that loses, repeats, delays and overtakes, pods that die at any step, UPF units that forget, a store that is away or does not say
// whether it has written. What happens is the same for the same seed, so that a fault that was found once is found again.
//
// What must always hold is looked at where it could break, and when the world has come to rest, what SMF, units, AMF,
// access network and UE think of each other.
//
//	pods.go     pods, and the shards they have        world.go    puts all of it together, on package worlds
//	unit.go     a UPF unit                             ue.go      a UE, its access network and its AMF
//	network.go  messages, and how they are lost        store.go   a look at what is written into the session store
//	n4.go       units that are upf-c's own code, and endpoints of the shards
//	check.go    what must hold                         mobility.go  access networks and QoS that change
//	areas.go    tracking areas, breakouts, branches, and units that come and go
//	pcf.go      a PCF, and how it and a CHF fail       chf.go      a CHF, and what units count for it
//	deaths.go   pods that die at the worst moments     ethernet.go  sessions of type Ethernet, and what is behind their UEs
package simulation
