package record

// Security is a 5G NAS security context (TS 33.501 3.1, 6.3.2).
//
// COUNTs never run backwards and are never used twice. Uplink is written before what it protected has an effect. Downlink is reserved ahead, a
// block at a time: Reserved is written, and what lies below it is used from memory; who takes the UE over begins at Reserved. Eight bits of a
// COUNT travel, so that a UE understands the next one as long as it is less than 256 above the last that it has heard: Heard is one that it has
// proved to have heard, and where Reserved has come too far from it, the UE is authenticated anew.
type Security struct {
	// Key is K_AMF, 32 octets. It is never logged, or told to anybody but the AMF that takes the UE over.
	Key []byte `cbor:"0,keyasint"`
	// Identifier is the ngKSI, 0 to 6.
	Identifier uint8 `cbor:"1,keyasint"`
	// Ciphering and Integrity are NEA and NIA, by their numbers.
	Ciphering uint8 `cbor:"2,keyasint"`
	Integrity uint8 `cbor:"3,keyasint"`
	// Uplink is the NAS COUNT that the next message may have at least.
	Uplink uint32 `cbor:"4,keyasint,omitempty"`
	// Reserved is the first downlink COUNT that nobody may have used; Heard is the first that the UE has not proved to have heard.
	Reserved uint32 `cbor:"5,keyasint,omitempty"`
	Heard    uint32 `cbor:"6,keyasint,omitempty"`
	// Hop is NH, 32 octets, and Chaining NCC: the last of the chain (TS 33.501 6.9.2.1). The next is committed before an access network has it.
	Hop      []byte `cbor:"7,keyasint,omitempty"`
	Chaining uint8  `cbor:"8,keyasint,omitempty"`
	// ABBA that K_AMF was made with.
	ABBA []byte `cbor:"9,keyasint,omitempty"`
}

// Block is how many downlink COUNTs are reserved at a time, and Reach how far a COUNT may be from what the UE has proved to have heard.
const (
	Block = 16
	Reach = 256 - Block
)
