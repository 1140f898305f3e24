#!/usr/bin/env bash
# Runs the linters. Each closes with "name: N passed, N failed, N skipped" in what it counts: files,
# packages, or value sets of the chart. What failed is printed above that line.
#
#   hack/lint.sh [name …]       (no name: all of them)
#
# A linter whose program is missing is skipped and says how to get it; with CORE5G_TOOLS=required, as
# in CI, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
source hack/goflags.sh
bin=$PWD/out/bin
names=(gofmt vet staticcheck clang_format clang_tidy shellcheck helm_lint chart alerts dockerfiles repository licences vulnerabilities)
modules=(. hack/tools hack/multus hack/certificates hack/policies hack/registry hack/sriov hack/release hack/lint)
for mod in images/*/go.mod images/nf/sctp/go.mod; do modules+=("${mod%/go.mod}"); done

failed=()

# close <name> <passed> <failed> <skipped>
close() {
	printf '%s: %d passed, %d failed, %d skipped\n' "$@"
	(($3 == 0)) || failed+=("$1")
}

# missing <name> <program> <how to get it>: closes a linter that cannot run.
missing() {
	if [[ ${CORE5G_TOOLS-} == required ]]; then
		echo "$2 is missing: $3"
		close "$1" 0 1 0
	else
		echo "SKIP: $1: $2 is missing: $3"
		close "$1" 0 0 1
	fi
}

# tracked <pattern …>: files that git knows or would add, and that are there, one a line.
tracked() {
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r path; do [[ ! -f $path ]] || echo "$path"; done
}

# each <name> <command …> runs the command on one file after the other, read from standard input.
each() {
	local name=$1 good=0 bad=0 path
	shift
	while IFS= read -r path; do
		if "$@" "$path"; then good=$((good + 1)); else bad=$((bad + 1)); fi
	done
	close "$name" "$good" "$bad" 0
}

lint_gofmt() {
	local all bad
	all=$(tracked '*.go' | wc -l)
	bad=$(tracked '*.go' | xargs -r gofmt -l)
	[[ -z $bad ]] || while IFS= read -r path; do gofmt -d "$path" || true; done <<<"$bad"
	bad=$(grep -c . <<<"$bad" || true)
	close gofmt $((all - bad)) "$bad" 0
}

# packages <module>: how many Go packages a module has.
packages() { go list -C "$1" ./... 2>/dev/null | wc -l; }

lint_vet() {
	local good=0 bad=0 mod log count broken
	log=$(mktemp)
	for mod in "${modules[@]}"; do
		[[ -f $mod/go.mod ]] || continue
		count=$(packages "$mod")
		broken=0
		if ((count > 0)) && ! go vet -C "$mod" ./... >"$log" 2>&1; then
			echo "in $mod:"
			cat "$log"
			# vet names each package with a finding in a line of its own.
			broken=$(grep -c '^# ' "$log" || true)
			((broken > 0)) || broken=1
		fi
		good=$((good + count - broken)) bad=$((bad + broken))
	done
	rm -f "$log"
	close vet "$good" "$bad" 0
}

# checkable <module>: its packages but those that link Kubernetes itself. staticcheck wants facts of
# every dependency, minutes of them there, and such a package is only a main function; vet sees it.
checkable() {
	go list -C "$1" -f '{{.ImportPath}} {{join .Deps " "}}' ./... 2>/dev/null |
		grep -v ' k8s\.io/kubernetes/' | cut -d ' ' -f 1 || true
}

lint_staticcheck() {
	local good=0 bad=0 mod log broken packages
	# Pinned by hack/lint/go.mod; a second later when nothing changed.
	go build -C hack/lint -o "$bin/staticcheck" honnef.co/go/tools/cmd/staticcheck
	log=$(mktemp)
	for mod in "${modules[@]}"; do
		[[ -f $mod/go.mod ]] || continue
		mapfile -t packages < <(checkable "$mod")
		((${#packages[@]} > 0)) || continue
		broken=0
		if ! (cd "$mod" && "$bin/staticcheck" "${packages[@]}") >"$log" 2>&1; then
			echo "in $mod:"
			cat "$log"
			broken=$(sed -n 's|^\(.*\)/[^/]*\.go:[0-9].*|\1|p' "$log" | sort -u | wc -l)
			((broken > 0)) || broken=1
		fi
		good=$((good + ${#packages[@]} - broken)) bad=$((bad + broken))
	done
	rm -f "$log"
	close staticcheck "$good" "$bad" 0
}

c_files() { tracked 'upf/**.c' 'upf/**.h' | grep -v '/z[a-z_]*\.[ch]$' || true; }

lint_clang_format() {
	command -v clang-format >/dev/null || {
		missing clang_format clang-format "hack/install-tools.sh lint"
		return
	}
	each clang_format clang-format --dry-run --Werror < <(c_files)
}

# The compiler's flags are those of upf/Makefile.
tidy_flags() { make -C upf --no-print-directory -pn 2>/dev/null | sed -n 's/^CFLAGS_ALL := //p' | tail -n 1; }

# tidy_key <file>: a digest of what a finding depends on: clang-tidy, its rules, the flags, and every file that is read.
# Nothing where there is no clang to name these.
tidy_key() {
	local clang files
	clang=$(command -v clang clang-14 | head -n 1)
	[[ -n $clang ]] || return 0
	# shellcheck disable=SC2086 # the flags are words
	files=$(cd upf && "$clang" -M $TIDY_FLAGS "${1#upf/}" 2>/dev/null) || return 0
	files=$(sed 's/^[^:]*://; s/\\$//' <<<"$files" | tr -s ' ' '\n' | sort -u | sed '/^$/d')
	{
		clang-tidy --version
		echo "$TIDY_FLAGS"
		cat upf/upfu/.clang-tidy
		(cd upf && xargs -d '\n' sha256sum -- <<<"$files")
	} | sha256sum
}

# tidy_one <file> <folder for what it says>: a file in which nothing was found is looked at again when something has changed.
tidy_one() {
	local log=$2/${1//\//_} stamp=out/lint/clang_tidy/${1//\//_} key
	key=$(tidy_key "$1")
	[[ -z $key || ! -f $stamp || $(<"$stamp") != "$key" ]] || return 0
	# shellcheck disable=SC2086 # the flags are words
	if (cd upf && clang-tidy --quiet "${1#upf/}" -- $TIDY_FLAGS) >"$log" 2>&1; then
		[[ -z $key ]] || { mkdir -p "${stamp%/*}" && echo "$key" >"$stamp"; }
	else
		touch "$log.bad"
	fi
}

# upf-u, without its tests, fuzzers and benchmarks.
upf_u_sources() { c_files | grep '^upf/upfu/.*\.c$' | grep -v '^upf/upfu/\(test\|fuzz\|bench\)/'; }

lint_clang_tidy() {
	command -v clang-tidy >/dev/null || {
		missing clang_tidy clang-tidy "hack/install-tools.sh lint"
		return
	}
	pkg-config --exists libdpdk yaml-0.1 || {
		missing clang_tidy "a header of DPDK or libyaml" "hack/install-tools.sh upf"
		return
	}
	local logs all log bad=0
	logs=$(mktemp -d)
	all=$(upf_u_sources | wc -l)
	TIDY_FLAGS=$(tidy_flags)
	export TIDY_FLAGS
	export -f tidy_one tidy_key
	# Seconds for each file, so as many at a time as there are cores.
	upf_u_sources |
		xargs -P "$(nproc)" -I '{}' bash -c 'tidy_one "$@"' tidy_one '{}' "$logs"
	for log in "$logs"/*.bad; do
		[[ -e $log ]] || continue
		# It counts warnings in other people's headers too; they are nobody's here.
		grep -v 'warnings\? generated\|^Suppressed\|^Use -header' "${log%.bad}" || true
		bad=$((bad + 1))
	done
	rm -rf "$logs"
	close clang_tidy $((all - bad)) "$bad" 0
}

lint_shellcheck() {
	command -v shellcheck >/dev/null || {
		missing shellcheck shellcheck "hack/install-tools.sh lint"
		return
	}
	local path
	each shellcheck shellcheck --external-sources --source-path=SCRIPTDIR < <(
		tracked | while IFS= read -r path; do
			# A program's first bytes may hold a NUL; grep takes them as they are.
			if head -c 64 "$path" | head -n 1 | grep -aqE '^#!.*\b(ba|da|k)?sh\b'; then echo "$path"; fi
		done
	)
}

helm_lint_one() { "$bin/helm" lint --quiet --strict "${1%/testdata/*}" --values "$1"; }

lint_helm_lint() {
	[[ -x $bin/helm ]] || {
		missing helm_lint helm "make tools"
		return
	}
	each helm_lint helm_lint_one < <(tracked 'charts/*/testdata/*.values.yaml')
}

# The chart's tests need Helm, which is not there yet when CI runs the unit tests.
lint_chart() {
	[[ -x $bin/helm ]] || {
		missing chart helm "make tools"
		return
	}
	local log good bad status=0
	log=$(mktemp)
	HELM=$bin/helm go test -count=1 -v -skip 'Envtest|TestRules$' ./charts/... >"$log" 2>&1 || status=$?
	good=$(grep -cE '^ *--- PASS' "$log" || true)
	bad=$(grep -cE '^ *--- FAIL' "$log" || true)
	if ((status != 0)); then
		grep -v '^ *--- PASS\|^=== ' "$log" || true
		# What did not build, or died, fails without naming a test.
		((bad > 0)) || bad=1
	fi
	rm -f "$log"
	close chart "$good" "$bad" 0
}

# Alerts and recording rules of the chart, played by promtool. It is built where it has to be.
lint_alerts() {
	[[ -x $bin/helm ]] || {
		missing alerts helm "make tools"
		return
	}
	local log good bad status=0
	[[ -x $bin/promtool || ${CORE5G_TOOLS-} != required ]] || hack/tools/build.sh promtool
	[[ -x $bin/promtool ]] || {
		missing alerts promtool "hack/tools/build.sh promtool"
		return
	}
	log=$(mktemp)
	HELM=$bin/helm PROMTOOL=$bin/promtool go test -count=1 -v -run 'TestRules$' ./charts >"$log" 2>&1 || status=$?
	good=$(grep -cE '^ +--- PASS' "$log" || true)
	bad=$(grep -cE '^ +--- FAIL' "$log" || true)
	if ((status != 0)); then
		grep -v '^ *--- PASS\|^=== ' "$log" || true
		((bad > 0)) || bad=1
	fi
	rm -f "$log"
	close alerts "$good" "$bad" 0
}

# Pinned by hack/lint/go.mod, and parsed as a container engine would.
lint_dockerfiles() {
	go build -C hack/lint -o "$bin/dockerfiles" ./dockerfiles
	tracked 'images/**Dockerfile' | xargs -r "$bin/dockerfiles" || failed+=(dockerfiles)
}

# Its checks close with lines of their own.
lint_repository() { go run ./hack/repocheck || failed+=(repository); }

lint_licences() { go run ./hack/licences || failed+=(licences); }

lint_vulnerabilities() {
	# Pinned by hack/lint/go.mod.
	go build -C hack/lint -o "$bin/govulncheck" golang.org/x/vuln/cmd/govulncheck
	go run ./hack/vulnerabilities -govulncheck "$bin/govulncheck" || failed+=(vulnerabilities)
}

start=$SECONDS
wanted=("$@")
((${#wanted[@]} > 0)) || wanted=("${names[@]}")
for name in "${wanted[@]}"; do
	if ! declare -F "lint_$name" >/dev/null; then
		echo "lint: there is no linter $name; there are: ${names[*]}" >&2
		exit 2
	fi
done
for name in "${wanted[@]}"; do "lint_$name"; done
if ((${#failed[@]} > 0)); then
	echo "lint: failed after $((SECONDS - start)) s: ${failed[*]}"
	exit 1
fi
echo "lint: nothing found in $((SECONDS - start)) s"
