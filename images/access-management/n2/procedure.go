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
}

// procedureFacts are what TS 38.413 says of a procedure: its criticality (9.4.3), whether its signalling is UE-associated (8.1
// and the clause of each), and its messages.
type procedureFacts struct {
	name         string
	criticality  Criticality
	ueAssociated bool
	make         [3]func() Message
}

const ofUE, ofInterface = true, false

// procedures are those that are known, by code.
var procedures = map[Procedure]*procedureFacts{
	ProcedureAMFConfigurationUpdate: {"AMF Configuration Update", Reject, ofInterface,
		three[AMFConfigurationUpdate, AMFConfigurationUpdateAcknowledge, AMFConfigurationUpdateFailure]()},
	ProcedureAMFStatusIndication:  {"AMF Status Indication", Ignore, ofInterface, one[AMFStatusIndication]()},
	ProcedureCellTrafficTrace:     {"Cell Traffic Trace", Ignore, ofUE, one[CellTrafficTrace]()},
	ProcedureDeactivateTrace:      {"Deactivate Trace", Ignore, ofUE, one[DeactivateTrace]()},
	ProcedureDownlinkNASTransport: {"Downlink NAS Transport", Ignore, ofUE, one[DownlinkNASTransport]()},
	ProcedureDownlinkRANConfigurationTransfer: {"Downlink RAN Configuration Transfer", Ignore, ofInterface,
		one[DownlinkRANConfigurationTransfer]()},
	ProcedureDownlinkRANStatusTransfer: {"Downlink RAN Status Transfer", Ignore, ofUE, one[DownlinkRANStatusTransfer]()},
	// Of a UE where it names one: UEAssociated.
	ProcedureErrorIndication:      {"Error Indication", Ignore, ofInterface, one[ErrorIndication]()},
	ProcedureHandoverCancel:       {"Handover Cancellation", Reject, ofUE, two[HandoverCancel, HandoverCancelAcknowledge]()},
	ProcedureHandoverNotification: {"Handover Notification", Ignore, ofUE, one[HandoverNotify]()},
	ProcedureHandoverPreparation: {"Handover Preparation", Reject, ofUE,
		three[HandoverRequired, HandoverCommand, HandoverPreparationFailure]()},
	ProcedureHandoverResourceAllocation: {"Handover Resource Allocation", Reject, ofUE,
		three[HandoverRequest, HandoverRequestAcknowledge, HandoverFailure]()},
	ProcedureInitialContextSetup: {"Initial Context Setup", Reject, ofUE,
		three[InitialContextSetupRequest, InitialContextSetupResponse, InitialContextSetupFailure]()},
	ProcedureInitialUEMessage:         {"Initial UE Message", Ignore, ofUE, one[InitialUEMessage]()},
	ProcedureLocationReportingControl: {"Location Reporting Control", Ignore, ofUE, one[LocationReportingControl]()},
	ProcedureLocationReportingFailureIndication: {"Location Reporting Failure Indication", Ignore, ofUE,
		one[LocationReportingFailureIndication]()},
	ProcedureLocationReport:           {"Location Report", Ignore, ofUE, one[LocationReport]()},
	ProcedureNASNonDeliveryIndication: {"NAS Non Delivery Indication", Ignore, ofUE, one[NASNonDeliveryIndication]()},
	ProcedureNGReset:                  {"NG Reset", Reject, ofInterface, two[NGReset, NGResetAcknowledge]()},
	ProcedureNGSetup:                  {"NG Setup", Reject, ofInterface, three[NGSetupRequest, NGSetupResponse, NGSetupFailure]()},
	ProcedureOverloadStart:            {"Overload Start", Ignore, ofInterface, one[OverloadStart]()},
	ProcedureOverloadStop:             {"Overload Stop", Reject, ofInterface, one[OverloadStop]()},
	ProcedurePaging:                   {"Paging", Ignore, ofInterface, one[Paging]()},
	ProcedurePathSwitchRequest: {"Path Switch Request", Reject, ofUE,
		three[PathSwitchRequest, PathSwitchRequestAcknowledge, PathSwitchRequestFailure]()},
	ProcedurePDUSessionResourceModify: {"PDU Session Resource Modify", Reject, ofUE,
		two[PDUSessionResourceModifyRequest, PDUSessionResourceModifyResponse]()},
	ProcedurePDUSessionResourceModifyIndication: {"PDU Session Resource Modify Indication", Reject, ofUE,
		two[PDUSessionResourceModifyIndication, PDUSessionResourceModifyConfirm]()},
	ProcedurePDUSessionResourceRelease: {"PDU Session Resource Release", Reject, ofUE,
		two[PDUSessionResourceReleaseCommand, PDUSessionResourceReleaseResponse]()},
	ProcedurePDUSessionResourceSetup: {"PDU Session Resource Setup", Reject, ofUE,
		two[PDUSessionResourceSetupRequest, PDUSessionResourceSetupResponse]()},
	ProcedurePDUSessionResourceNotify: {"PDU Session Resource Notify", Ignore, ofUE, one[PDUSessionResourceNotify]()},
	ProcedureRANConfigurationUpdate: {"RAN Configuration Update", Reject, ofInterface,
		three[RANConfigurationUpdate, RANConfigurationUpdateAcknowledge, RANConfigurationUpdateFailure]()},
	ProcedureRerouteNASRequest:           {"Reroute NAS Request", Reject, ofUE, one[RerouteNASRequest]()},
	ProcedureRRCInactiveTransitionReport: {"RRC Inactive Transition Report", Ignore, ofUE, one[RRCInactiveTransitionReport]()},
	ProcedureTraceFailureIndication:      {"Trace Failure Indication", Ignore, ofUE, one[TraceFailureIndication]()},
	ProcedureTraceStart:                  {"Trace Start", Ignore, ofUE, one[TraceStart]()},
	ProcedureUEContextModification: {"UE Context Modification", Reject, ofUE,
		three[UEContextModificationRequest, UEContextModificationResponse, UEContextModificationFailure]()},
	ProcedureUEContextRelease:        {"UE Context Release", Reject, ofUE, two[UEContextReleaseCommand, UEContextReleaseComplete]()},
	ProcedureUEContextReleaseRequest: {"UE Context Release Request", Ignore, ofUE, one[UEContextReleaseRequest]()},
	ProcedureUERadioCapabilityCheck: {"UE Radio Capability Check", Reject, ofUE,
		two[UERadioCapabilityCheckRequest, UERadioCapabilityCheckResponse]()},
	ProcedureUERadioCapabilityInfoIndication: {"UE Radio Capability Info Indication", Ignore, ofUE, one[UERadioCapabilityInfoIndication]()},
	ProcedureUETNLABindingRelease:            {"UE TNLA Binding Release", Ignore, ofUE, one[UETNLABindingReleaseRequest]()},
	ProcedureUplinkNASTransport:              {"Uplink NAS Transport", Ignore, ofUE, one[UplinkNASTransport]()},
	ProcedureUplinkRANConfigurationTransfer: {"Uplink RAN Configuration Transfer", Ignore, ofInterface,
		one[UplinkRANConfigurationTransfer]()},
	ProcedureUplinkRANStatusTransfer:     {"Uplink RAN Status Transfer", Ignore, ofUE, one[UplinkRANStatusTransfer]()},
	ProcedureSecondaryRATDataUsageReport: {"Secondary RAT Data Usage Report", Ignore, ofUE, one[SecondaryRATDataUsageReport]()},
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
