package n1

// Status is a 5GMM Status, of either side (TS 24.501 8.2.29).
type Status struct{ Cause Cause }

// Type of the message.
func (*Status) Type() MessageType { return StatusType }

func (m *Status) elements(c *codec) { octet(c, &m.Cause) }
