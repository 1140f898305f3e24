package storm

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
)

// Tunnels sends so many G-PDUs a second to the UPF, each for a TEID by chance, until ctx ends.
func Tunnels(ctx context.Context, upf netip.Addr, rate int) error {
	conn, err := net.Dial("udp4", netip.AddrPortFrom(upf, gtpu.Port).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	packet := make([]byte, gtpu.HeaderLen+128)
	userPacket(packet[gtpu.HeaderLen:])
	return Pace(ctx, rate, func() error {
		gtpu.PutUplink(packet, rand.Uint32(), 1, len(packet)-gtpu.HeaderLen)
		// A refusal (ICMP) of what went before says nothing of this one.
		_, _ = conn.Write(packet)
		return nil
	})
}

// userPacket makes IPv4 and UDP of what a UE might send.
func userPacket(b []byte) {
	b[0], b[8], b[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	copy(b[12:], []byte{10, 45, 0, 1, 172, 30, 6, 1})
	binary.BigEndian.PutUint16(b[20:], 40000)
	binary.BigEndian.PutUint16(b[22:], 40000)
	binary.BigEndian.PutUint16(b[24:], uint16(len(b)-20))
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum+sum>>16))
}

// Pace calls what so often a second, in shots of a hundredth of a second, until ctx ends or what fails.
func Pace(ctx context.Context, rate int, what func() error) error {
	if rate == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	begin, done := time.Now(), 0
	for {
		for due := int(time.Since(begin).Seconds() * float64(rate)); done < due; done++ {
			if err := what(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
