# shellcheck shell=bash
# The existing provider: the cluster that KUBECONFIG names. Sourced by hack/cluster.sh, which sets $repo.
# It is somebody's cluster: nothing here changes it.
: "${repo:?}"

kubeconfig=${KUBECONFIG:-$HOME/.kube/config}

existing_kubectl() { "$repo/out/bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }

cluster_preflight() {
	[[ $kubeconfig != *:* ]] || say_and_fail "KUBECONFIG names several files; give the one of the cluster to use."
	[[ -f $kubeconfig ]] || say_and_fail "there is no kubeconfig at $kubeconfig; set KUBECONFIG to the one of the cluster to use."
}

cluster_up() {
	cluster_preflight
	ensure_kubectl
	existing_kubectl version --request-timeout=10s >/dev/null ||
		say_and_fail "the cluster of $kubeconfig does not answer."
	# What core5g will lack there is told now, once, not by a pod that stays Pending.
	existing_kubectl get customresourcedefinition network-attachment-definitions.k8s.cni.cncf.io >/dev/null 2>&1 ||
		say_and_fail "this cluster has no NetworkAttachmentDefinition; install Multus in it first."
	existing_kubectl get nodes -o 'jsonpath={.items[*].status.allocatable.hugepages-2Mi}' | grep -q '[1-9]' ||
		say_and_fail "no node of this cluster has hugepages of 2 MiB; reserve some on a node and restart its kubelet."
	echo "using the cluster of $kubeconfig"
}

cluster_down() { echo "the cluster of $kubeconfig is not core5g's to take down; left as it is"; }

cluster_status() {
	cluster_preflight
	ensure_kubectl
	existing_kubectl get nodes
}

cluster_kubeconfig() {
	cluster_preflight
	echo "$kubeconfig"
}

cluster_load_image() {
	local archive reference name
	if [[ -z ${CORE5G_REGISTRY:-} ]]; then
		cat >&2 <<-'TEXT'
			This cluster takes images from a registry. Push them there, with skopeo for instance:
			  CORE5G_REGISTRY=registry.example.org/core5g hack/cluster.sh load-image out/images/*.tar
			and give the same registry to the chart. Nothing has been pushed.
		TEXT
		return 0
	fi
	command -v skopeo >/dev/null || say_and_fail "skopeo is missing, which pushes images to $CORE5G_REGISTRY; install it (Debian: apt-get install skopeo)."
	for archive in "$@"; do
		if name=$(tar -xOf "$archive" index.json 2>/dev/null | sed -n 's/.*"io.containerd.image.name": *"\([^"]*\)".*/\1/p') && [[ -n $name ]]; then
			# Of a release: as its push.sh does, all platforms and with the digest.
			skopeo copy --all --preserve-digests "oci-archive:$archive:${name##*:}" "docker://$CORE5G_REGISTRY/${name##*/}"
			continue
		fi
		# core5g/amf:dev inside the archive becomes $CORE5G_REGISTRY/amf:dev.
		reference=$(tar -xOf "$archive" manifest.json | sed -n 's/.*"RepoTags":\["\([^"]*\)"\].*/\1/p')
		[[ -n $reference ]] || say_and_fail "$archive names no image."
		skopeo copy "docker-archive:$archive" "docker://$CORE5G_REGISTRY/${reference##*/}"
	done
}
