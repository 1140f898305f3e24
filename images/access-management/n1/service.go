package n1

// ServiceType of TS 24.501 9.11.3.50.
type ServiceType uint8

// The service types.
const (
	ServiceSignalling         ServiceType = 0
	ServiceData               ServiceType = 1
	ServiceMobileTerminated   ServiceType = 2
	ServiceEmergency          ServiceType = 3
	ServiceEmergencyFallback  ServiceType = 4
	ServiceHighPriority       ServiceType = 5
	ServiceElevatedSignalling ServiceType = 6
)

// known reads a value as the specification says of those that are unused.
func (t ServiceType) known() ServiceType {
	switch {
	case t <= ServiceElevatedSignalling:
		return t
	case t <= 8:
		return ServiceSignalling
	case t <= 11:
		return ServiceData
	}
	return t // reserved
}

// ServiceRequest of TS 24.501 8.2.16.
type ServiceRequest struct {
	Service    ServiceType
	KeySet     KeySet
	STMSI      STMSI
	UplinkData *Sessions
	Sessions   *Sessions
	// Allowed are those of another access that may come to this one.
	Allowed *Sessions
	// Container is the NAS message container: the whole Service Request, ciphered.
	Container []byte
}

// Type of the message.
func (*ServiceRequest) Type() MessageType { return ServiceRequestType }

func (m *ServiceRequest) elements(c *codec) {
	nibbles(c, &m.KeySet, &m.Service)
	if !c.writing {
		m.Service = m.Service.known()
	}
	lve(c, &m.STMSI)
	optional(c, ieiUplinkData, &m.UplinkData)
	optional(c, ieiSessions, &m.Sessions)
	optional(c, ieiAllowedSessions, &m.Allowed)
	octets(c, ieiNASContainer, &m.Container, 1)
}

// Clear is what of the message may be said without ciphering (TS 24.501 4.4.6).
func (m *ServiceRequest) Clear() *ServiceRequest {
	return &ServiceRequest{Service: m.Service, KeySet: m.KeySet, STMSI: m.STMSI}
}

// ServiceAccept of TS 24.501 8.2.17.
type ServiceAccept struct {
	Sessions           *Sessions
	Reactivation       *Sessions // those whose user plane is not up
	ReactivationErrors SessionCauses
	EAP                []byte
	T3448              *Timer2
}

// Type of the message.
func (*ServiceAccept) Type() MessageType { return ServiceAcceptType }

func (m *ServiceAccept) elements(c *codec) {
	optional(c, ieiSessions, &m.Sessions)
	optional(c, ieiReactivationResult, &m.Reactivation)
	list(c, ieiReactivationErrors, &m.ReactivationErrors)
	octets(c, ieiEAP, &m.EAP, leastEAP)
	optional(c, ieiT3448, &m.T3448)
}

// ServiceReject of TS 24.501 8.2.18.
type ServiceReject struct {
	Cause              Cause
	Sessions           *Sessions
	T3346              *Timer2
	EAP                []byte
	T3448              *Timer2
	ClosedAccessGroups []byte
}

// Type of the message.
func (*ServiceReject) Type() MessageType { return ServiceRejectType }

func (m *ServiceReject) elements(c *codec) {
	octet(c, &m.Cause)
	optional(c, ieiSessions, &m.Sessions)
	optional(c, ieiT3346, &m.T3346)
	octets(c, ieiEAP, &m.EAP, leastEAP)
	optional(c, ieiT3448, &m.T3448)
	octets(c, ieiCAG, &m.ClosedAccessGroups, 1)
}

// ControlPlaneService is a control plane service type (TS 24.501 9.11.3.18D).
type ControlPlaneService uint8

// The control plane service types.
const (
	ControlPlaneMobileOriginating ControlPlaneService = 0
	ControlPlaneMobileTerminating ControlPlaneService = 1
	ControlPlaneEmergency         ControlPlaneService = 2
	ControlPlaneEmergencyFallback ControlPlaneService = 3
)

// ControlPlaneServiceRequest of TS 24.501 8.2.30.
type ControlPlaneServiceRequest struct {
	Service ControlPlaneService
	KeySet  KeySet
	// SmallData is a CIoT small data container, as it is.
	SmallData             []byte
	PayloadType           PayloadType
	Payload               []byte
	SessionID             uint8
	Sessions              *Sessions
	ReleaseAssistance     uint8
	UplinkData            *Sessions
	Container             []byte
	AdditionalInformation []byte
	Allowed               *Sessions
}

// Type of the message.
func (*ControlPlaneServiceRequest) Type() MessageType { return ControlPlaneServiceRequestType }

func (m *ControlPlaneServiceRequest) elements(c *codec) {
	nibbles(c, &m.Service, &m.KeySet)
	m.Service &= 7
	octets(c, ieiSmallData, &m.SmallData, 1)
	number(c, ieiPayloadType, &m.PayloadType)
	octets(c, ieiPayload, &m.Payload, 1)
	nonzero(c, ieiPDUSession, (*Octet)(&m.SessionID))
	optional(c, ieiSessions, &m.Sessions)
	number(c, ieiReleaseAssistance, &m.ReleaseAssistance)
	optional(c, ieiUplinkData, &m.UplinkData)
	octets(c, ieiNASContainer, &m.Container, 1)
	octets(c, ieiAdditionalInformation, &m.AdditionalInformation, 1)
	optional(c, ieiAllowedSessions, &m.Allowed)
	if !c.writing && len(m.Payload) > 0 && m.PayloadType == 0 {
		c.fail(CauseConditionalIE, "a payload without a type")
	}
}
