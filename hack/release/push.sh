#!/bin/sh
# Copies the images of this release to a registry, under their names and the release's version, with the digests
# that the chart pulls them by.
#
#   ./push.sh registry.example.org/core5g [image …]        (no image: all of them)
#
# It takes skopeo, oras or crane, whichever is here first; credentials are the program's own, as after `skopeo login`.
# PUSH_FLAGS are handed to it; for a registry without https that is --dest-tls-verify=false of skopeo, --to-plain-http of oras,
# --insecure of crane.
set -eu

fail() {
	echo "push: $*" >&2
	exit 1
}

[ $# -ge 1 ] || fail "name the registry and the path in it: ./push.sh registry.example.org/core5g"
registry=${1%/}
shift
cd "$(dirname "$0")"

tool=
for candidate in skopeo oras crane; do
	if command -v "$candidate" >/dev/null 2>&1; then
		tool=$candidate
		break
	fi
done
[ -n "$tool" ] || fail "neither skopeo, oras nor crane is here: install one of them (Debian: apt install skopeo)"

# push_one ARCHIVE REFERENCE VERSION
push_one() {
	# shellcheck disable=SC2086 # the flags are words
	case $tool in
	skopeo) skopeo copy --all --preserve-digests ${PUSH_FLAGS-} "oci-archive:$1:$3" "docker://$2" ;;
	oras) oras cp --from-oci-layout ${PUSH_FLAGS-} "$1:$3" "$2" ;;
	crane)
		layout=$(mktemp -d)
		tar -xf "$1" -C "$layout"
		status=0
		crane push ${PUSH_FLAGS-} "$layout" "$2" || status=$?
		rm -rf "$layout"
		return "$status"
		;;
	esac
}

pushed=0
for archive in images/*.oci.tar; do
	[ -f "$archive" ] || fail "no images/*.oci.tar beside this script"
	# A version may have a - in it, and so may a name: the manifest knows both.
	version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' manifest.json)
	name=$(basename "$archive" "-$version.oci.tar")
	if [ $# -gt 0 ]; then
		case " $* " in *" $name "*) ;; *) continue ;; esac
	fi
	echo "$registry/$name:$version"
	push_one "$archive" "$registry/$name:$version" "$version" || fail "$name could not be pushed with $tool"
	pushed=$((pushed + 1))
done
[ "$pushed" -gt 0 ] || fail "the release has none of: $*"
echo "push: $pushed images in $registry"
