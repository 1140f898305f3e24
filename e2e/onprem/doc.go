// Package onprem holds the user stories of UPFs on SR-IOV virtual functions, one on each socket of a server:
// placed, aligned and forwarding; short of room; with a VF taken away, a pod refused, a UPF killed, a unit
// drained, a node rebooted; and SCTP with a server's kernel. It talks to the cluster through kubectl, helm and `kubectl core5g`, and looks at
// nodes through a privileged pod of its own, so that it runs on an emulated server and on real ones alike:
//
//	make e2e-onprem                                            an emulated two-socket server on this machine
//	CORE5G_CLUSTER=existing KUBECONFIG=… CORE5G_E2E_ONPREM=1 go test -count=1 -v ./e2e/onprem     real servers
//
// settings.go lists what it can be told. Files are named after their level: a story may rely on those of the
// levels before it.
package onprem
