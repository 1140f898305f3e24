package gnb

import (
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// UE is what a gNB asks of a UE in its cell. The gNB calls these from its N2 and N3 goroutines: they
// must return soon, and must not call the gNB back before they have returned. c tells the
// connection that an event belongs to, because an event of an old one may arrive late.
type UE interface {
	// CellUp tells that the cell serves (NG Setup done), CellDown that N2 is lost: connections stay until
	// it is back, but nothing can be sent on them. Either may come late, to a UE that has gone to another cell.
	CellUp(cell *GNB)
	CellDown(cell *GNB)
	// NAS delivers a downlink NAS PDU.
	NAS(c *Connection, pdu []byte)
	// Sink is asked for before a session's tunnel is opened: where downlink packets go. nil means
	// that the UE has no such session.
	Sink(psi uint8) func(packet []byte, qfi uint8)
	// SessionUp tells that a session has a tunnel, SessionDown that it has none any more.
	SessionUp(c *Connection, psi uint8, t *gtpu.Tunnel)
	SessionDown(c *Connection, psi uint8)
	// SessionLost tells that the UPF answered a session's packets with an Error Indication.
	SessionLost(c *Connection, psi uint8)
	// Released tells that the connection has ended: the UE is idle.
	Released(c *Connection, cause string)
	// Moved tells that the UE is in another cell now, with another connection, by handover.
	Moved(from, to *Connection, cell *GNB)
	// TMSI is the 5G-S-TMSI that the UE listens to paging for; false when it has none.
	TMSI() (uenas.TMSI, bool)
	// Paged tells that the network asks the UE to connect.
	Paged()
}
