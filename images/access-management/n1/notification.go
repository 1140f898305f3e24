package n1

// Notification of TS 24.501 8.2.23.
type Notification struct{ Access Access }

// Type of the message.
func (*Notification) Type() MessageType { return NotificationType }

func (m *Notification) elements(c *codec) {
	nibble(c, &m.Access)
	m.Access &= 3
}

// NotificationResponse of TS 24.501 8.2.24.
type NotificationResponse struct{ Sessions *Sessions }

// Type of the message.
func (*NotificationResponse) Type() MessageType { return NotificationResponseType }

func (m *NotificationResponse) elements(c *codec) { optional(c, ieiSessions, &m.Sessions) }
