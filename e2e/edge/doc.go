// Package edge holds the stories of docs/upf/external.md. An edge site without Kubernetes lives by those of the Debian package core5g-upf: installed on a
// bare Debian 12 beside this machine, its two programs run as their units say, and N4 through a WireGuard tunnel to an SMF in
// another network namespace, with somebody who listens on the link between. TestSites has an edge that is a cluster, and a centre that is another one.
//
//	make e2e-edge
//
// It needs root. systemd does not run here: it judges the units (systemd-analyze), and what they say of user, capabilities and
// environment is done by setpriv. AppArmor's profiles are parsed; whether a kernel keeps them is not seen.
package edge
