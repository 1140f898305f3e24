package n1

// ConfigurationUpdateCommand of TS 24.501 8.2.19.
type ConfigurationUpdateCommand struct {
	// Acknowledge: the UE is to answer. Register: it is to register anew.
	Acknowledge, Register bool
	GUTI                  *GUTI
	TAIs                  TAIs
	Allowed               NSSAI
	ServiceArea           *ServiceArea
	FullName, ShortName   *Name
	Zone                  *Zone
	Clock                 *Clock
	DaylightSaving        *DaylightSaving
	LADNs                 *LADNs
	MICO                  *MICO
	// SubscriptionChanged: the network slicing subscription has. DefaultConfigured is the UE's.
	SubscriptionChanged, DefaultConfigured bool
	Configured                             NSSAI
	Rejected                               RejectedNSSAI
	Categories                             *CategoryDefinitions
	// SMS over NAS is there, or is not; nil: not told.
	SMS                *bool
	T3447              *Timer3
	ClosedAccessGroups []byte
	RadioCapabilityID  []byte
	// DeleteRadioCapabilityIDs of the network's.
	DeleteRadioCapabilityIDs bool
	Result                   *RegistrationResult
	TruncatedSTMSI           []byte
	// KeepConnection: registering anew does not need the release of the N1 connection (SCMR).
	KeepConnection bool
}

// Type of the message.
func (*ConfigurationUpdateCommand) Type() MessageType { return ConfigurationUpdateCommandType }

func (m *ConfigurationUpdateCommand) elements(c *codec) {
	two(c, ieiUpdateIndication, &m.Register, &m.Acknowledge)
	optional(c, ieiIdentity, &m.GUTI)
	list(c, ieiTAIs, &m.TAIs)
	list(c, ieiAllowedNSSAI, &m.Allowed)
	optional(c, ieiServiceArea, &m.ServiceArea)
	optional(c, ieiFullName, &m.FullName)
	optional(c, ieiShortName, &m.ShortName)
	optional(c, ieiTimeZone, &m.Zone)
	optional(c, ieiTime, &m.Clock)
	optional(c, ieiDaylightSaving, &m.DaylightSaving)
	optional(c, ieiLADNs, &m.LADNs)
	optional(c, ieiMICO, &m.MICO)
	two(c, ieiSlicing, &m.DefaultConfigured, &m.SubscriptionChanged)
	list(c, ieiConfiguredNSSAI, &m.Configured)
	list(c, ieiRejectedNSSAI, &m.Rejected)
	optional(c, ieiAccessCategories, &m.Categories)
	boolean(c, ieiSMSIndication, &m.SMS)
	optional(c, ieiT3447, &m.T3447)
	octets(c, ieiCAG, &m.ClosedAccessGroups, 1)
	octets(c, ieiRadioCapabilityID, &m.RadioCapabilityID, 1)
	flag(c, ieiDeleteRadioIDUpdate, &m.DeleteRadioCapabilityIDs)
	optional(c, ieiRegistrationResult, &m.Result)
	octets(c, ieiTruncatedSTMSI, &m.TruncatedSTMSI, 1)
	flag(c, ieiAdditionalUpdate, &m.KeepConnection)
}

// ConfigurationUpdateComplete of TS 24.501 8.2.20.
type ConfigurationUpdateComplete struct{}

// Type of the message.
func (*ConfigurationUpdateComplete) Type() MessageType { return ConfigurationUpdateCompleteType }

func (*ConfigurationUpdateComplete) elements(*codec) {}
