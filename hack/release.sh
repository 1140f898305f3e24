#!/usr/bin/env bash
# Makes a release of what is committed (HEAD) in out/release/<version>: images for both architectures as OCI
# archives, the charts that take them by digest, the kubectl plug-in, the UPF's Debian package, bills of materials, licences, documents, sums.
#
#   hack/release.sh 1.2.3          (a release candidate: 1.2.3-rc.1)
#   hack/release.sh --twice 1.2.3  made twice from folders of different names, with another time zone and umask, and
#                                  compared to the octet
#
# Environment:
#   CORE5G_RELEASE_KEY   file of a minisign secret key (minisign -G, or out/bin/release key FILE) that signs;
#                        CORE5G_RELEASE_KEY_PASSWORD if it has one. Without it the release is not signed, and says so
#   CORE5G_RELEASE_URL   where the files will be, for krew's manifest
#   PREVIOUS             manifest.json of the release before, whose images an upgrade goes on with for a while
#   IMAGES ARCHS PLUGINS fewer of them, to try it: IMAGES="pause operator" ARCHS=amd64 PLUGINS=linux-amd64. The Debian package
#                        core5g-upf is made for ARCHS where IMAGES has upf-u and upf-c, whose programs are in it
#   CORE5G_MAINTAINER    who answers for that package: Name <address>
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD
source hack/goflags.sh
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS-} -buildvcs=false"
native=$(go env GOHOSTARCH)

fail() {
	echo "release: $*" >&2
	exit 1
}

twice=false
if [[ ${1-} == --twice ]]; then
	twice=true
	shift
fi
version=${1-}
[[ $# == 1 && -n $version ]] || fail "name the version: make release VERSION=1.2.3"
in_chart=$(git show HEAD:charts/core5g/Chart.yaml | sed -n 's/^version: *//p')
[[ ${version%%-*} == "$in_chart" ]] ||
	fail "VERSION is $version, and charts/core5g/Chart.yaml of HEAD says $in_chart: commit the version that is to be released, or ask for $in_chart or $in_chart-rc.1"
[[ $version == *-* ]] || git show HEAD:CHANGELOG.md | grep -qxF "## $version" ||
	fail "CHANGELOG.md of HEAD has no section \"## $version\": write it and commit"
[[ -z ${PREVIOUS-} || -f $PREVIOUS ]] || fail "PREVIOUS is \"$PREVIOUS\", which is not there: name a release's manifest.json"
[[ -z $(git status --porcelain) ]] || echo "release: of HEAD; what is not committed is not in it" >&2
out=$repo/out/release/$version
if [[ -e $out ]]; then
	[[ -f $out/manifest.json || -z $(ls -A "$out") ]] || fail "$out has files that are no release: move them away"
	rm -rf "$out"
fi

mapfile -t all < <(git ls-tree -r --name-only HEAD images | sed -n 's|^images/\([^/]*\)/image.yaml$|\1|p' | sort)
read -r -a images <<<"${IMAGES:-${all[*]}}"
for image in "${images[@]}"; do
	[[ " ${all[*]} " == *" $image "* ]] || fail "IMAGES: no images/$image/image.yaml; there are: ${all[*]}"
done
read -r -a archs <<<"${ARCHS:-amd64 arm64}"
read -r -a plugins <<<"${PLUGINS:-linux-amd64 linux-arm64 darwin-amd64 darwin-arm64}"

[[ -x out/bin/helm ]] || hack/tools/build.sh helm
go build -o out/bin/image ./hack/image
go build -C hack/release -o "$repo/out/bin/release" .

# of_the_system <image>: whether files of Debian packages go into it.
of_the_system() { git show "HEAD:images/$1/image.yaml" | grep -qE '^libs:|from: "?/'; }

sections=()
for image in "${images[@]}"; do
	while IFS= read -r section; do sections+=("$section"); done < <(
		git show "HEAD:images/$image/image.yaml" | sed -n 's/^build:.*sections: \[\(.*\)\].*/\1/p' | tr -d ' ' | tr , '\n'
	)
done
foreign_root=false
for arch in "${archs[@]}"; do
	[[ $arch != "$native" ]] || continue
	for image in "${images[@]}"; do
		if of_the_system "$image"; then foreign_root=true; fi
	done
	! $foreign_root || sections+=("$arch")
	! $foreign_root || hack/sysroot.sh "$arch"
done
((${#sections[@]} == 0)) || hack/install-tools.sh "${sections[@]}"

# build_arch <work> <arch>: programs and archives of the images, and their bills.
build_arch() {
	local work=$1 arch=$2 built=$1/built/images/linux-$2 image log
	local flags=(-root "$work/source" -arch "$arch")
	if [[ $arch != "$native" ]]; then
		mkdir -p "$work/source/out/$arch"
		# Hard links: files of the system are read alone.
		if $foreign_root; then cp -al "$repo/out/$arch/root" "$work/source/out/$arch/root"; else mkdir "$work/source/out/$arch/root"; fi
	fi
	log=$work/$arch.log
	for image in "${images[@]}"; do
		if ! out/bin/image "${flags[@]}" -programs "$image" >"$log" 2>&1; then
			# The recipe says that its sources are not for this platform: that is named. All else is a failure.
			if grep -q 'its sources compile for' "$log"; then
				echo "$image linux/$arch $(sed -n 's/.*\(its sources compile for.*\)/\1/p' "$log")" >>"$work/built/left-out"
				continue
			fi
			tail -n 30 "$log" >&2
			fail "the programs of $image could not be built for $arch"
		fi
		out/bin/image "${flags[@]}" -tag "$version" -out "$built" "$image"
		# What is in the archive need not lie here twice; the database's jars have licences in them.
		find "$work/source/out" \( -path '*/bin/database' -o -path '*/root' \) -prune -o -type f -path '*/bin/*' -exec rm -f {} +
	done
}

# make_package <work> <arch>: the Debian package of the UPF, and its bill.
make_package() {
	local work=$1 arch=$2 programs=$1/source/out/bin root=() deb
	if [[ $arch != "$native" ]]; then
		programs=$work/source/out/$arch/bin root=("$work/source/out/$arch/root")
	fi
	if ! out/bin/image -root "$work/source" -arch "$arch" -programs upf-u upf-c >"$work/$arch.log" 2>&1; then
		tail -n 30 "$work/$arch.log" >&2
		fail "the programs of the Debian package could not be built for $arch"
	fi
	deb=$(SOURCE_DATE_EPOCH=$(git log -1 --format=%ct HEAD) "$work/source/hack/package.sh" "$version" "$arch" "$programs" "$work/built/packages" "${root[@]}")
	out/bin/image -tag "$version" -bill "$deb"
}

# make_release <work folder> <folder for the files>
make_release() {
	local work=$1 to=$2 image arch plugin
	rm -rf "$work"
	mkdir -p "$work/source" "$work/built/images"
	git archive HEAD | tar -xf - -C "$work/source"
	for image in "${all[@]}"; do
		[[ " ${images[*]} " == *" $image "* ]] || echo "$image all left out by IMAGES" >>"$work/built/left-out"
	done
	for arch in amd64 arm64; do
		[[ " ${archs[*]} " == *" $arch "* ]] ||
			for image in "${images[@]}"; do echo "$image linux/$arch left out by ARCHS" >>"$work/built/left-out"; done
	done
	for arch in "${archs[@]}"; do build_arch "$work" "$arch"; done
	for arch in amd64 arm64; do
		if [[ " ${archs[*]} " == *" $arch "* && " ${images[*]} " == *" upf-u "* && " ${images[*]} " == *" upf-c "* ]]; then
			make_package "$work" "$arch"
		else
			echo "core5g-upf.deb linux/$arch left out by IMAGES or ARCHS" >>"$work/built/left-out"
		fi
	done
	for plugin in "${plugins[@]}"; do
		GOOS=${plugin%-*} GOARCH=${plugin#*-} go build -C "$work/source" -ldflags '-s -w' \
			-o "$work/built/plugin/$plugin/kubectl-core5g" ./operators/cmd/kubectl-core5g
		out/bin/image -tag "$version" -bill "$work/built/plugin/$plugin/kubectl-core5g"
	done
	(cd "$work/source" && go run ./hack/licences -texts "$work/built/licences" -images "$work/built/images")
	out/bin/release assemble -version "$version" -commit "$(git rev-parse HEAD)" -source "$work/source" -built "$work/built" \
		-helm "$repo/out/bin/helm" -previous "${PREVIOUS-}" -url "${CORE5G_RELEASE_URL-}" -out "$work/files"
	mkdir -p "$(dirname "$to")"
	mv "$work/files" "$to"
	rm -rf "$work"
}

work=$repo/out/release.work
trap 'rm -rf "$work"' EXIT
if ! $twice; then
	make_release "$work/one" "$out"
	exit
fi
(umask 022 && TZ=UTC make_release "$work/one" "$out")
(umask 002 && TZ=Asia/Kolkata make_release "$work/another/folder" "$work/again")
if ! diff --recursive --brief "$out" "$work/again"; then
	diff "$out/SHA256SUMS" "$work/again/SHA256SUMS" || true
	echo "release: 0 passed, 1 failed"
	fail "it is not the same twice"
fi
echo "release: $(wc -l <"$out/SHA256SUMS") passed, 0 failed"
