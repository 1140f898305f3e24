// Package n2 is what an SMF and an access network say to each other about a PDU session: the transfers of NGAP
// (TS 38.413 9.3.4), which the AMF passes on without a look, and for which the SBI has a name (TS 29.502 6.1.6.3.12).
//
// Decode reads a transfer by its name into a struct, each struct has an Encode; both ways of each, because the scripted
// AMF and the simulated gNB stand on the other side. Nothing here decides anything. What is wrong is a *Fault that names
// the transfer, its clause, and the IE. IEs and extensions that are not known are passed over; so are values of
// enumerations of later releases where what was said makes sense without.
//
//	TS 23.502                             SMF says                    access network says
//	4.3.2.2  establishment,               SetupRequest                SetupResponse
//	4.2.3.2  service request,             PDU_RES_SETUP_REQ           PDU_RES_SETUP_RSP
//	4.2.3.3  after paging                                             SetupUnsuccessful
//	                                                                  PDU_RES_SETUP_FAIL
//	4.3.3.2  modification                 ModifyRequest               ModifyResponse
//	                                      PDU_RES_MOD_REQ             PDU_RES_MOD_RSP
//	                                                                  ModifyUnsuccessful
//	                                                                  PDU_RES_MOD_FAIL
//	4.3.3.2  the access network has                                   Notify
//	         released flows, or does                                  PDU_RES_NTY
//	         not keep their rates;
//	4.3.4.2  has released the session                                 NotifyReleased
//	                                                                  PDU_RES_NTY_REL
//	4.3.4.2  release                      ReleaseCommand              ReleaseResponse
//	                                      PDU_RES_REL_CMD             PDU_RES_REL_RSP
//	4.9.1.2  Xn handover                                              PathSwitchRequest
//	                                                                  PATH_SWITCH_REQ
//	                                      PathSwitchAcknowledge
//	                                      PATH_SWITCH_REQ_ACK
//	                                      PathSwitchUnsuccessful
//	                                      PATH_SWITCH_REQ_FAIL
//	         without the session                                      PathSwitchSetupFailed
//	                                                                  PATH_SWITCH_SETUP_FAIL
//	4.9.1.3  N2 handover                                              HandoverRequired, source
//	                                                                  HANDOVER_REQUIRED
//	                                      SetupRequest
//	                                      PDU_RES_SETUP_REQ           HandoverAcknowledge, target
//	                                                                  HANDOVER_REQ_ACK
//	                                                                  HandoverResourceAllocationUnsuccessful
//	                                                                  HANDOVER_RES_ALLOC_FAIL
//	                                      HandoverCommand
//	                                      HANDOVER_CMD
//	                                      HandoverPreparationUnsuccessful
//	                                      HANDOVER_PREP_FAIL
//	4.14.1   dual connectivity                                        ModifyIndication
//	                                                                  PDU_RES_MOD_IND
//	                                      ModifyConfirm
//	                                      PDU_RES_MOD_CFM
//	                                      ModifyIndicationUnsuccessful
//	                                      PDU_RES_MOD_IND_FAIL
//	4.21     volumes of a second radio                                SecondaryRATUsage, also within
//	                                                                  others
//	                                                                  SECONDARY_RAT_USAGE
//
// The codec is free5GC's aper, over the types of ngapType where these are right. What it leaves to its caller stands
// where it is made good: transfer.go (panics, lists cut short), cause.go (the root of an enumeration), extension.go,
// request.go and usage.go (what ngapType does not know).
//
//	transfer.go       types of transfers, Decode, Fault
//	cause.go          causes, unsuccessful.go the transfers that are one
//	tunnel.go         endpoints, flow.go QoS flows, security.go the protection of the user plane
//	setup.go, modify.go, release.go, notify.go, pathswitch.go, handover.go, usage.go
//	request.go        the container of IEs of requests, extension.go extensions
package n2
