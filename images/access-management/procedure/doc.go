// Package procedure is what the AMF does with a UE (TS 23.502 4.2, 4.9, TS 24.501 5, TS 38.413 8), without doing it: Handle takes a UE and an event,
// and says what the UE is then and what is to be done. It reads no clock, sends nothing and keeps nothing, so that a test or a simulation can lead it
// anywhere. HandleGNB is the same for gNBs.
//
// Who calls Handle does, in this order: write the record that it returned into the store, unless the output is Lazy or the record is what it was; then
// the effects, one after the other. So what others are asked is known before they are (the intent), and what they have answered is kept before anybody
// hears of it (the commit). An uplink COUNT, a next hop and a block of downlink COUNTs are in the record before they are used. What is asked and may be asked twice
// comes before the write in two cases, and is written with its answer: Repeats, Idempotent. And where nothing is to be done, the write may wait for the next one.
//
// # Who a UE is
//
// A UE has a record from when authentication has found its SUPI; before, it is in memory alone (Lazy), and a worker that dies loses nothing that the UE
// would not say again. What comes with the 5G-GUTI of a UE that is kept, and is not protected by its context, is a stranger's (Output.Stranger): the
// caller hands the event to a UE of which nothing is known, and what is kept is not touched until the stranger has shown to be that one. Then AskNamed
// takes over what is kept, in this shard or another: one UE, one record. The record's shard is that of the message by which the UE came.
//
// # What runs together
//
// One procedure is under way with a UE at a time (record.Procedure). What a UE itself begins does not wait: it ends what was under way, whose
// answers are then nobody's (TS 24.501 5.5.1.2.8, 5.6.1.8): they have a Number that is not awaited any more. The same request again, on the same
// connection, is not another.
//
//	event                        while                                        is
//	Initial, Registration        anything but deregistration by the network   begun, the other is over
//	Transfer of an SMF           registration, service request, a context     Later
//	                             is set up or released, the session is made
//	Transfer with N2             a handover                                   refused: 409, the SMF asks again
//	SubscriptionChanged          a procedure                                  Later
//	Lend                         a configuration that tells the UDM           Later
//	Path Switch, Handover        a procedure                                  refused
//	End                          anything                                     begun, the other is over
//	NAS by the same connection   a path switch                            Later
//	UL NAS Transport             anything                                     of each PDU session one after the other (sessions.go)
//
// What is Later is offered again after each event that was not. What takes a UE long is no procedure but a state of the record: a Command that it has
// not answered (T3522, T3550, T3555, T3560, T3570), Paging (T3513), a Handover. Their times come back as Due.
//
// # A new holder
//
// It begins with Resumed, and goes on with the step that the record names: other functions are asked again, and what SMFs have not heard (Silent) they
// are told again. What an access network has said of a session's resources is said again in one life alone (unheard): an SMF that
// has packets and hears of no tunnel has the access network let go of it. Downlink COUNTs begin behind the block that was reserved.
//
//	event.go          what happens to a UE              effect.go         what is to be done
//	handle.go         which event begins what           turn.go           one call of Handle, steps
//	initial.go        first messages                    access.go         what access networks say
//	registration.go   TS 23.502 4.2.2.2                 authentication.go identity, authentication, security mode
//	service.go        4.2.3.2                           connection.go     N2 connections, AN release: 4.2.6
//	emergency.go      TS 23.501 5.16.4                  events.go         TS 29.518 5.3
//	other.go          other AMFs: 4.2.2.2.2 4, 5, 10
//	transfer.go       N1N2 transfers, paging: 4.2.3.3   transport.go      UL NAS Transport: 4.3.2.2.1
//	deregistration.go 4.2.2.3                           configuration.go  4.2.4.2
//	switching.go      4.9.1.2.2                         handover.go       4.9.1.3
//	ending.go         sessions that nobody has any more
//	sessions.go       what SMFs are asked               command.go        messages that UEs have to answer
//	protection.go     NAS in and out, COUNTs            keys.go           keys and algorithms
//	slices.go         which slices, which area          settings.go       the network's configuration
//	reach.go          TS 29.518 5.4, 5.5                again.go          SMFs that cannot make a session now
//	gnb.go            gNBs: TS 38.413 8.7               times.go          timers
//	words.go          NGAP's words to records'          decline.go        what cannot be looked at now
package procedure
