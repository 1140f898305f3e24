package ts29571

// ServiceArea is a ServiceAreaRestriction (5.4.4.24): where a UE may have services, or where not.
type ServiceArea struct {
	// Kind is ALLOWED_AREAS or NOT_ALLOWED_AREAS.
	Kind  string `json:"restrictionType,omitempty"`
	Areas []Area `json:"areas,omitempty"`
	// MaxTAs is how many tracking areas there may be, of those that are allowed, and MaxNotAllowedTAs of the others; 0:
	// as many as there are.
	MaxTAs           uint32 `json:"maxNumOfTAs,omitempty"`
	MaxNotAllowedTAs uint32 `json:"maxNumOfTAsForNotAllowedAreas,omitempty"`
}

// Area is tracking areas of the serving network by their codes, or a name that the operator gave them (5.4.4.23).
type Area struct {
	TACs []string `json:"tacs,omitempty"`
	Code string   `json:"areaCode,omitempty"`
}
