// Package suite holds the user stories that any cluster with core5g must pass: install, attach,
// slices at run time, isolation, refusals, healing, upgrade, uninstall. It talks to the cluster
// through kubectl and helm only, so it does not know which provider made it.
//
//	make e2e                                             the cluster of `make up`
//	CORE5G_CLUSTER=existing KUBECONFIG=… make e2e        any other
//	make e2e LAYOUT=Fused                                with the control plane in one pod
//	make e2e CONTROL_PLANE=Free5GC                       with free5GC's AMF and SMF
//
// A core that is served in another way is changed to the one that is named, by the first story.
//
// Files are named after their level: a story may rely on those of the levels before it. The last
// level uninstalls the release.
package suite
