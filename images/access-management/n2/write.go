package n2

import "fmt"

// Write writes a message: its IEs in the order of TS 38.413 9.4.4, with its criticality, each number in as few octets as it
// needs. An error names the IE that cannot be written.
func Write(m Message) ([]byte, error) { return Append(nil, m) }

// Append writes a message behind what is in b.
func Append(b []byte, m Message) ([]byte, error) {
	kind := m.Kind()
	x := &exchange{mode: writing}
	c := &x.c
	c.b, c.bit, c.writing = b, uint(len(b))*8, true
	c.boolean(false)
	c.put(uint64(kind.Outcome), outcomeBits)
	c.align()
	c.put(uint64(kind.Procedure), 8)
	c.criticality(procedures[kind.Procedure].criticality)
	start := c.begin()
	c.boolean(false)
	c.align()
	count := len(c.b)
	c.put(0, 16)
	m.ies(x)
	if c.err != nil {
		return b, fmt.Errorf("%s: %s: %w", kind, x.bad, c.err)
	}
	c.b[count], c.b[count+1] = byte(x.count>>8), byte(x.count)
	c.end(start)
	if len(c.b)-len(b) > MaxOctets {
		return b, fmt.Errorf("%s: %w", kind, errTooLong)
	}
	return c.b, nil
}
