// Package simulation runs the AMF's own code in a world that is made of one seed: terminators, workers that hold shards, and what they say to each other;
// procedures, NGAP, NAS and its security are those that are delivered. gNBs, UEs and all other functions are of the world. Workers and terminators die at any
// step, connections between them and to gNBs are cut, the store is away, is slow, forgets, or does not say whether it has written; other functions are late,
// refuse, or do not answer. What happens is the same for the same seed, so that a fault that was found once is found again.
//
// What must always hold is looked at where it could break: no NAS COUNT is used twice, no name is two UEs', a record is sealed, bounded and found by all its
// indexes, nobody speaks for a shard that another holds, and no UE that is registered is told that it is not. When the world has come to rest, UE, gNB,
// record, SMF and UDM think the same, who has subscribed to the AMF's status knows it, and no terminator keeps anything.
//
// In a third of the worlds there are emergency services, and in a third an AMF of another set, to which UEs go and from which they come back. Who calls is not
// refused for want of a subscription, nor where nobody need be authenticated for want of a SIM; who has emergency services alone gets their data network
// and nothing else, until it goes or is not heard of any more. A UE is given to who shows its request, is not served here any more when it has been let go of, and in
// the end exactly one AMF has it, with its sessions. In a quarter shards have room for one or two strangers: gNBs are asked to refuse some of who comes, which some
// do, and hear in the end that it is over; in a third of these workers are often cut off just behind what they ask.
//
// In a third of the worlds some gNBs have two associations for their NG interface, one of which ends now and then: UEs go on by the other, with what is under way. In
// a third UEs that the network has leave register at once, and in a third some hear nothing more just when they are told something. In a third gNBs are told of
// terminators that come and go, and join them, cannot, refuse, or know nothing of that.
//
//	workers.go   pods, the shards that they hold, their view of the world      world.go     puts all of it together, on package worlds
//	ends.go      terminators, connections of workers, associations of gNBs     gnb.go       gNBs
//	ue.go        UEs                                                            nas.go       a UE's end of NAS security
//	functions.go AUSF, UDM, PCF                                                 smf.go       an SMF
//	status.go    who hears of the AMF's status                                  events.go    who wants to hear what UEs do
//	counts.go    which COUNTs were used                                         check.go     what must hold
//	emergency.go UEs that call                                                  others.go    an AMF of another set
//	wanted.go    who wants to reach UEs                                         overload.go  gNBs that are asked to refuse UEs
//	associations.go                                                             gNBs with two associations
//	terminators.go                                                              gNBs that are told of terminators
package simulation
