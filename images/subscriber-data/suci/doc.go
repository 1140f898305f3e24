// Package suci turns a subscription concealed identifier into a SUPI (TS 33.501 6.12 and Annex C): the
// null scheme, and ECIES with Profile A (Curve25519) and Profile B (secp256r1).
package suci
