#!/usr/bin/env bash
# One way to a Kubernetes cluster, whichever provides it.
#
#   hack/cluster.sh up                     bring it up, or find it up
#   hack/cluster.sh down                   remove every trace of it
#   hack/cluster.sh status                 0 when it is up and well
#   hack/cluster.sh kubeconfig             print the path of its kubeconfig
#   hack/cluster.sh load-image FILE…       give it images: docker archives, out/images/*.tar
#   hack/cluster.sh preflight              say in one sentence what this machine lacks, if anything
#
# CORE5G_CLUSTER chooses the provider:
#   embedded   (default) a single node on this Linux machine, without Docker and without a registry
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

usage() {
	sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

provider=${CORE5G_CLUSTER:-embedded}
case $provider in
embedded | kind | existing) ;;
*) say_and_fail "CORE5G_CLUSTER is \"$provider\"; it must be embedded, kind or existing." ;;
esac
# shellcheck source=hack/cluster/embedded.sh
source "$repo/hack/cluster/$provider.sh"

(($#)) || usage
command=$1
shift
case $command in
up | down | status | kubeconfig | preflight)
	(($# == 0)) || usage
	"cluster_$command"
	;;
load-image)
	(($#)) || usage
	for archive in "$@"; do
		[[ -f $archive ]] || say_and_fail "there is no image archive $archive; build it with out/bin/image first."
	done
	cluster_load_image "$@"
	;;
*) usage ;;
esac
