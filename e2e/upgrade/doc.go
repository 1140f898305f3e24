// Package upgrade takes a cluster from the previous release to this one and back, with a UE attached and
// packets on their way. The previous release is the files that `make release` of its last commit makes (hack/previous-release.sh): chart and images
// by digest. This one's are those of `make up`.
//
//	make e2e-upgrade
//	make e2e-apart	hands the release's operator to a release of its own, and takes it back (TestApart)
//	make e2e-restore	backs a core up, empties its namespace and puts it back (TestRestore)
//
// It replaces the release that it finds in namespace core5g, and leaves this version behind.
package upgrade
