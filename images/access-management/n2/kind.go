package n2

// The kinds of messages, in the order of procedures in procedure.go.

func (*AMFConfigurationUpdate) Kind() Kind { return Kind{ProcedureAMFConfigurationUpdate, Initiating} }

func (*AMFConfigurationUpdateAcknowledge) Kind() Kind {
	return Kind{ProcedureAMFConfigurationUpdate, Successful}
}

func (*AMFConfigurationUpdateFailure) Kind() Kind {
	return Kind{ProcedureAMFConfigurationUpdate, Unsuccessful}
}

func (*AMFStatusIndication) Kind() Kind { return Kind{ProcedureAMFStatusIndication, Initiating} }

func (*CellTrafficTrace) Kind() Kind { return Kind{ProcedureCellTrafficTrace, Initiating} }

func (*DeactivateTrace) Kind() Kind { return Kind{ProcedureDeactivateTrace, Initiating} }

func (*DownlinkNASTransport) Kind() Kind { return Kind{ProcedureDownlinkNASTransport, Initiating} }

func (*DownlinkRANConfigurationTransfer) Kind() Kind {
	return Kind{ProcedureDownlinkRANConfigurationTransfer, Initiating}
}

func (*DownlinkRANStatusTransfer) Kind() Kind {
	return Kind{ProcedureDownlinkRANStatusTransfer, Initiating}
}

func (*ErrorIndication) Kind() Kind { return Kind{ProcedureErrorIndication, Initiating} }

func (*HandoverCancel) Kind() Kind { return Kind{ProcedureHandoverCancel, Initiating} }

func (*HandoverCancelAcknowledge) Kind() Kind { return Kind{ProcedureHandoverCancel, Successful} }

func (*HandoverNotify) Kind() Kind { return Kind{ProcedureHandoverNotification, Initiating} }

func (*HandoverRequired) Kind() Kind { return Kind{ProcedureHandoverPreparation, Initiating} }

func (*HandoverCommand) Kind() Kind { return Kind{ProcedureHandoverPreparation, Successful} }

func (*HandoverPreparationFailure) Kind() Kind {
	return Kind{ProcedureHandoverPreparation, Unsuccessful}
}

func (*HandoverRequest) Kind() Kind { return Kind{ProcedureHandoverResourceAllocation, Initiating} }

func (*HandoverRequestAcknowledge) Kind() Kind {
	return Kind{ProcedureHandoverResourceAllocation, Successful}
}

func (*HandoverFailure) Kind() Kind { return Kind{ProcedureHandoverResourceAllocation, Unsuccessful} }

func (*InitialContextSetupRequest) Kind() Kind { return Kind{ProcedureInitialContextSetup, Initiating} }

func (*InitialContextSetupResponse) Kind() Kind {
	return Kind{ProcedureInitialContextSetup, Successful}
}

func (*InitialContextSetupFailure) Kind() Kind {
	return Kind{ProcedureInitialContextSetup, Unsuccessful}
}

func (*InitialUEMessage) Kind() Kind { return Kind{ProcedureInitialUEMessage, Initiating} }

func (*LocationReportingControl) Kind() Kind {
	return Kind{ProcedureLocationReportingControl, Initiating}
}

func (*LocationReportingFailureIndication) Kind() Kind {
	return Kind{ProcedureLocationReportingFailureIndication, Initiating}
}

func (*LocationReport) Kind() Kind { return Kind{ProcedureLocationReport, Initiating} }

func (*NASNonDeliveryIndication) Kind() Kind {
	return Kind{ProcedureNASNonDeliveryIndication, Initiating}
}

func (*NGReset) Kind() Kind { return Kind{ProcedureNGReset, Initiating} }

func (*NGResetAcknowledge) Kind() Kind { return Kind{ProcedureNGReset, Successful} }

func (*NGSetupRequest) Kind() Kind { return Kind{ProcedureNGSetup, Initiating} }

func (*NGSetupResponse) Kind() Kind { return Kind{ProcedureNGSetup, Successful} }

func (*NGSetupFailure) Kind() Kind { return Kind{ProcedureNGSetup, Unsuccessful} }

func (*OverloadStart) Kind() Kind { return Kind{ProcedureOverloadStart, Initiating} }

func (*OverloadStop) Kind() Kind { return Kind{ProcedureOverloadStop, Initiating} }

func (*Paging) Kind() Kind { return Kind{ProcedurePaging, Initiating} }

func (*PathSwitchRequest) Kind() Kind { return Kind{ProcedurePathSwitchRequest, Initiating} }

func (*PathSwitchRequestAcknowledge) Kind() Kind { return Kind{ProcedurePathSwitchRequest, Successful} }

func (*PathSwitchRequestFailure) Kind() Kind { return Kind{ProcedurePathSwitchRequest, Unsuccessful} }

func (*PDUSessionResourceModifyRequest) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceModify, Initiating}
}

func (*PDUSessionResourceModifyResponse) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceModify, Successful}
}

func (*PDUSessionResourceModifyIndication) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceModifyIndication, Initiating}
}

func (*PDUSessionResourceModifyConfirm) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceModifyIndication, Successful}
}

func (*PDUSessionResourceReleaseCommand) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceRelease, Initiating}
}

func (*PDUSessionResourceReleaseResponse) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceRelease, Successful}
}

func (*PDUSessionResourceSetupRequest) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceSetup, Initiating}
}

func (*PDUSessionResourceSetupResponse) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceSetup, Successful}
}

func (*PDUSessionResourceNotify) Kind() Kind {
	return Kind{ProcedurePDUSessionResourceNotify, Initiating}
}

func (*RANConfigurationUpdate) Kind() Kind { return Kind{ProcedureRANConfigurationUpdate, Initiating} }

func (*RANConfigurationUpdateAcknowledge) Kind() Kind {
	return Kind{ProcedureRANConfigurationUpdate, Successful}
}

func (*RANConfigurationUpdateFailure) Kind() Kind {
	return Kind{ProcedureRANConfigurationUpdate, Unsuccessful}
}

func (*RerouteNASRequest) Kind() Kind { return Kind{ProcedureRerouteNASRequest, Initiating} }

func (*RRCInactiveTransitionReport) Kind() Kind {
	return Kind{ProcedureRRCInactiveTransitionReport, Initiating}
}

func (*TraceFailureIndication) Kind() Kind { return Kind{ProcedureTraceFailureIndication, Initiating} }

func (*TraceStart) Kind() Kind { return Kind{ProcedureTraceStart, Initiating} }

func (*UEContextModificationRequest) Kind() Kind {
	return Kind{ProcedureUEContextModification, Initiating}
}

func (*UEContextModificationResponse) Kind() Kind {
	return Kind{ProcedureUEContextModification, Successful}
}

func (*UEContextModificationFailure) Kind() Kind {
	return Kind{ProcedureUEContextModification, Unsuccessful}
}

func (*UEContextReleaseCommand) Kind() Kind { return Kind{ProcedureUEContextRelease, Initiating} }

func (*UEContextReleaseComplete) Kind() Kind { return Kind{ProcedureUEContextRelease, Successful} }

func (*UEContextReleaseRequest) Kind() Kind {
	return Kind{ProcedureUEContextReleaseRequest, Initiating}
}

func (*UERadioCapabilityCheckRequest) Kind() Kind {
	return Kind{ProcedureUERadioCapabilityCheck, Initiating}
}

func (*UERadioCapabilityCheckResponse) Kind() Kind {
	return Kind{ProcedureUERadioCapabilityCheck, Successful}
}

func (*UERadioCapabilityInfoIndication) Kind() Kind {
	return Kind{ProcedureUERadioCapabilityInfoIndication, Initiating}
}

func (*UETNLABindingReleaseRequest) Kind() Kind {
	return Kind{ProcedureUETNLABindingRelease, Initiating}
}

func (*UplinkNASTransport) Kind() Kind { return Kind{ProcedureUplinkNASTransport, Initiating} }

func (*UplinkRANConfigurationTransfer) Kind() Kind {
	return Kind{ProcedureUplinkRANConfigurationTransfer, Initiating}
}

func (*UplinkRANStatusTransfer) Kind() Kind {
	return Kind{ProcedureUplinkRANStatusTransfer, Initiating}
}

func (*SecondaryRATDataUsageReport) Kind() Kind {
	return Kind{ProcedureSecondaryRATDataUsageReport, Initiating}
}
