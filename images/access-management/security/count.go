package security

import "errors"

// COUNTs have 24 bits, of which the lowest 8 travel (TS 24.501 4.4.3.1).
const (
	maxCount = 1<<24 - 1
	// nearlyWrapped is from where on AKA should be run (TS 24.501 4.4.3.5).
	nearlyWrapped = maxCount - 1<<10
	block         = 16
	// maxUnheard is how far the next COUNT may be from the first that the UE may not have seen.
	maxUnheard = 255
)

// Errors of COUNTs. In either case AKA makes a new context with new COUNTs.
var (
	// ErrProveAnew: COUNTs were skipped, and since then so much has gone out without a sign that the UE hears, that it could
	// take the next COUNT for another one; or the store has lost writes.
	ErrProveAnew = errors.New("the UE has to prove itself anew, by AKA, before a message is protected")
	// ErrCountWraps: the NAS COUNT would.
	ErrCountWraps = errors.New("the NAS COUNT would wrap around")
)

// DownlinkCount is the AMF's side of the downlink NAS COUNT.
type DownlinkCount struct {
	// Reserved: all below it may have been used. It is committed before a COUNT below it is.
	Reserved uint32 `cbor:"1,keyasint"`
	// Skipped: a holder of the record has gone on behind a block that it had not reserved itself, and the UE has not shown
	// since that it hears. From is the first COUNT that may have been skipped, To the one behind the last.
	Skipped bool   `cbor:"2,keyasint,omitempty"`
	From    uint32 `cbor:"3,keyasint,omitempty"`
	To      uint32 `cbor:"4,keyasint,omitempty"`
	// Lost: writes were, so it is not known which COUNTs were used.
	Lost bool `cbor:"5,keyasint,omitempty"`
	// Left is how much of the block below Reserved is left to who has reserved it: Held. They are not kept, so that who
	// reads the record begins with another block.
	Left uint8 `cbor:"-"`
	Held bool  `cbor:"-"`
}

// Next is the COUNT that the next message has.
func (d *DownlinkCount) Next() uint32 { return d.Reserved - uint32(d.Left) }

// take returns the next COUNT, and reserves a block where none is left. On an error nothing changes.
func (d *DownlinkCount) take() (uint32, error) {
	after, next := *d, d.Next()
	if d.Left == 0 {
		if !d.Held && d.Reserved > 0 {
			if !after.Skipped {
				after.Skipped, after.From = true, d.Reserved-block
			}
			after.To = d.Reserved
		}
		after.Reserved, after.Left, after.Held = d.Reserved+block, block, true
	}
	after.Left--
	switch {
	case after.Lost || after.doubt(next) > maxUnheard:
		return 0, ErrProveAnew
	case next > maxCount:
		return 0, ErrCountWraps
	}
	*d = after
	return next, nil
}

// doubt is how many COUNTs up to the next one the UE may not have seen.
func (d *DownlinkCount) doubt(next uint32) uint32 {
	if !d.Skipped {
		return 0
	}
	return next - d.From + 1
}

// heard: the UE has answered a message that had this COUNT. What was skipped before it does not matter any more.
func (d *DownlinkCount) heard(count uint32) {
	if d.Skipped && count >= d.To && count < d.Next() {
		d.Skipped, d.From, d.To = false, 0, 0
	}
}

// UplinkCount is the AMF's side of the uplink NAS COUNT.
type UplinkCount struct {
	// Next is the lowest COUNT that a message may have.
	Next uint32 `cbor:"1,keyasint"`
}

// estimate is the COUNT of a message with a sequence number: the lowest that it may have (TS 33.501 6.4.3.1). So the last
// message again is estimated 256 too high, and its code does not match.
func (u UplinkCount) estimate(sequence uint8) uint32 {
	count := u.Next&^0xff | uint32(sequence)
	if count < u.Next {
		count += 1 << 8
	}
	return count
}
