#!/usr/bin/env bash
# Fuzzers of the control plane, one after the other: a line for each, and 1 where one has found something, which go test leaves in its package's testdata/fuzz.
#
#   hack/fuzz.sh SECONDS PATTERN FOLDER …      (make fuzz-core FUZZ_SECONDS= FUZZ=)
#
# PATTERN chooses by name (FuzzNAS|FuzzNGAP), "" all. What was found interesting stands in Go's cache, and is gone on from next time.
set -euo pipefail
cd "$(dirname "$0")/.."

(($# >= 3)) || { echo "fuzz: write SECONDS PATTERN FOLDER …" >&2 && exit 2; }
seconds=$1 pattern=$2
shift 2
log=$(mktemp) status=0 ran=0
trap 'rm -f "$log"' EXIT
while IFS=: read -r file name; do
	[[ -z $pattern || $name =~ ^($pattern)$ ]] || continue
	package=$(dirname "$file") ran=$((ran + 1))
	result=passed
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" "./$package" >"$log" 2>&1 || { result=failed status=1; }
	echo "fuzz=$package.$name seconds=$seconds executions=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -1 | grep . || echo 0) result=$result"
	[[ $result == passed ]] || grep -v '^fuzz: elapsed' "$log"
done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' "$@" | sed 's/:[0-9]*:func /:/' | sort)
((ran > 0)) || { echo "fuzz: there is no fuzzer ${pattern:-at all} in $*" >&2 && exit 2; }
exit $status
