#!/usr/bin/env bash
# One way to a Kubernetes cluster, whichever provides it.
#
#   hack/cluster.sh up                     bring it up, or find it up
#   hack/cluster.sh down [--force]         remove every trace of it (--force: also of a clone that is gone)
#   hack/cluster.sh status                 0 when it is up and well
#   hack/cluster.sh kubeconfig             print the path of its kubeconfig
#   hack/cluster.sh load-image FILE…       give it images: docker archives, out/images/*.tar, or those of a release
#   hack/cluster.sh node off|cut|on NAME   kill all processes of a further node (CORE5G_NODES), pull its cables
#                                          out, or have it up again; of the embedded cluster
#   hack/cluster.sh prerequisites PART…    what core5g uses where a cluster has it: monitoring (Prometheus and
#                                          its operator), certificates (cert-manager), policies (an enforcer
#                                          of NetworkPolicies), registry (of container images)
#   hack/cluster.sh preflight              say in one sentence what this machine lacks, if anything
#
# CORE5G_CLUSTER chooses the provider:
#   embedded   (default) a node, or CORE5G_NODES, on this Linux machine, without Docker and without a registry
#   kind       kind, where a Docker engine can pull its node image
#   existing   the cluster of KUBECONFIG
# What each can be told is in hack/README.md.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# say_and_fail ends with the one sentence that the user needs.
say_and_fail() {
	echo "core5g: $*" >&2
	exit 1
}

# ensure_kubectl provides out/bin/kubectl where no Kubernetes is built.
ensure_kubectl() {
	local found
	[[ ! -x $repo/out/bin/kubectl ]] || return 0
	if found=$(command -v kubectl); then
		mkdir -p "$repo/out/bin"
		ln -sfn "$found" "$repo/out/bin/kubectl"
	else
		"$repo/hack/tools/build.sh" kubectl
	fi
}

# require_go says so when the Go that go.mod asks for is not here.
require_go() {
	local want have
	want=$(sed -n 's/^go //p' "$repo/go.mod")
	command -v go >/dev/null ||
		say_and_fail "Go is missing; install Go $want or later from https://go.dev/dl and put it in PATH."
	# In a directory without go.mod, so that it is the installed Go that answers.
	have=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
	have=${have#go}
	[[ $(go env GOTOOLCHAIN) != local || $(printf '%s\n' "$want" "${have%% *}" | sort -V | head -n 1) == "$want" ]] ||
		say_and_fail "Go $have is too old; install Go $want or later from https://go.dev/dl and put it in PATH."
}

usage() {
	sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

provider=${CORE5G_CLUSTER:-embedded}
case $provider in
embedded | kind | existing) ;;
*) say_and_fail "CORE5G_CLUSTER is \"$provider\"; it must be embedded, kind or existing." ;;
esac
# shellcheck source=/dev/null
source "$repo/hack/cluster/$provider.sh"

# shellcheck source=hack/cluster/prerequisites.sh
source "$repo/hack/cluster/prerequisites.sh"

(($#)) || usage
command=$1
shift
case $command in
up | status | kubeconfig | preflight)
	(($# == 0)) || usage
	"cluster_$command"
	;;
down)
	[[ $# == 0 || ($# == 1 && $1 == --force) ]] || usage
	cluster_down "$@"
	;;
load-image)
	(($#)) || usage
	for archive in "$@"; do
		[[ -f $archive ]] || say_and_fail "there is no image archive $archive; build it with out/bin/image first."
	done
	cluster_load_image "$@"
	;;
node)
	(($# == 2)) || usage
	[[ $provider == embedded ]] || say_and_fail "nodes die and come back in the embedded cluster alone (CORE5G_CLUSTER is $provider)."
	cluster_node "$@"
	;;
prerequisites)
	(($#)) || usage
	cluster_prerequisites "$@"
	;;
*) usage ;;
esac
