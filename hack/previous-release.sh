#!/usr/bin/env bash
# The release before this one, out of the history: what an upgrade starts from.
#
#   hack/previous-release.sh revision      print its commit
#   hack/previous-release.sh version       print its version
#   hack/previous-release.sh build         out/previous/release: the files that its own hack/release.sh makes
#
# It is restricted to what the story of an upgrade runs: images of this machine's architecture, without free5GC's AMF and SMF, one plug-in, no signature.
#
# Chart.yaml has the version of the release that is being made, so the previous release is the last commit
# with another version. CORE5G_PREVIOUS names another revision.
set -euo pipefail
cd "$(dirname "$0")/.."

# What the upgraded core does not run: the clusters' own images, the simulator, and what a core has with controlPlane: Free5GC or layout: Fused.
left_out=" cluster-dns pause ran amf smf control-plane "
out=$PWD/out/previous

fail() {
	echo "previous-release: $*" >&2
	exit 1
}

# chart_version <revision>
chart_version() { git show "$1:charts/core5g/Chart.yaml" | sed -n 's/^version: *//p'; }

revision() {
	local current bump
	if [[ -n ${CORE5G_PREVIOUS-} ]]; then
		git rev-parse --verify --quiet "$CORE5G_PREVIOUS^{commit}" ||
			fail "CORE5G_PREVIOUS is \"$CORE5G_PREVIOUS\", which this clone does not have: git fetch it, or name another"
		return
	fi
	git rev-parse --git-dir >/dev/null 2>&1 ||
		fail "this is no git clone, and the previous release is built from the history: clone the repository"
	current=$(sed -n 's/^version: *//p' charts/core5g/Chart.yaml)
	# A version that is not committed yet begins here.
	if [[ $(chart_version HEAD) != "$current" ]]; then
		git rev-parse HEAD
		return
	fi
	for bump in $(git log --format=%H -G'^version:' -- charts/core5g/Chart.yaml); do
		git rev-parse --verify --quiet "$bump^" >/dev/null || break # the beginning, or where a shallow clone ends
		if git cat-file -e "$bump^:charts/core5g/Chart.yaml" 2>/dev/null && [[ $(chart_version "$bump^") != "$current" ]]; then
			git rev-parse "$bump^"
			return
		fi
	done
	[[ $(git rev-parse --is-shallow-repository) == false ]] ||
		fail "the history of this clone is cut off before $current: git fetch --unshallow, or name a revision with CORE5G_PREVIOUS"
	fail "no commit has a version before $current: name a revision with CORE5G_PREVIOUS"
}

build() {
	local commit src version image images=()
	commit=$(revision)
	version=$(chart_version "$commit")
	if [[ -f $out/release/manifest.json && -f $out/commit && $(<"$out/commit") == "$commit" ]]; then
		echo "previous-release: $version (${commit:0:12}) is made already"
		return
	fi
	git cat-file -e "$commit:hack/release.sh" 2>/dev/null ||
		fail "$version (${commit:0:12}) has no hack/release.sh that would make a release of it: name a later revision with CORE5G_PREVIOUS"
	# What was never released is made as a candidate: a release has a section of the changes.
	git show "$commit:CHANGELOG.md" | grep -qxF "## $version" || version+=-rc.0
	echo "previous-release: making $version (${commit:0:12}) in out/previous"
	rm -rf "$out"
	src=$out/source
	# A repository of its own, of this one commit: the script releases what its HEAD is.
	git init --quiet "$src"
	git -C "$src" fetch --quiet --depth=1 "file://$PWD" "$commit"
	git -C "$src" checkout --quiet --detach FETCH_HEAD
	hack/tools/build.sh helm
	mkdir -p "$src/out/bin"
	ln -s "$PWD/out/bin/helm" "$src/out/bin/helm"
	while IFS= read -r image; do
		[[ $left_out == *" $image "* ]] || images+=("$image")
	done < <(git ls-tree -r --name-only "$commit" images | sed -n 's|^images/\([^/]*\)/image.yaml$|\1|p')
	# Flags as here: what both have is compiled once.
	(source hack/goflags.sh && cd "$src" && IMAGES="${images[*]}" ARCHS=$(go env GOHOSTARCH) PLUGINS=linux-$(go env GOHOSTARCH) \
		CORE5G_RELEASE_KEY='' PREVIOUS='' hack/release.sh "$version")
	mv "$src/out/release/$version" "$out/release"
	rm -rf "$src"
	echo "$commit" >"$out/commit"
}

case ${1-} in
revision) revision ;;
version) chart_version "$(revision)" ;;
build) build ;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '/^set/d' >&2
	exit 2
	;;
esac
