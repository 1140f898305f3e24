#!/usr/bin/env bash
# Takes the cluster down and looks for what it may have left: processes, mounts, links, network
# namespaces and control groups. The embedded provider only; the others own their clusters.
set -euo pipefail
cd "$(dirname "$0")/.."
make down
if [[ ${CORE5G_CLUSTER:-embedded} != embedded ]]; then
	exit 0
fi
left=0
report() {
	if [[ -n $2 ]]; then
		printf 'make down left %s:\n%s\n' "$1" "$2" >&2
		left=1
	fi
}
report processes "$(pgrep -af 'kube-apiserver|kubelet|containerd|kube-proxy|etcd|upf-u' | grep -v check-down || true)"
report mounts "$(grep -E 'core5g|kubelet|containerd|k8s.io' /proc/self/mounts || true)"
report links "$(ip -o link | grep -E 'c5g|core5g|cni|veth' || true)"
report 'network namespaces' "$(ip netns list | grep -E 'core5g|cni' || true)"
report 'control groups' "$(find /sys/fs/cgroup -maxdepth 2 -type d \( -name 'kubepods*' -o -name 'core5g*' \) 2>/dev/null || true)"
exit "$left"
