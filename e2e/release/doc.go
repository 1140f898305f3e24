// Package release reads the files of a release, and installs a core from them alone, as docs/install.md says, by its own commands: with signatures and
// sums, push.sh and skopeo, a registry in the cluster, and no image on the node. A simulated phone pings through it. On the way two mistakes are made: an image
// is copied without its list of platforms, and a tag is moved.
//
//	make e2e-release
//
// It makes a release of HEAD for this architecture, and a cluster of its own, and takes the cluster down.
package release
