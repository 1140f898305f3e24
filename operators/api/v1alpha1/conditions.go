package v1alpha1

// Condition types. Ready is the sum of the others; each kind documents which it carries.
const (
	ConditionReady = "Ready"

	// Core5G.
	ConditionDatabaseReady       = "DatabaseReady"
	ConditionNRFReady            = "NRFReady"
	ConditionAMFReady            = "AMFReady"
	ConditionPCFReady            = "PCFReady"
	ConditionCHFReady            = "CHFReady"
	ConditionSubscriberDataReady = "SubscriberDataReady"
	ConditionRegistered          = "Registered"
	ConditionConfigurationValid  = "ConfigurationValid"
	// ConditionCertificatesReady: every function of the core has a certificate, where the SBI has TLS.
	ConditionCertificatesReady = "CertificatesReady"

	// ConditionSessionStoreReady: session management can keep sessions, where the core has a session store.
	ConditionSessionStoreReady = "SessionStoreReady"

	// ConditionSubscriberDatabaseReady: the database of subscribers answers, where the core has one.
	ConditionSubscriberDatabaseReady = "SubscriberDatabaseReady"

	// Slice.
	ConditionAdvertised = "Advertised"
	ConditionUPFReady   = "UPFReady"
	ConditionSMFReady   = "SMFReady" // and of a Core5G whose SMF is core5g's own
	ConditionPoolsValid = "PoolsValid"
	// ConditionFurtherUPFsReady: every UPFInstance of upfs and breakouts is there and Ready, where there are such. One that is not Ready is no part of Ready:
	// others serve, but where they may not.
	ConditionFurtherUPFsReady = "FurtherUPFsReady"
	// UserPlaneFollowed says that the SMF knows every unit of its UPFInstance, where there is more than one.
	ConditionUserPlaneFollowed = "UserPlaneFollowed"

	// ConditionReleased is False while a Slice that is deleted waits for its SMF's end and for its sessions'.
	ConditionReleased = "Released"

	// UPFInstance.
	ConditionPlaced             = "Placed"
	ConditionN3Attached         = "N3Attached"
	ConditionN6Attached         = "N6Attached"
	ConditionEndpointsAllocated = "EndpointsAllocated"
	ConditionUnitsReady         = "UnitsReady"
	ConditionUpdatePending      = "UpdatePending"
	ConditionNUMAAligned        = "NUMAAligned"
	ConditionLinksUp            = "LinksUp"
	// ConditionGatewaysAnswer: all gateways of the units answer, where an interface has two of an IP version. It is no part of Ready: the
	// units forward packets by the one that does.
	ConditionGatewaysAnswer = "GatewaysAnswer"
	// ConditionStandbyInSync: each unit has a standby that may take it over, where the specification asks for one. It is no part of
	// Ready: the units forward packets without.
	ConditionStandbyInSync = "StandbyInSync"
	// ConditionNodesReachable is False while a unit's pod is on a node that is lost, and says what becomes of it. It is not there otherwise.
	ConditionNodesReachable = "NodesReachable"
	// ConditionSuccessorsKnown: the units know who may take an association over, where the core's SMF is core5g's own. It is
	// no part of Ready: without it takeovers last longer.
	ConditionSuccessorsKnown = "SuccessorsKnown"
	// ConditionAssociated: all shards of the SMF have an association with a UPF that runs elsewhere.
	ConditionAssociated = "Associated"

	// Subscriber.
	// ConditionCoreFound: the Core5G that the Subscriber belongs to exists.
	ConditionCoreFound           = "CoreFound"
	ConditionAuthenticationReady = "AuthenticationReady"
	// ConditionSlicesReady: all Slices of the subscription exist, and one of them at least is Ready.
	ConditionSlicesReady = "SlicesReady"
	// ConditionGPSIUnique: no other Subscriber of the core has the GPSI, where there is one.
	ConditionGPSIUnique = "GPSIUnique"
	// ConditionAddressesUnique: the static addresses and framed routes can be had, and no other Subscriber of the core has one of them.
	ConditionAddressesUnique = "AddressesUnique"

	// DataplaneNode: Ready, and one for each thing that a node must have.
	ConditionCPUManagerStatic    = "CPUManagerStatic"
	ConditionTopologyAligned     = "TopologyAligned"
	ConditionMemoryManagerStatic = "MemoryManagerStatic"
	ConditionHugepagesPresent    = "HugepagesPresent"
	ConditionIOMMUEnabled        = "IOMMUEnabled"
	ConditionVFIOLoaded          = "VFIOLoaded"
	ConditionDevicePlugin        = "DevicePlugin"
)

// Condition reasons that other programs may rely on.
const (
	ReasonReady           = "Ready"
	ReasonProgressing     = "Progressing"
	ReasonFailed          = "Failed"
	ReasonNotFound        = "NotFound"
	ReasonDeleting        = "Deleting"
	ReasonRestartRequired = "RestartRequired"
	ReasonInCatalogue     = "InCatalogue"
	// NotInCatalogue: as RestartRequired, where the AMF takes a new catalogue without a restart.
	ReasonNotInCatalogue  = "NotInCatalogue"
	ReasonPoolOverlap     = "PoolOverlap"
	ReasonNotSupported    = "NotSupported"
	ReasonExhausted       = "EndpointsExhausted"
	ReasonDuplicate       = "Duplicate"
	ReasonMalformed       = "Malformed"
	ReasonNoMultus        = "NetworkAttachmentDefinitionKindMissing"
	ReasonUpToDate        = "UpToDate"
	ReasonLocked          = "Locked"
	ReasonNoCertManager   = "CertificateKindMissing"
	ReasonRegistrationMis = "RegistrationMissing"
	// Of the session store: its sealing key is gone, it does not answer, it refuses the user or the password, its
	// settings would lose records, or fewer replicas follow than each write waits for.
	ReasonKeyMissing         = "KeyMissing"
	ReasonUnreachable        = "Unreachable"
	ReasonCredentialsRefused = "CredentialsRefused"
	ReasonUnsafeSettings     = "UnsafeSettings"
	ReasonTooFewReplicas     = "TooFewReplicas"
	// NoNUMAFit: no node and cell has what a unit needs.
	ReasonNoNUMAFit = "NoNUMAFit"
	// LinkDown: an interface of a unit has no link.
	ReasonLinkDown = "LinkDown"
	// GatewaySilent: a gateway of a unit does not answer.
	ReasonGatewaySilent = "GatewaySilent"
	// SliceNotReady: no Slice of the subscription can have PDU sessions.
	ReasonSliceNotReady = "SliceNotReady"
	// NotReported: nobody has said yet whether it is so.
	ReasonNotReported = "NotReported"
	// AddressesMissing: the specification has too few addresses for the units.
	ReasonAddressesMissing = "AddressesMissing"
	// ReasonAddressOverlap: an older UPFInstance of the core has some of the addresses.
	ReasonAddressOverlap = "AddressOverlap"
	// ReasonTooLittleMemory: what somebody has written of memory is too little for the sessions of a unit.
	ReasonTooLittleMemory = "TooLittleMemory"
	ReasonDraining        = "Draining"
	// ReasonHeld: a Slice stays where it is, because its selector means nothing that could serve it.
	ReasonHeld = "Held"
	// ReasonStandbyNotInSync: a unit has no standby with all its sessions.
	ReasonStandbyNotInSync = "StandbyNotInSync"
	// ReasonNodeLost: a node is not ready, or out of service.
	ReasonNodeLost = "NodeLost"
	// ReasonNameTaken: somebody else's object has a name that the operator needs.
	ReasonNameTaken = "NameTaken"
	// ReasonFeaturesMissing: a UPF that runs elsewhere cannot do what the SMF needs.
	ReasonFeaturesMissing = "FeaturesMissing"
	// NUMAMisaligned: a unit has resources of several NUMA cells, or of another than its own.
	ReasonMisaligned = "NUMAMisaligned"
)

// Annotations that a user or a program may set.
const (
	// AnnotationApplyUpdate on a UPFInstance lets a pending update restart its units: set it to the
	// hash that condition UpdatePending names.
	AnnotationApplyUpdate = "core5g.dev/apply-update"
)

// ManagedBy is the LabelManagedBy of every object that the operator makes.
const ManagedBy = "core5g-operator"

// Labels on every object that the operator makes.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelSlice     = "core5g.dev/slice"
	LabelUPF       = "core5g.dev/upfinstance"
	LabelUnit      = "core5g.dev/unit"
	// LabelMember tells the two pods of a unit with redundancy apart: a or b.
	LabelMember = "core5g.dev/member"
	// LabelStoreMember tells the servers of an embedded session store of three apart: 0, 1, 2.
	LabelStoreMember = "core5g.dev/session-store-member"
	// LabelServing is on the one of them that serves the unit: its N4 Service leads there.
	LabelServing = "core5g.dev/serving"
	// LabelSessionManagement says whose SMF a pod is of: core, or slice.<name> of a Slice with sessionManagement Dedicated.
	LabelSessionManagement = "core5g.dev/session-management"
	// LabelAccessManagement is on the workers of core5g's own AMF alone.
	LabelAccessManagement = "core5g.dev/access-management"
)

// Finalizer keeps an object until what it put into others has been taken out again, in order.
const Finalizer = "core5g.dev/operator"
