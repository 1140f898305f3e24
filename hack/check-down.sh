#!/usr/bin/env bash
# Takes the cluster down and looks for what it may have left: processes, mounts, links, network
# namespaces and control groups. The embedded provider only; the others own their clusters. What belongs to a
# cluster of another clone (CORE5G_INSTANCE) is not of this one.
set -euo pipefail
cd "$(dirname "$0")/.."
instance=${CORE5G_INSTANCE:-}
[[ ! -f out/cluster/instance ]] || instance=$(<out/cluster/instance)
own=core5g${instance:+-$instance}
make down
if [[ ${CORE5G_CLUSTER:-embedded} != embedded ]]; then
	exit 0
fi

# others prints the control groups of other clusters, and with the argument "links" their links.
others() {
	local group name
	while read -r group; do
		name=${group##*/}
		[[ $name != "$own" ]] || continue
		if [[ ${1-} == links ]]; then
			name=${name#core5g}
			echo "c5g-${name:+${name#-}}"
		else
			echo "$name"
		fi
	done < <(find /sys/fs/cgroup -maxdepth 2 -type d -name 'core5g*' 2>/dev/null) | sed 's/^c5g-$/c5g-host/' | sort -u
}

left=0
report() {
	if [[ -n $2 ]]; then
		printf 'make down left %s:\n%s\n' "$1" "$2" >&2
		left=1
	fi
}

processes() {
	local pid command groups
	while read -r pid command; do
		groups=$(tr ':/' '\n' 2>/dev/null <"/proc/$pid/cgroup") || continue
		grep -qxFf <(others) <<<"$groups" || echo "$pid $command"
	done < <(pgrep -a '^(embedded|kube$|kube-|kubelet|containerd|etcd|upf-)') 2>/dev/null
}

report processes "$(processes)"
report mounts "$(grep -E 'core5g|kubelet|containerd|k8s.io' /proc/self/mounts || true)"
report links "$(ip -o link | grep -E 'c5g|core5g|cni|veth' | grep -vwFf <(others links) || true)"
report 'network namespaces' "$(ip netns list | grep -E 'core5g|cni' || true)"
report 'control groups' "$(find /sys/fs/cgroup -maxdepth 2 -type d \( -name 'kubepods*' -o -name "$own" \) 2>/dev/null || true)"
exit "$left"
