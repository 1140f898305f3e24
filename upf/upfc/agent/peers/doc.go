// Package peers knows the GTP-U peers of this UPF, gNBs and UPFs behind N9: whether the paths to them work (TS 29.281
// 7.2, Echo), and which of their Error Indications are news. upf-u sends and hears for it.
//
// It knows no session. Package agent hands it as functions (Owner) whose tunnels there are, and who tells CP
// functions what becomes of the paths. Beside it those import this package who show peers: control and metrics.
package peers
