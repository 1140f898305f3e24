#!/usr/bin/env bash
# The release before this one, out of the history: what an upgrade starts from.
#
#   hack/previous-release.sh revision      print its commit
#   hack/previous-release.sh version       print its version
#   hack/previous-release.sh build         out/previous/chart, and out/previous/images/*.tar tagged :previous
#
# Chart.yaml has the version of the release that is being made, so the previous release is the last commit
# with another version. CORE5G_PREVIOUS names another revision.
set -euo pipefail
cd "$(dirname "$0")/.."

# What no installation runs: the clusters' own images and the simulator.
left_out=" cluster-dns pause ran "
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
	local commit src image present=()
	commit=$(revision)
	if [[ -f $out/commit && $(<"$out/commit") == "$commit" ]]; then
		echo "previous-release: $(chart_version "$commit") (${commit:0:12}) is built already"
		return
	fi
	echo "previous-release: building $(chart_version "$commit") (${commit:0:12}) in out/previous"
	rm -rf "$out"
	src=$out/source
	mkdir -p "$src"
	git archive "$commit" | tar -xf - -C "$src"
	# Of the clone around it the programs would otherwise say that they are.
	export GOFLAGS="${GOFLAGS-} -buildvcs=false -trimpath"
	make --no-print-directory -s -C "$src" nf bin
	make --no-print-directory -s -C "$src/images" database
	go build -C "$src" -o out/bin/ ./hack/image
	for image in "$src"/images/*/image.yaml; do
		image=$(basename "$(dirname "$image")")
		[[ $left_out == *" $image "* ]] || present+=("$image")
	done
	(cd "$src" && out/bin/image -tag previous "${present[@]}")
	cp -r "$src/charts/core5g" "$out/chart"
	mv "$src/out/images" "$out/images"
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
