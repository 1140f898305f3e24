package n2

// WithoutKeys is a message in whose keys there is nothing, for people to see; a message that has none is itself.
func WithoutKeys(m Message) Message {
	switch m := m.(type) {
	case *InitialContextSetupRequest:
		c := *m
		c.Key = SecurityKey{}
		return &c
	case *UEContextModificationRequest:
		c := *m
		if c.Key != nil {
			c.Key = &SecurityKey{}
		}
		return &c
	case *HandoverRequest:
		c := *m
		c.Next.NH = SecurityKey{}
		return &c
	case *PathSwitchRequestAcknowledge:
		c := *m
		c.Next.NH = SecurityKey{}
		return &c
	}
	return m
}
