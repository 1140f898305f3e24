#!/usr/bin/env bash
# Builds images twice, from two copies of the sources in folders of different names, with another time zone
# and another umask, and fails unless both are the same to the octet: an image depends on its sources
# alone, and whoever doubts one can build it again.
#
#   hack/reproduce.sh [image …]     (no image: all, those of prerequisites too: prerequisites/prometheus)
#
# Go's compiler and its cache, the C compiler and the Debian packages are this machine's in both.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/goflags.sh

images=("$@")
if ((${#images[@]} == 0)); then
	mapfile -t images < <(find images -name image.yaml | sed 's|images/\(.*\)/image.yaml|\1|' | sort)
fi

copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
go build -o "$copies/image" ./hack/image

# Both copies are of one moment: the work tree, as git knows it, may change meanwhile.
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' path; do [[ ! -e $path ]] || printf '%s\0' "$path"; done |
	tar --null --files-from=- -cf "$copies/sources.tar"

# build FOLDER: the images, from a copy of the sources in it.
build() {
	local copy=$1
	mkdir -p "$copy"
	tar -xf "$copies/sources.tar" -C "$copy"
	local image recipes
	for image in "${images[@]}"; do
		recipes=$(dirname "images/$image")
		{
			"$copies/image" -root "$copy" -recipes "$recipes" -programs "$(basename "$image")" &&
				"$copies/image" -root "$copy" -recipes "$recipes" "$(basename "$image")"
		} >"$copy.log" 2>&1 || {
			tail -n 30 "$copy.log" >&2
			return 1
		}
	done
}
(umask 022 && TZ=UTC build "$copies/one")
(umask 002 && TZ=Asia/Kolkata build "$copies/another/folder")

good=0 bad=0
for image in "${images[@]}"; do
	one=$copies/one/out/images/$image
	other=$copies/another/folder/out/images/$image
	if cmp -s "$one.tar" "$other.tar" && cmp -s "$one.cdx.json" "$other.cdx.json"; then
		good=$((good + 1))
		continue
	fi
	bad=$((bad + 1))
	echo "image $image is not the same twice:"
	# The bill of materials has the digest of every file.
	diff "$one.cdx.json" "$other.cdx.json" || true
done
echo "reproduce: $good passed, $bad failed"
((bad == 0))
