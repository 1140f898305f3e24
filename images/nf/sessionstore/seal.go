package sessionstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrUnreadable: the record is damaged, or sealed with a key that this program does not have.
var ErrUnreadable = errors.New("session store: the record cannot be read")

// SealOverhead is how many octets Seal adds: the key's number, a nonce, the tag.
const SealOverhead = 4 + nonceSize + tagSize

const (
	nonceSize = 12
	tagSize   = 16
	// KeySize of AES-256-GCM, in octets.
	KeySize = 32
)

// Sealer encrypts and authenticates records: they hold K_AMF and what UEs talk to, and a store has backups,
// replicas and other readers. A record is bound to its key, so that one cannot be put in another's place.
type Sealer struct {
	newest uint32 // or the one that SealWith names
	byID   map[uint32]cipher.AEAD
}

// NewSealer seals with the key of the highest number and opens with any: a key is replaced by adding one, and taken
// away when no record is sealed with it any more. Keys have KeySize octets.
func NewSealer(keys map[uint32][]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("session store: no key to seal records with")
	}
	s := &Sealer{byID: make(map[uint32]cipher.AEAD, len(keys))}
	for id, key := range keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("session store: sealing key %d has %d octets, it needs %d", id, len(key), KeySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if s.byID[id], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		s.newest = max(s.newest, id)
	}
	return s, nil
}

// SealWith names the key to seal with. While a key is added, programs that do not have it yet could not open what it
// has sealed: they get the key first, and its number later.
func (s *Sealer) SealWith(id uint32) error {
	if s.byID[id] == nil {
		return fmt.Errorf("session store: there is no sealing key %d to seal with", id)
	}
	s.newest = id
	return nil
}

// Seal returns value as it goes into the store under that key. Nonces are random: 2^32 records a key keep their
// collision improbable (NIST SP 800-38D 8.3).
func (s *Sealer) Seal(key string, value []byte) []byte {
	out := make([]byte, 4+nonceSize, SealOverhead+len(value))
	binary.BigEndian.PutUint32(out, s.newest)
	// Never fails (crypto/rand.Read).
	_, _ = rand.Read(out[4:])
	return s.byID[s.newest].Seal(out, out[4:], value, bound(out[:4], key))
}

// Open is the inverse of Seal. Its error is ErrUnreadable and says why, never what the record holds.
func (s *Sealer) Open(key string, sealed []byte) ([]byte, error) {
	if len(sealed) < SealOverhead {
		return nil, fmt.Errorf("%w: %s has %d octets, fewer than a sealed one", ErrUnreadable, key, len(sealed))
	}
	id := binary.BigEndian.Uint32(sealed)
	aead, ok := s.byID[id]
	if !ok {
		return nil, fmt.Errorf("%w: %s is sealed with key %d, which is not here", ErrUnreadable, key, id)
	}
	value, err := aead.Open(nil, sealed[4:4+nonceSize], sealed[4+nonceSize:], bound(sealed[:4], key))
	if err != nil {
		return nil, fmt.Errorf("%w: %s is damaged, or sealed with another key %d", ErrUnreadable, key, id)
	}
	return value, nil
}

func bound(id []byte, key string) []byte { return append(append([]byte(nil), id...), key...) }
