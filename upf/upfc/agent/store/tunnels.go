package store

import (
	"encoding/binary"

	"core5g.dev/core5g/upf/upfc/rules"
)

// tunnels leads from a peer's F-TEID to the sessions that send into it, for Error Indications.
type tunnels struct{ hashes }

func tunnelHash(f rules.FTEID) uint32 {
	a := f.Addr.As16()
	h := binary.LittleEndian.Uint64(a[:8])*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(a[8:])*0xbf58476d1ce4e5b9 ^
		uint64(f.TEID)*0x94d049bb133111eb
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

func (t *tunnels) add(f rules.FTEID, index uint32)    { t.hashes.add(tunnelHash(f), index) }
func (t *tunnels) remove(f rules.FTEID, index uint32) { t.hashes.remove(tunnelHash(f), index) }

// find lists the sessions that may send into a tunnel.
func (t *tunnels) find(f rules.FTEID) []uint32 { return t.hashes.find(tunnelHash(f)) }
