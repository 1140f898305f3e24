#!/usr/bin/env bash
# Builds the programs that core5g needs beside its own, from Go modules with pinned versions.
#
#   hack/tools/build.sh [part …]      (no part: all of them)
#
#   kube      out/bin/kube: Kubernetes and etcd in one file; links kubectl and envtest/ to it
#   kubectl   out/bin/kubectl alone, for clusters that are not built here
#   helm      out/bin/helm
#   codegen   out/bin/controller-gen
#   cni       out/cni/: the CNI plug-ins
#   multus    out/cni/multus
#   cluster   out/bin/: embedded, cluster-dns, pause and image, core5g's own
#
# What is built only when it is named:
#
#   promtool  out/bin/promtool, which tests alerts and rules
#   onprem    out/bin/trunk, a cable of the emulated server (hack/onprem)
#   monitoring, certificates, policies, registry, sriov
#             out/bin/prerequisites/: what `hack/cluster.sh prerequisites` runs in a cluster, and the
#             definitions of its custom resources, out/prerequisites/<part>-crds.yaml
#
# Cold, kube takes 8 minutes of two cores. A part whose inputs have not changed is passed over at once.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=$repo/out/bin
cni=$repo/out/cni
stamps=$repo/out/stamps
export CGO_ENABLED=0
source "$repo/hack/goflags.sh"

module_version() { sed -nE "s|^(require)?[[:space:]]*$2 (v[^ ]*).*|\2|p" "$1/go.mod" | head -n 1; }

# kube_ldflags sets the versions that Kubernetes' and helm's own build scripts set.
kube_ldflags() {
	local kube helm minor package flags="-s -w"
	kube=$(module_version "$repo/hack/tools" k8s.io/kubernetes)
	helm=$(module_version "$repo/hack/tools" helm.sh/helm/v3)
	minor=$(cut -d. -f2 <<<"$kube")
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		flags+=" -X $package.gitVersion=$kube -X $package.gitMajor=1 -X $package.gitMinor=$minor"
		flags+=" -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
	done
	flags+=" -X helm.sh/helm/v3/internal/version.version=$helm"
	for package in helm.sh/helm/v3/pkg/lint/rules helm.sh/helm/v3/pkg/chartutil; do
		flags+=" -X $package.k8sVersionMajor=1 -X $package.k8sVersionMinor=$minor"
	done
	echo "$flags"
}

# inputs prints a digest of what a part is built from: the module's versions, its own sources, the flags,
# the compiler. The sources of other modules are fixed by go.sum.
inputs() {
	local dir=$1
	shift
	{
		go env GOVERSION GOOS GOARCH GOFLAGS
		echo "$@"
		cat "$dir/go.mod" "$dir/go.sum"
		local source
		for source in "$@"; do
			[[ $source == . || $source == ./* ]] && (cd "$dir" && find "$source" -type f -print0 | sort -z | xargs -0 sha256sum)
		done
		true
	} | sha256sum
}

# build PART MODULE-DIR OUT LDFLAGS PACKAGE… builds unless the inputs are those of the last build.
build() {
	local part=$1 dir=$2 out=$3 ldflags=$4
	shift 4
	local stamp=$stamps/$part now package total made=true
	now=$(inputs "$dir" "$ldflags" "$@")
	for package in "$@"; do
		# The package at the module's root is called as the module is.
		[[ $package != . ]] || package=$(sed -n 's/^module //p' "$dir/go.mod")
		[[ -e $out/$(basename "$package") ]] || made=false
	done
	if $made && [[ -f $stamp && $(<"$stamp") == "$now" ]]; then
		return 0
	fi
	mkdir -p "$out" "$stamps"
	rm -f "$stamp"
	echo "building $part" >&2
	# -v names a package when its compilation begins, which gives the progress. pipefail keeps the exit
	# status of the compiler.
	total=$(cd "$dir" && go list -deps "$@" | wc -l)
	(cd "$dir" && nice -n 5 go build -v -ldflags "$ldflags" -o "$out/" "$@" 2>&1) | progress "$part" "$total"
	echo "$now" >"$stamp"
}

# progress PART TOTAL shows how far a long compilation is, and every line that is no package name.
progress() {
	local part=$1 total=$2 count=0 begin=$SECONDS shown=$SECONDS line
	while IFS= read -r line; do
		if [[ $line =~ ^[a-zA-Z0-9_./~-]+$ ]]; then
			count=$((count + 1))
			if ((SECONDS - shown >= 10)); then
				shown=$SECONDS
				echo "  $part: $count of at most $total packages compiled, $((SECONDS - begin)) s"
			fi
		elif [[ $line != "go: downloading "* ]]; then
			echo "$line"
		fi
	done
	((SECONDS - begin < 10)) || echo "  $part: done, $count packages compiled in $((SECONDS - begin)) s"
} >&2

build_kube() {
	# One compilation for all that shares Kubernetes' libraries.
	build kube "$repo/hack/tools" "$bin" "$(kube_ldflags)" ./cmd/kube
	ln -sfn kube "$bin/kubectl"
	mkdir -p "$bin/envtest"
	local name
	for name in kube-apiserver etcd kubectl; do
		ln -sfn ../kube "$bin/envtest/$name"
	done
}

build_kubectl() {
	# Never through the link to kube.
	[[ ! -L $bin/kubectl ]] || rm "$bin/kubectl"
	build kubectl "$repo/hack/tools" "$bin" "$(kube_ldflags)" k8s.io/kubernetes/cmd/kubectl
}

build_helm() { build helm "$repo/hack/tools" "$bin" "$(kube_ldflags)" helm.sh/helm/v3/cmd/helm; }

build_codegen() { build codegen "$repo/hack/tools" "$bin" "-s -w" sigs.k8s.io/controller-tools/cmd/controller-gen; }

build_cni() {
	local plugins
	mapfile -t plugins < <(sed -n 's|^[[:space:]]*\(github.com/containernetworking/plugins/plugins/.*\)|\1|p' "$repo/hack/tools/go.mod")
	build cni "$repo/hack/tools" "$cni" "-s -w" "${plugins[@]}"
}

build_multus() {
	local module=gopkg.in/k8snetworkplumbingwg/multus-cni.v4 version
	version=$(module_version "$repo/hack/multus" "$module")
	build multus "$repo/hack/multus" "$cni" "-s -w -X $module/pkg/multus.version=$version" "$module/cmd/multus"
}

# prometheus_flags leaves out service discovery but that of Kubernetes.
prometheus_flags() { echo "$(go env GOFLAGS) -tags=remove_all_sd,enable_kubernetes_sd"; }

# prometheus_ldflags makes v0.315.0 of the module say 3.15.0, as the release does.
prometheus_ldflags() {
	local version
	version=$(module_version "$repo/hack/prometheus" github.com/prometheus/prometheus)
	[[ $version =~ ^v0\.([0-9]+)([0-9]{2})\.([0-9]+)$ ]] || {
		echo "build: Prometheus $version: what release is that?" >&2
		return 1
	}
	echo "-s -w -X github.com/prometheus/common/version.Version=${BASH_REMATCH[1]}.$((10#${BASH_REMATCH[2]})).${BASH_REMATCH[3]}"
}

# definitions NAME MODULE-DIR MODULE FILE… collects custom resource definitions out of a module.
definitions() {
	local name=$1 folder file
	folder=$(go list -C "$2" -m -f '{{.Dir}}' "$3")
	shift 3
	mkdir -p "$repo/out/prerequisites"
	for file in "$@"; do
		printf -- '---\n'
		cat "$folder/$file"
	done >"$repo/out/prerequisites/$name-crds.yaml"
}

build_promtool() {
	GOFLAGS=$(prometheus_flags) build promtool "$repo/hack/prometheus" "$bin" "$(prometheus_ldflags)" \
		github.com/prometheus/prometheus/cmd/promtool
}

build_monitoring() {
	GOFLAGS=$(prometheus_flags) build prometheus "$repo/hack/prometheus" "$bin/prerequisites" "$(prometheus_ldflags)" \
		github.com/prometheus/prometheus/cmd/prometheus
	local operator=github.com/prometheus-operator/prometheus-operator version kind files=()
	version=$(module_version "$repo/hack/monitoring" "$operator")
	build prometheus-operator "$repo/hack/monitoring" "$bin/prerequisites" \
		"-s -w -X github.com/prometheus/common/version.Version=${version#v}" \
		"$operator/cmd/operator" "$operator/cmd/prometheus-config-reloader"
	for kind in podmonitors probes prometheuses prometheusrules scrapeconfigs servicemonitors; do
		files+=("example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml")
	done
	definitions monitoring "$repo/hack/monitoring" "$operator" "${files[@]}"
}

build_certificates() {
	local module=github.com/cert-manager/cert-manager
	build certificates "$repo/hack/certificates" "$bin/prerequisites" \
		"-s -w -X $module/pkg/util.AppVersion=$(module_version "$repo/hack/certificates" "$module")" .
	definitions certificates "$repo/hack/certificates" "$module" \
		deploy/crds/cert-manager.io_{certificaterequests,certificates,clusterissuers,issuers}.yaml \
		deploy/crds/acme.cert-manager.io_{challenges,orders}.yaml
}

build_policies() { build policies "$repo/hack/policies" "$bin/prerequisites" "-s -w" .; }

build_registry() {
	local module=github.com/distribution/distribution/v3
	build registry "$repo/hack/registry" "$bin/prerequisites" \
		"-s -w -X $module/version.version=$(module_version "$repo/hack/registry" "$module")" .
}

build_sriov() {
	build sriov "$repo/hack/sriov" "$bin/prerequisites" "-s -w" \
		github.com/k8snetworkplumbingwg/sriov-network-device-plugin/cmd/sriovdp
}

build_cluster() {
	build cluster "$repo/hack/tools" "$bin" "-s -w" ./cmd/embedded ./cmd/cluster-dns
	build image "$repo" "$bin" "-s -w" ./hack/image
	build pause "$repo" "$bin" "-s -w" ./images/pause
}

build_onprem() { build onprem "$repo" "$bin" "-s -w" ./hack/onprem/trunk; }

main() {
	command -v go >/dev/null || {
		echo "build: Go is missing; install Go $(sed -n 's/^go //p' "$repo/go.mod") or later and put it in PATH" >&2
		return 1
	}
	local part
	(($#)) || set -- kube helm codegen cni multus cluster
	for part in "$@"; do
		case $part in
		kube | kubectl | helm | codegen | cni | multus | cluster) "build_$part" ;;
		promtool | monitoring | certificates | policies | registry | sriov | onprem) "build_$part" ;;
		*)
			echo "usage: hack/tools/build.sh [kube|kubectl|helm|codegen|cni|multus|cluster|promtool|monitoring|certificates|policies|registry|sriov|onprem …]" >&2
			return 2
			;;
		esac
	done
}

main "$@"
