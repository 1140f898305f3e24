package n2

import (
	"fmt"
	"strings"
)

// Procedure is an elementary procedure of TS 38.413 8, by its code.
type Procedure uint8

// The procedures that are read and written, by their codes (TS 38.413 9.4.7).
const (
	ProcedureAMFConfigurationUpdate             Procedure = 0
	ProcedureAMFStatusIndication                Procedure = 1
	ProcedureCellTrafficTrace                   Procedure = 2
	ProcedureDeactivateTrace                    Procedure = 3
	ProcedureDownlinkNASTransport               Procedure = 4
	ProcedureDownlinkRANConfigurationTransfer   Procedure = 6
	ProcedureDownlinkRANStatusTransfer          Procedure = 7
	ProcedureErrorIndication                    Procedure = 9
	ProcedureHandoverCancel                     Procedure = 10
	ProcedureHandoverNotification               Procedure = 11
	ProcedureHandoverPreparation                Procedure = 12
	ProcedureHandoverResourceAllocation         Procedure = 13
	ProcedureInitialContextSetup                Procedure = 14
	ProcedureInitialUEMessage                   Procedure = 15
	ProcedureLocationReportingControl           Procedure = 16
	ProcedureLocationReportingFailureIndication Procedure = 17
	ProcedureLocationReport                     Procedure = 18
	ProcedureNASNonDeliveryIndication           Procedure = 19
	ProcedureNGReset                            Procedure = 20
	ProcedureNGSetup                            Procedure = 21
	ProcedureOverloadStart                      Procedure = 22
	ProcedureOverloadStop                       Procedure = 23
	ProcedurePaging                             Procedure = 24
	ProcedurePathSwitchRequest                  Procedure = 25
	ProcedurePDUSessionResourceModify           Procedure = 26
	ProcedurePDUSessionResourceModifyIndication Procedure = 27
	ProcedurePDUSessionResourceRelease          Procedure = 28
	ProcedurePDUSessionResourceSetup            Procedure = 29
	ProcedurePDUSessionResourceNotify           Procedure = 30
	ProcedureRANConfigurationUpdate             Procedure = 35
	ProcedureRerouteNASRequest                  Procedure = 36
	ProcedureRRCInactiveTransitionReport        Procedure = 37
	ProcedureTraceFailureIndication             Procedure = 38
	ProcedureTraceStart                         Procedure = 39
	ProcedureUEContextModification              Procedure = 40
	ProcedureUEContextRelease                   Procedure = 41
	ProcedureUEContextReleaseRequest            Procedure = 42
	ProcedureUERadioCapabilityCheck             Procedure = 43
	ProcedureUERadioCapabilityInfoIndication    Procedure = 44
	ProcedureUETNLABindingRelease               Procedure = 45
	ProcedureUplinkNASTransport                 Procedure = 46
	ProcedureUplinkRANConfigurationTransfer     Procedure = 48
	ProcedureUplinkRANStatusTransfer            Procedure = 49
	ProcedureSecondaryRATDataUsageReport        Procedure = 52
)

// Outcome is which message of a procedure it is; a Triggering Message is numbered so, too (TS 38.413 9.3.1.3).
type Outcome uint8

// The outcomes.
const (
	Initiating Outcome = iota
	Successful
	Unsuccessful
)

// Kind of a message: the Message Type of TS 38.413 9.3.1.1.
type Kind struct {
	Procedure Procedure
	Outcome   Outcome
}

// Message is a pointer to one of the structs of this package that TS 38.413 9.2 has.
type Message interface {
	// Kind of the message.
	Kind() Kind

	// ies names the message's IEs in the order of TS 38.413 9.4.4, for reading and for writing.
	ies(x *exchange)
}

// procedureFacts are what TS 38.413 says of a procedure: its criticality (9.4.3), whether its signalling is UE-associated (8.1
// and the clause of each), and its messages.
type procedureFacts struct {
	name         string
	criticality  Criticality
	ueAssociated bool
	by           initiator
	make         [3]func() Message
}

const ofUE, ofInterface = true, false

// initiator is who begins a procedure.
type initiator uint8

const (
	byRAN initiator = iota
	byAMF
	byBoth
)

// procedures are those that are known, by code.
var procedures = map[Procedure]*procedureFacts{
	ProcedureAMFConfigurationUpdate: {"AMF Configuration Update", Reject, ofInterface, byAMF,
		three[AMFConfigurationUpdate, AMFConfigurationUpdateAcknowledge, AMFConfigurationUpdateFailure]()},
	ProcedureAMFStatusIndication:  {"AMF Status Indication", Ignore, ofInterface, byAMF, one[AMFStatusIndication]()},
	ProcedureCellTrafficTrace:     {"Cell Traffic Trace", Ignore, ofUE, byRAN, one[CellTrafficTrace]()},
	ProcedureDeactivateTrace:      {"Deactivate Trace", Ignore, ofUE, byAMF, one[DeactivateTrace]()},
	ProcedureDownlinkNASTransport: {"Downlink NAS Transport", Ignore, ofUE, byAMF, one[DownlinkNASTransport]()},
	ProcedureDownlinkRANConfigurationTransfer: {"Downlink RAN Configuration Transfer", Ignore, ofInterface, byAMF,
		one[DownlinkRANConfigurationTransfer]()},
	ProcedureDownlinkRANStatusTransfer: {"Downlink RAN Status Transfer", Ignore, ofUE, byAMF, one[DownlinkRANStatusTransfer]()},
	// Of a UE where it names one: UEAssociated.
	ProcedureErrorIndication:      {"Error Indication", Ignore, ofInterface, byBoth, one[ErrorIndication]()},
	ProcedureHandoverCancel:       {"Handover Cancellation", Reject, ofUE, byRAN, two[HandoverCancel, HandoverCancelAcknowledge]()},
	ProcedureHandoverNotification: {"Handover Notification", Ignore, ofUE, byRAN, one[HandoverNotify]()},
	ProcedureHandoverPreparation: {"Handover Preparation", Reject, ofUE, byRAN,
		three[HandoverRequired, HandoverCommand, HandoverPreparationFailure]()},
	ProcedureHandoverResourceAllocation: {"Handover Resource Allocation", Reject, ofUE, byAMF,
		three[HandoverRequest, HandoverRequestAcknowledge, HandoverFailure]()},
	ProcedureInitialContextSetup: {"Initial Context Setup", Reject, ofUE, byAMF,
		three[InitialContextSetupRequest, InitialContextSetupResponse, InitialContextSetupFailure]()},
	ProcedureInitialUEMessage:         {"Initial UE Message", Ignore, ofUE, byRAN, one[InitialUEMessage]()},
	ProcedureLocationReportingControl: {"Location Reporting Control", Ignore, ofUE, byAMF, one[LocationReportingControl]()},
	ProcedureLocationReportingFailureIndication: {"Location Reporting Failure Indication", Ignore, ofUE, byRAN,
		one[LocationReportingFailureIndication]()},
	ProcedureLocationReport:           {"Location Report", Ignore, ofUE, byRAN, one[LocationReport]()},
	ProcedureNASNonDeliveryIndication: {"NAS Non Delivery Indication", Ignore, ofUE, byRAN, one[NASNonDeliveryIndication]()},
	ProcedureNGReset:                  {"NG Reset", Reject, ofInterface, byBoth, two[NGReset, NGResetAcknowledge]()},
	ProcedureNGSetup:                  {"NG Setup", Reject, ofInterface, byRAN, three[NGSetupRequest, NGSetupResponse, NGSetupFailure]()},
	ProcedureOverloadStart:            {"Overload Start", Ignore, ofInterface, byAMF, one[OverloadStart]()},
	ProcedureOverloadStop:             {"Overload Stop", Reject, ofInterface, byAMF, one[OverloadStop]()},
	ProcedurePaging:                   {"Paging", Ignore, ofInterface, byAMF, one[Paging]()},
	ProcedurePathSwitchRequest: {"Path Switch Request", Reject, ofUE, byRAN,
		three[PathSwitchRequest, PathSwitchRequestAcknowledge, PathSwitchRequestFailure]()},
	ProcedurePDUSessionResourceModify: {"PDU Session Resource Modify", Reject, ofUE, byAMF,
		two[PDUSessionResourceModifyRequest, PDUSessionResourceModifyResponse]()},
	ProcedurePDUSessionResourceModifyIndication: {"PDU Session Resource Modify Indication", Reject, ofUE, byRAN,
		two[PDUSessionResourceModifyIndication, PDUSessionResourceModifyConfirm]()},
	ProcedurePDUSessionResourceRelease: {"PDU Session Resource Release", Reject, ofUE, byAMF,
		two[PDUSessionResourceReleaseCommand, PDUSessionResourceReleaseResponse]()},
	ProcedurePDUSessionResourceSetup: {"PDU Session Resource Setup", Reject, ofUE, byAMF,
		two[PDUSessionResourceSetupRequest, PDUSessionResourceSetupResponse]()},
	ProcedurePDUSessionResourceNotify: {"PDU Session Resource Notify", Ignore, ofUE, byRAN, one[PDUSessionResourceNotify]()},
	ProcedureRANConfigurationUpdate: {"RAN Configuration Update", Reject, ofInterface, byRAN,
		three[RANConfigurationUpdate, RANConfigurationUpdateAcknowledge, RANConfigurationUpdateFailure]()},
	ProcedureRerouteNASRequest:           {"Reroute NAS Request", Reject, ofUE, byAMF, one[RerouteNASRequest]()},
	ProcedureRRCInactiveTransitionReport: {"RRC Inactive Transition Report", Ignore, ofUE, byRAN, one[RRCInactiveTransitionReport]()},
	ProcedureTraceFailureIndication:      {"Trace Failure Indication", Ignore, ofUE, byRAN, one[TraceFailureIndication]()},
	ProcedureTraceStart:                  {"Trace Start", Ignore, ofUE, byAMF, one[TraceStart]()},
	ProcedureUEContextModification: {"UE Context Modification", Reject, ofUE, byAMF,
		three[UEContextModificationRequest, UEContextModificationResponse, UEContextModificationFailure]()},
	ProcedureUEContextRelease:        {"UE Context Release", Reject, ofUE, byAMF, two[UEContextReleaseCommand, UEContextReleaseComplete]()},
	ProcedureUEContextReleaseRequest: {"UE Context Release Request", Ignore, ofUE, byRAN, one[UEContextReleaseRequest]()},
	ProcedureUERadioCapabilityCheck: {"UE Radio Capability Check", Reject, ofUE, byAMF,
		two[UERadioCapabilityCheckRequest, UERadioCapabilityCheckResponse]()},
	ProcedureUERadioCapabilityInfoIndication: {"UE Radio Capability Info Indication", Ignore, ofUE, byRAN, one[UERadioCapabilityInfoIndication]()},
	ProcedureUETNLABindingRelease:            {"UE TNLA Binding Release", Ignore, ofUE, byAMF, one[UETNLABindingReleaseRequest]()},
	ProcedureUplinkNASTransport:              {"Uplink NAS Transport", Ignore, ofUE, byRAN, one[UplinkNASTransport]()},
	ProcedureUplinkRANConfigurationTransfer: {"Uplink RAN Configuration Transfer", Ignore, ofInterface, byRAN,
		one[UplinkRANConfigurationTransfer]()},
	ProcedureUplinkRANStatusTransfer:     {"Uplink RAN Status Transfer", Ignore, ofUE, byRAN, one[UplinkRANStatusTransfer]()},
	ProcedureSecondaryRATDataUsageReport: {"Secondary RAT Data Usage Report", Ignore, ofUE, byRAN, one[SecondaryRATDataUsageReport]()},
}

// pointer is a Message that is a pointer to an M.
type pointer[M any] interface {
	*M
	Message
}

func empty[M any, P pointer[M]]() Message { return P(new(M)) }

func one[I any, PI pointer[I]]() [3]func() Message { return [3]func() Message{empty[I, PI]} }

func two[I, S any, PI pointer[I], PS pointer[S]]() [3]func() Message {
	return [3]func() Message{empty[I, PI], empty[S, PS]}
}

func three[I, S, U any, PI pointer[I], PS pointer[S], PU pointer[U]]() [3]func() Message {
	return [3]func() Message{empty[I, PI], empty[S, PS], empty[U, PU]}
}

// Kinds are those of all messages that can be read and written, in the order of their codes.
func Kinds() []Kind {
	var out []Kind
	for code := range Procedure(255) {
		for outcome := Initiating; outcome <= Unsuccessful; outcome++ {
			if kind := (Kind{code, outcome}); kind.empty() != nil {
				out = append(out, kind)
			}
		}
	}
	return out
}

// String is the procedure's name in TS 38.413 8, or its code.
func (p Procedure) String() string {
	if facts := procedures[p]; facts != nil {
		return facts.name
	}
	return fmt.Sprintf("procedure %d", uint8(p))
}

// String is the name of the message, which is that of its struct.
func (k Kind) String() string {
	if m := k.empty(); m != nil {
		return strings.TrimPrefix(fmt.Sprintf("%T", m), "*n2.")
	}
	return fmt.Sprintf("%s, outcome %d", k.Procedure, uint8(k.Outcome))
}

// empty makes an empty message of the kind, nil where there is none.
func (k Kind) empty() Message {
	facts := procedures[k.Procedure]
	if facts == nil || k.Outcome > Unsuccessful || facts.make[k.Outcome] == nil {
		return nil
	}
	return facts.make[k.Outcome]()
}

// has tells whether the procedure has such an outcome.
func (p *procedureFacts) has(o Outcome) bool { return p.make[o] != nil }

// FromRAN tells whether an NG-RAN node may send such a message, FromAMF whether an AMF may. One from the wrong side is not
// compatible with the state of who receives it: NewErrorIndication.
func (k Kind) FromRAN() bool { return k.from(byRAN, byAMF) }

// FromAMF tells it of an AMF.
func (k Kind) FromAMF() bool { return k.from(byAMF, byRAN) }

// from tells whether it begins what sender begins, or answers what other does.
func (k Kind) from(sender, other initiator) bool {
	facts := procedures[k.Procedure]
	switch {
	case facts == nil:
		return false
	case k.Outcome != Initiating:
		sender = other
	}
	return facts.by == sender || facts.by == byBoth
}
