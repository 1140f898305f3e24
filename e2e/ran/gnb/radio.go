package gnb

// byRadio is the downlink's last step: over the radio to the UE, if it is still there. What comes for a UE that has
// left without a word is lost, as it is on the air.
func (c *Connection) byRadio(deliver func(packet []byte, qfi uint8)) func(packet []byte, qfi uint8) {
	return func(packet []byte, qfi uint8) {
		if c.deserted.Load() {
			c.gnb.unheard.Add(1)
			return
		}
		deliver(packet, qfi)
	}
}

// Desert tells the connection that its UE has left without a word: nothing that the gNB sends reaches it, and the core
// is not told.
func (c *Connection) Desert() { c.deserted.Store(true) }
