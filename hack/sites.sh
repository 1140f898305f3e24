#!/usr/bin/env bash
# Two embedded clusters on this machine, beside the usual one: a centre for a core, and an edge for an operator and UPF units alone, each with the
# images that it needs. `make e2e-edge` has its story on them.
#
#   hack/sites.sh up
#   hack/sites.sh down
#
# They are named clusters (CORE5G_INSTANCE in hack/README.md), centre and edge: `CORE5G_INSTANCE=edge hack/cluster.sh kubeconfig`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CORE5G_CLUSTER=embedded CORE5G_HUGEPAGES=${CORE5G_HUGEPAGES:-320} # a unit of 512 MiB, and a few

declare -A address=([centre]=10.213.0.65 [edge]=10.213.0.69)
declare -A images=(
	[edge]="operator node-agent upf-u upf-c ran"
	[centre]="operator node-agent upf-u upf-c ran nrf pcf chf database subscriber-data session-management access-management session-store"
)

of_site() {
	local site=$1
	shift
	CORE5G_INSTANCE=$site CORE5G_HOST_IP=${address[$site]} hack/cluster.sh "$@"
}

up() {
	local site archives
	for site in centre edge; do
		read -ra archives <<<"${images[$site]}"
		archives=("${archives[@]/#/out/images/}")
		of_site "$site" up
		of_site "$site" load-image "${archives[@]/%/.tar}"
	done
}

down() {
	local site
	for site in edge centre; do
		of_site "$site" down
	done
}

case ${1:-} in
up | down) "$1" ;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
	;;
esac
