// Package aka computes 5G-AKA authentication vectors (TS 33.501 6.1.3.2 and Annex A) from a
// subscriber's long-term key with Milenage (TS 35.206), and issues the sequence numbers that go into
// them without storing any (TS 33.102 Annex C).
package aka
