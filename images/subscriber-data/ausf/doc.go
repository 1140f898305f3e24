// Package ausf serves Nausf_UEAuthentication (TS 29.509) with 5G-AKA (TS 33.501 6.1.3.2), and does for
// itself what the UDM and the ARPF do behind it: SUCI de-concealment and authentication vectors.
package ausf
