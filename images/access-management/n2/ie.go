package n2

import "fmt"

// IE is a ProtocolIE-ID of TS 38.413 9.4.7.
type IE uint16

// The IEs of the messages that are read and written, and the extensions within them.
const (
	ieAllowedNSSAI                   IE = 0
	ieAMFName                        IE = 1
	ieAMFOverloadResponse            IE = 2
	ieAMFSetID                       IE = 3
	ieAMFTNLAssociationFailedToSetUp IE = 4
	ieAMFTNLAssociationSetup         IE = 5
	ieAMFTNLAssociationToAdd         IE = 6
	ieAMFTNLAssociationToRemove      IE = 7
	ieAMFTNLAssociationToUpdate      IE = 8
	ieAMFTrafficLoadReduction        IE = 9
	ieAMFUEID                        IE = 10
	ieAssistanceDataForPaging        IE = 11
	ieCause                          IE = 15
	ieCoreNetworkAssistance          IE = 18
	ieCriticalityDiagnostics         IE = 19
	ieDefaultPagingDRX               IE = 21
	ieDirectForwardingPath           IE = 22
	ieEmergencyFallback              IE = 24
	ieFiveGSTMSI                     IE = 26
	ieGlobalRANNodeID                IE = 27
	ieGUAMI                          IE = 28
	ieHandoverType                   IE = 29
	ieIMSVoiceSupport                IE = 30
	ieIndexToRFSP                    IE = 31
	ieRecommendedForPaging           IE = 32
	ieLocationReportingRequestType   IE = 33
	ieMaskedIMEISV                   IE = 34
	ieMobilityRestrictionList        IE = 36
	ieNASC                           IE = 37
	ieNASPDU                         IE = 38
	ieNASSecurityParameters          IE = 39
	ieNewAMFUEID                     IE = 40
	ieNewSecurityContext             IE = 41
	ieNGAPMessage                    IE = 42
	ieNGRANCGI                       IE = 43
	ieNGRANTraceID                   IE = 44
	ieOldAMF                         IE = 48
	ieOverloadStartNSSAI             IE = 49
	iePagingDRX                      IE = 50
	iePagingOrigin                   IE = 51
	iePagingPriority                 IE = 52
	ieSessionsAdmitted               IE = 53
	ieSessionsFailedToModifyRes      IE = 54
	ieSessionsFailedToSetUpCxtRes    IE = 55
	ieSessionsFailedToSetUpHOAck     IE = 56
	ieSessionsFailedToSetUpPSReq     IE = 57
	ieSessionsFailedToSetUpSURes     IE = 58
	ieSessionsHandover               IE = 59
	ieSessionsCxtRelCpl              IE = 60
	ieSessionsHORqd                  IE = 61
	ieSessionsModifyCfm              IE = 62
	ieSessionsModifyInd              IE = 63
	ieSessionsModifyReq              IE = 64
	ieSessionsModifyRes              IE = 65
	ieSessionsNotify                 IE = 66
	ieSessionsReleasedNot            IE = 67
	ieSessionsReleasedPSAck          IE = 68
	ieSessionsReleasedPSFail         IE = 69
	ieSessionsReleasedRelRes         IE = 70
	ieSessionsSetUpCxtReq            IE = 71
	ieSessionsSetUpCxtRes            IE = 72
	ieSessionsSetUpHOReq             IE = 73
	ieSessionsSetUpSUReq             IE = 74
	ieSessionsSetUpSURes             IE = 75
	ieSessionsToBeSwitched           IE = 76
	ieSessionsSwitched               IE = 77
	ieSessionsToReleaseHOCmd         IE = 78
	ieSessionsToReleaseRelCmd        IE = 79
	iePLMNSupport                    IE = 80
	ieRANNodeName                    IE = 82
	ieRANPagingPriority              IE = 83
	ieRANStatusTransfer              IE = 84
	ieRANUEID                        IE = 85
	ieRelativeAMFCapacity            IE = 86
	ieResetType                      IE = 88
	ieRRCEstablishmentCause          IE = 90
	ieRRCInactiveReportRequest       IE = 91
	ieRRCState                       IE = 92
	ieSecurityContext                IE = 93
	ieSecurityKey                    IE = 94
	ieServedGUAMI                    IE = 96
	ieSONConfigurationTransferDL     IE = 98
	ieSONConfigurationTransferUL     IE = 99
	ieSourceAMFUEID                  IE = 100
	ieSourceToTarget                 IE = 101
	ieSupportedTA                    IE = 102
	ieTAIListForPaging               IE = 103
	ieTargetID                       IE = 105
	ieTargetToSource                 IE = 106
	ieTimeToWait                     IE = 107
	ieTraceActivation                IE = 108
	ieTraceCollector                 IE = 109
	ieUEAggregateMaximumBitRate      IE = 110
	ieUEAssociatedConnections        IE = 111
	ieUEContextRequest               IE = 112
	ieUEIDs                          IE = 114
	ieUEPagingIdentity               IE = 115
	ieUEPresenceInAreas              IE = 116
	ieUERadioCapability              IE = 117
	ieUERadioCapabilityForPaging     IE = 118
	ieUESecurityCapabilities         IE = 119
	ieUnavailableGUAMI               IE = 120
	ieUserLocation                   IE = 121
	ieSessionsFailedToModifyCfm      IE = 131
	ieSessionsFailedToSetUpCxtFail   IE = 132
	ieSessionsCxtRelReq              IE = 133
	ieSessionsSecondaryRATUsage      IE = 142
	ieHandoverFlag                   IE = 143
	ieReleaseResponseTransfer        IE = 145
	ieRedirectionVoiceFallback       IE = 146
	ieUERetention                    IE = 147
	ieSNSSAI                         IE = 148
	iePSCell                         IE = 149
	ieLastEUTRANPLMN                 IE = 150
	ieENDCSONConfigurationTransferDL IE = 157
	ieENDCSONConfigurationTransferUL IE = 158
	ieNewGUAMI                       IE = 162
	ieNGRANTNLAssociationToRemove    IE = 167
	ieTNLAssociationAddressNGRAN     IE = 168
	ieReroute                        IE = 171
	ieSelectedPLMN                   IE = 174
	ieUECapabilityInfoRequest        IE = 228
	ieRRCResumeCause                 IE = 237
	ieIntersystemSONConfigurationDL  IE = 250
	ieIntersystemSONConfigurationUL  IE = 251
	ieTargetToSourceFailure          IE = 262
	ieUERadioCapabilityID            IE = 264
	ieUERadioCapabilityEUTRA         IE = 265
	ieExtendedSliceSupport           IE = 270
	ieExtendedTAISliceSupport        IE = 271
	ieExtendedRANNodeName            IE = 273
	ieExtendedAMFName                IE = 274
)

// ieNames are as TS 38.413 9.4.7 has them, less "id-".
var ieNames = map[IE]string{
	ieAllowedNSSAI:                   "AllowedNSSAI",
	ieAMFName:                        "AMFName",
	ieAMFOverloadResponse:            "AMFOverloadResponse",
	ieAMFSetID:                       "AMFSetID",
	ieAMFTNLAssociationFailedToSetUp: "AMF-TNLAssociationFailedToSetupList",
	ieAMFTNLAssociationSetup:         "AMF-TNLAssociationSetupList",
	ieAMFTNLAssociationToAdd:         "AMF-TNLAssociationToAddList",
	ieAMFTNLAssociationToRemove:      "AMF-TNLAssociationToRemoveList",
	ieAMFTNLAssociationToUpdate:      "AMF-TNLAssociationToUpdateList",
	ieAMFTrafficLoadReduction:        "AMFTrafficLoadReductionIndication",
	ieAMFUEID:                        "AMF-UE-NGAP-ID",
	ieAssistanceDataForPaging:        "AssistanceDataForPaging",
	ieCause:                          "Cause",
	ieCoreNetworkAssistance:          "CoreNetworkAssistanceInformationForInactive",
	ieCriticalityDiagnostics:         "CriticalityDiagnostics",
	ieDefaultPagingDRX:               "DefaultPagingDRX",
	ieDirectForwardingPath:           "DirectForwardingPathAvailability",
	ieEmergencyFallback:              "EmergencyFallbackIndicator",
	ieFiveGSTMSI:                     "FiveG-S-TMSI",
	ieGlobalRANNodeID:                "GlobalRANNodeID",
	ieGUAMI:                          "GUAMI",
	ieHandoverType:                   "HandoverType",
	ieIMSVoiceSupport:                "IMSVoiceSupportIndicator",
	ieIndexToRFSP:                    "IndexToRFSP",
	ieRecommendedForPaging:           "InfoOnRecommendedCellsAndRANNodesForPaging",
	ieLocationReportingRequestType:   "LocationReportingRequestType",
	ieMaskedIMEISV:                   "MaskedIMEISV",
	ieMobilityRestrictionList:        "MobilityRestrictionList",
	ieNASC:                           "NASC",
	ieNASPDU:                         "NAS-PDU",
	ieNASSecurityParameters:          "NASSecurityParametersFromNGRAN",
	ieNewAMFUEID:                     "NewAMF-UE-NGAP-ID",
	ieNewSecurityContext:             "NewSecurityContextInd",
	ieNGAPMessage:                    "NGAP-Message",
	ieNGRANCGI:                       "NGRAN-CGI",
	ieNGRANTraceID:                   "NGRANTraceID",
	ieOldAMF:                         "OldAMF",
	ieOverloadStartNSSAI:             "OverloadStartNSSAIList",
	iePagingDRX:                      "PagingDRX",
	iePagingOrigin:                   "PagingOrigin",
	iePagingPriority:                 "PagingPriority",
	ieSessionsAdmitted:               "PDUSessionResourceAdmittedList",
	ieSessionsFailedToModifyRes:      "PDUSessionResourceFailedToModifyListModRes",
	ieSessionsFailedToSetUpCxtRes:    "PDUSessionResourceFailedToSetupListCxtRes",
	ieSessionsFailedToSetUpHOAck:     "PDUSessionResourceFailedToSetupListHOAck",
	ieSessionsFailedToSetUpPSReq:     "PDUSessionResourceFailedToSetupListPSReq",
	ieSessionsFailedToSetUpSURes:     "PDUSessionResourceFailedToSetupListSURes",
	ieSessionsHandover:               "PDUSessionResourceHandoverList",
	ieSessionsCxtRelCpl:              "PDUSessionResourceListCxtRelCpl",
	ieSessionsHORqd:                  "PDUSessionResourceListHORqd",
	ieSessionsModifyCfm:              "PDUSessionResourceModifyListModCfm",
	ieSessionsModifyInd:              "PDUSessionResourceModifyListModInd",
	ieSessionsModifyReq:              "PDUSessionResourceModifyListModReq",
	ieSessionsModifyRes:              "PDUSessionResourceModifyListModRes",
	ieSessionsNotify:                 "PDUSessionResourceNotifyList",
	ieSessionsReleasedNot:            "PDUSessionResourceReleasedListNot",
	ieSessionsReleasedPSAck:          "PDUSessionResourceReleasedListPSAck",
	ieSessionsReleasedPSFail:         "PDUSessionResourceReleasedListPSFail",
	ieSessionsReleasedRelRes:         "PDUSessionResourceReleasedListRelRes",
	ieSessionsSetUpCxtReq:            "PDUSessionResourceSetupListCxtReq",
	ieSessionsSetUpCxtRes:            "PDUSessionResourceSetupListCxtRes",
	ieSessionsSetUpHOReq:             "PDUSessionResourceSetupListHOReq",
	ieSessionsSetUpSUReq:             "PDUSessionResourceSetupListSUReq",
	ieSessionsSetUpSURes:             "PDUSessionResourceSetupListSURes",
	ieSessionsToBeSwitched:           "PDUSessionResourceToBeSwitchedDLList",
	ieSessionsSwitched:               "PDUSessionResourceSwitchedList",
	ieSessionsToReleaseHOCmd:         "PDUSessionResourceToReleaseListHOCmd",
	ieSessionsToReleaseRelCmd:        "PDUSessionResourceToReleaseListRelCmd",
	iePLMNSupport:                    "PLMNSupportList",
	ieRANNodeName:                    "RANNodeName",
	ieRANPagingPriority:              "RANPagingPriority",
	ieRANStatusTransfer:              "RANStatusTransfer-TransparentContainer",
	ieRANUEID:                        "RAN-UE-NGAP-ID",
	ieRelativeAMFCapacity:            "RelativeAMFCapacity",
	ieResetType:                      "ResetType",
	ieRRCEstablishmentCause:          "RRCEstablishmentCause",
	ieRRCInactiveReportRequest:       "RRCInactiveTransitionReportRequest",
	ieRRCState:                       "RRCState",
	ieSecurityContext:                "SecurityContext",
	ieSecurityKey:                    "SecurityKey",
	ieServedGUAMI:                    "ServedGUAMIList",
	ieSONConfigurationTransferDL:     "SONConfigurationTransferDL",
	ieSONConfigurationTransferUL:     "SONConfigurationTransferUL",
	ieSourceAMFUEID:                  "SourceAMF-UE-NGAP-ID",
	ieSourceToTarget:                 "SourceToTarget-TransparentContainer",
	ieSupportedTA:                    "SupportedTAList",
	ieTAIListForPaging:               "TAIListForPaging",
	ieTargetID:                       "TargetID",
	ieTargetToSource:                 "TargetToSource-TransparentContainer",
	ieTimeToWait:                     "TimeToWait",
	ieTraceActivation:                "TraceActivation",
	ieTraceCollector:                 "TraceCollectionEntityIPAddress",
	ieUEAggregateMaximumBitRate:      "UEAggregateMaximumBitRate",
	ieUEAssociatedConnections:        "UE-associatedLogicalNG-connectionList",
	ieUEContextRequest:               "UEContextRequest",
	ieUEIDs:                          "UE-NGAP-IDs",
	ieUEPagingIdentity:               "UEPagingIdentity",
	ieUEPresenceInAreas:              "UEPresenceInAreaOfInterestList",
	ieUERadioCapability:              "UERadioCapability",
	ieUERadioCapabilityForPaging:     "UERadioCapabilityForPaging",
	ieUESecurityCapabilities:         "UESecurityCapabilities",
	ieUnavailableGUAMI:               "UnavailableGUAMIList",
	ieUserLocation:                   "UserLocationInformation",
	ieSessionsFailedToModifyCfm:      "PDUSessionResourceFailedToModifyListModCfm",
	ieSessionsFailedToSetUpCxtFail:   "PDUSessionResourceFailedToSetupListCxtFail",
	ieSessionsCxtRelReq:              "PDUSessionResourceListCxtRelReq",
	ieSessionsSecondaryRATUsage:      "PDUSessionResourceSecondaryRATUsageList",
	ieHandoverFlag:                   "HandoverFlag",
	ieReleaseResponseTransfer:        "PDUSessionResourceReleaseResponseTransfer",
	ieRedirectionVoiceFallback:       "RedirectionVoiceFallback",
	ieUERetention:                    "UERetentionInformation",
	ieSNSSAI:                         "S-NSSAI",
	iePSCell:                         "PSCellInformation",
	ieLastEUTRANPLMN:                 "LastEUTRAN-PLMNIdentity",
	ieENDCSONConfigurationTransferDL: "ENDC-SONConfigurationTransferDL",
	ieENDCSONConfigurationTransferUL: "ENDC-SONConfigurationTransferUL",
	ieNewGUAMI:                       "NewGUAMI",
	ieNGRANTNLAssociationToRemove:    "NGRAN-TNLAssociationToRemoveList",
	ieTNLAssociationAddressNGRAN:     "TNLAssociationTransportLayerAddressNGRAN",
	ieReroute:                        "SourceToTarget-AMFInformationReroute",
	ieSelectedPLMN:                   "SelectedPLMNIdentity",
	ieUECapabilityInfoRequest:        "UECapabilityInfoRequest",
	ieRRCResumeCause:                 "RRC-Resume-Cause",
	ieIntersystemSONConfigurationDL:  "IntersystemSONConfigurationTransferDL",
	ieIntersystemSONConfigurationUL:  "IntersystemSONConfigurationTransferUL",
	ieTargetToSourceFailure:          "TargettoSource-Failure-TransparentContainer",
	ieUERadioCapabilityID:            "UERadioCapabilityID",
	ieUERadioCapabilityEUTRA:         "UERadioCapability-EUTRA-Format",
	ieExtendedSliceSupport:           "ExtendedSliceSupportList",
	ieExtendedTAISliceSupport:        "ExtendedTAISliceSupportList",
	ieExtendedRANNodeName:            "Extended-RANNodeName",
	ieExtendedAMFName:                "Extended-AMFName",
}

// String is the IE's name in TS 38.413 9.4.7, less "id-", or its number.
func (i IE) String() string {
	if name := ieNames[i]; name != "" {
		return name
	}
	return fmt.Sprintf("IE %d", uint16(i))
}
