// Package ran and the packages below it are the simulated radio access network of the end-to-end
// tests: gNBs (gnb) with their N2 (n2) and N3 (gtpu), and UEs (ue) with their USIM (usim) and NAS
// (uenas), which make their sessions usable by ordinary programs through TUN devices (tun). The
// program is e2e/cmd/ran.
package ran
