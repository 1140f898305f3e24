// Release makes the files of a release out of what hack/release.sh has built, and checks such files.
//
//	release assemble -version 1.2.3 …     images, chart, plug-in, manifest, sums and, with a key, signatures
//	release verify [-key core5g.pub] FOLDER
//	release key FILE                       a new key: the secret half in FILE, the public one in FILE.pub
//
// Nothing here compiles, and nothing speaks to a registry. Each image becomes one OCI archive with an index of its
// platforms; the chart takes images by the digests of these indexes, which are the same in every registry that they are
// copied to. SHA256SUMS names every file, manifest.json says what they are, and both are signed as minisign does
// (docs/adr/0018). The same inputs give the same files, to the octet: entries are sorted, times are zero, and nothing
// says when or where it was made.
package main
