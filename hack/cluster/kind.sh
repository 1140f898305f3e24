# shellcheck shell=bash
# The kind provider: a node in a Docker container. Sourced by hack/cluster.sh, which sets $repo.
# Not exercised on the project's own machines, which cannot pull kind's node image: see hack/README.md.
: "${repo:?}"

kind_version=v0.30.0
kind_name=core5g
kind_node=$kind_name-control-plane
kind_state=$repo/out/kind
hugepages=${CORE5G_HUGEPAGES:-512}
hugepages_file=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

kind() { PATH=$repo/out/bin:$PATH command kind "$@"; }

kind_runs() { docker container inspect --format '{{.State.Running}}' "$kind_node" 2>/dev/null | grep -qx true; }

cluster_preflight() {
	command -v docker >/dev/null || say_and_fail "kind needs Docker, and there is no docker command; install Docker, or use CORE5G_CLUSTER=embedded."
	docker info >/dev/null 2>&1 || say_and_fail "kind needs a Docker engine, and \`docker info\` reaches none; start it, or use CORE5G_CLUSTER=embedded."
	require_go
	[[ $hugepages =~ ^[0-9]+$ ]] || say_and_fail "CORE5G_HUGEPAGES is \"$hugepages\"; it must be a number of 2 MiB pages."
	kind_runs && return 0
	[[ -e $hugepages_file ]] || say_and_fail "the kernel that runs Docker offers no hugepages of 2 MiB here, which the UPF needs; run this on a Linux machine."
	if (($(<"$hugepages_file") < hugepages)) && [[ ! -w $hugepages_file ]]; then
		say_and_fail "$hugepages hugepages of 2 MiB are needed and only root can reserve them; run: sudo sysctl vm.nr_hugepages=$hugepages"
	fi
}

kind_reserve_hugepages() {
	local found
	found=$(<"$hugepages_file")
	((found < hugepages)) || return 0
	echo "$found" >"$kind_state/hugepages.found"
	echo "$hugepages" >"$hugepages_file"
	local got
	got=$(<"$hugepages_file")
	((got >= hugepages)) || say_and_fail "the kernel found room for $got hugepages of 2 MiB, not for $hugepages; free some memory, or ask for fewer with CORE5G_HUGEPAGES=$got."
}

# The kubelet's policies are those of the embedded provider (hack/tools/cmd/embedded/daemons.go).
kind_config() {
	cat <<-'YAML'
		kind: Cluster
		apiVersion: kind.x-k8s.io/v1alpha4
		nodes:
		  - role: control-plane
		    extraMounts:
		      - {hostPath: /dev/hugepages, containerPath: /dev/hugepages}
		      - {hostPath: /dev/net/tun, containerPath: /dev/net/tun}
		    kubeadmConfigPatches:
		      - |
		        kind: KubeletConfiguration
		        apiVersion: kubelet.config.k8s.io/v1beta1
		        cpuManagerPolicy: static
		        topologyManagerPolicy: single-numa-node
		        memoryManagerPolicy: Static
		        kubeReserved: {cpu: 200m, memory: 512Mi}
		        evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
		        reservedMemory:
		          - {numaNode: 0, limits: {memory: 612Mi}}
		        imageGCHighThresholdPercent: 100
		        imageGCLowThresholdPercent: 99
	YAML
}

# Multus stands in front of the node's own network: its configuration comes first in the alphabet and
# holds that of kindnet.
kind_install_multus() {
	docker cp "$repo/out/cni/." "$kind_node:/opt/cni/bin/"
	"$repo/out/bin/kubectl" --kubeconfig "$kind_state/kubeconfig" apply --server-side \
		-f "$repo/hack/tools/cmd/embedded/addons/10-multus.yaml"
	docker exec -i "$kind_node" bash -euo pipefail <<-'NODE'
		for ((i = 0; i < 120; i++)); do
			[[ -s /etc/cni/net.d/10-kindnet.conflist ]] && break
			sleep 0.5
		done
		cat >/etc/cni/net.d/.multus <<CONF
		{
		  "cniVersion": "1.0.0", "name": "core5g", "type": "multus", "logLevel": "error",
		  "kubeconfig": "/etc/kubernetes/admin.conf",
		  "delegates": [$(cat /etc/cni/net.d/10-kindnet.conflist)]
		}
		CONF
		mv /etc/cni/net.d/.multus /etc/cni/net.d/00-multus.conf
	NODE
}

cluster_up() {
	cluster_preflight
	mkdir -p "$kind_state"
	if kind_runs; then
		echo "already up: kind cluster $kind_name"
		return 0
	fi
	ensure_kubectl
	"$repo/hack/tools/build.sh" cni multus
	if ! PATH=$repo/out/bin:$PATH command -v kind >/dev/null; then
		GOBIN=$repo/out/bin CGO_ENABLED=0 go install "sigs.k8s.io/kind@$kind_version"
	fi
	kind_reserve_hugepages
	kind_config >"$kind_state/config.yaml"
	kind create cluster --name "$kind_name" --config "$kind_state/config.yaml" \
		--kubeconfig "$kind_state/kubeconfig" --wait 180s
	kind_install_multus
}

cluster_down() {
	if command -v docker >/dev/null && docker container inspect "$kind_node" >/dev/null 2>&1; then
		kind delete cluster --name "$kind_name" --kubeconfig "$kind_state/kubeconfig"
	fi
	if [[ -f $kind_state/hugepages.found ]]; then
		cat "$kind_state/hugepages.found" >"$hugepages_file"
	fi
	rm -rf "$kind_state"
}

cluster_status() {
	kind_runs || say_and_fail "no cluster is up."
	"$repo/out/bin/kubectl" --kubeconfig "$kind_state/kubeconfig" wait --for=condition=Ready node --all --timeout=5s
}

cluster_kubeconfig() {
	[[ -f $kind_state/kubeconfig ]] || say_and_fail "no cluster is up; \`hack/cluster.sh up\` makes one."
	echo "$kind_state/kubeconfig"
}

cluster_load_image() {
	kind_runs || say_and_fail "no cluster is up; \`hack/cluster.sh up\` makes one."
	local archive name
	for archive in "$@"; do
		if name=$(tar -xOf "$archive" index.json 2>/dev/null | sed -n 's/.*"io.containerd.image.name": *"\([^"]*\)".*/\1/p') && [[ -n $name ]]; then
			# Of a release: pods find it by its digest as well (hack/tools/cmd/embedded/load.go).
			docker exec -i "$kind_node" ctr -n k8s.io images import --digests --base-name "docker.io/${name%:*}" - <"$archive"
			docker exec "$kind_node" ctr -n k8s.io images tag --force "$name" "docker.io/$name"
			continue
		fi
		kind load image-archive --name "$kind_name" "$archive"
	done
}
