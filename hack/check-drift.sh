#!/usr/bin/env bash
# Fails, with the difference, when a generated file is not what its generator makes. The generators
# run on a copy of the work tree, which stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Tracked files, and new ones that are not ignored; one that was deleted is not copied.
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' path; do [[ ! -e $path ]] || printf '%s\0' "$path"; done |
	tar --null --files-from=- -cf - | tar -xf - -C "$copy"
# A second copy of what is there now, to compare with.
cp -r "$copy" "$copy.before"
trap 'rm -rf "$copy" "$copy.before"' EXIT

CONTROLLER_GEN=${CONTROLLER_GEN:-$root/out/bin/controller-gen} "$copy/hack/generate.sh"

if (cd "$copy.before" && diff --recursive --unified --new-file . "$copy"); then
	echo "drift: 1 passed, 0 failed"
else
	echo "generated files differ from what their generators make: run \`make generate\` and commit"
	echo "drift: 0 passed, 1 failed"
	exit 1
fi
