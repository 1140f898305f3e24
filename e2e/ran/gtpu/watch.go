package gtpu

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// Watches hands ICMP echo replies with chosen identifiers to whoever waits for them, instead of to
// the tunnel that they came by: so a ping can be made inside the process, without a TUN device, and a
// test sees a reply even when it comes to another UE.
type Watches struct {
	active atomic.Int32
	mu     sync.Mutex
	byID   map[uint16]chan<- Reply
}

// Reply is an ICMP echo reply that arrived on a tunnel.
type Reply struct {
	Tunnel   *Tunnel
	Sequence uint16
	At       time.Time
}

// Add asks for the echo replies with identifier id. Replies that find the channel full are dropped.
func (w *Watches) Add(id uint16, to chan<- Reply) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[uint16]chan<- Reply{}
	}
	w.byID[id] = to
	w.active.Add(1)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.byID, id)
		w.active.Add(-1)
	}
}

// echoReply is the ICMP message of a packet that is one, of either version of IP; nil for any other packet.
func echoReply(ip []byte) []byte {
	const icmp, reply, icmp6, reply6 = 1, 0, 58, 129
	switch {
	case len(ip) >= 28 && ip[0]>>4 == 4 && ip[9] == icmp:
		if ihl := int(ip[0]&0xF) * 4; ihl >= 20 && len(ip) >= ihl+8 && ip[ihl] == reply {
			return ip[ihl:]
		}
	case len(ip) >= 48 && ip[0]>>4 == 6 && ip[6] == icmp6 && ip[40] == reply6:
		return ip[40:]
	}
	return nil
}

func (w *Watches) offer(t *Tunnel, ip []byte) bool {
	if w.active.Load() == 0 {
		return false
	}
	m := echoReply(ip)
	if m == nil {
		return false
	}
	id, seq := binary.BigEndian.Uint16(m[4:]), binary.BigEndian.Uint16(m[6:])
	w.mu.Lock()
	to := w.byID[id]
	w.mu.Unlock()
	if to == nil {
		return false
	}
	select {
	case to <- Reply{Tunnel: t, Sequence: seq, At: time.Now()}:
	default:
	}
	return true
}
