package record

// Numbers of a UE carry that of its shard, in their highest bits, so that whoever gets a message finds the shard without a look-up: an AMF UE
// NGAP ID (TS 38.413 9.3.3.1, 40 bits), a 5G-TMSI (TS 23.003 2.11, 32 bits). Shards are numbered from 1 to 255.
//
// A UE has a new AMF UE NGAP ID with each attachment: the one of before may still be in use with another gNB. A 5G-TMSI is never given
// again while somebody may have it. What the n-th 5G-TMSI of a shard looks like is not for others to guess (TS 33.501 6.12.3): who numbers
// permutes n.

// MostShards there can be.
const MostShards = 255

const (
	attachmentBits = 32
	temporaryBits  = 24
)

// Temporaries is how many 5G-TMSIs a shard has.
const Temporaries = 1 << temporaryBits

// AttachmentID is the n-th AMF UE NGAP ID of a shard.
func AttachmentID(shard uint16, n uint64) uint64 {
	return uint64(shard)<<attachmentBits | n&(1<<attachmentBits-1)
}

// ShardOfAttachment is the number of the shard whose UE has that AMF UE NGAP ID; 0: nobody's.
func ShardOfAttachment(id uint64) uint16 {
	if id>>(attachmentBits+8) != 0 {
		return 0
	}
	return uint16(id >> attachmentBits)
}

// TMSI is the n-th 5G-TMSI of a shard.
func TMSI(shard uint16, n uint32) uint32 { return uint32(shard)<<temporaryBits | n&(Temporaries-1) }

// ShardOfTMSI is the number of the shard whose UE has, or had, that 5G-TMSI; 0: nobody's.
func ShardOfTMSI(tmsi uint32) uint16 { return uint16(tmsi >> temporaryBits) }
