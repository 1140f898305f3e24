# shellcheck shell=bash
# What core5g uses where a cluster has it, and an embedded or kind cluster lacks: for suites and for trying
# things out. Sourced by hack/cluster.sh, which sets $repo, and after the provider.
#
# A part is a part of hack/tools/build.sh, images below images/prerequisites, the definitions of its custom
# resources, and manifests/prerequisites/<part>.yaml. Applying one twice changes nothing.
: "${repo:?}"

prerequisite_images() {
	case $1 in
	monitoring) echo prometheus prometheus-operator prometheus-config-reloader ;;
	certificates) echo cert-manager ;;
	policies) echo network-policies ;;
	registry) echo registry ;;
	*) return 1 ;;
	esac
}

prerequisites_kubectl() { "$repo/out/bin/kubectl" --kubeconfig "$(cluster_kubeconfig)" "$@"; }

# cluster_prerequisites PART… builds, loads and applies the parts, and waits until they do their work.
cluster_prerequisites() {
	local part names archives definitions
	for part in "$@"; do
		prerequisite_images "$part" >/dev/null ||
			say_and_fail "there is no prerequisite \"$part\"; there are: monitoring, certificates, policies, registry."
	done
	[[ $provider != existing ]] ||
		say_and_fail "this cluster is somebody's: install the Prometheus Operator, cert-manager and a network that enforces policies in it as their own documents say."
	cluster_kubeconfig >/dev/null
	for part in "$@"; do
		[[ $part != policies ]] || "$repo/hack/install-tools.sh" policies
		[[ $part != registry ]] || prepare_registry
		"$repo/hack/tools/build.sh" "$part" cluster
		read -ra names <<<"$(prerequisite_images "$part")"
		"$repo/out/bin/image" -root "$repo" -recipes images/prerequisites "${names[@]}"
		archives=("${names[@]/#/$repo/out/images/prerequisites/}")
		cluster_load_image "${archives[@]/%/.tar}"
		definitions=$repo/out/prerequisites/$part-crds.yaml
		if [[ -f $definitions ]]; then
			prerequisites_kubectl apply --server-side --force-conflicts -f "$definitions" >/dev/null
			prerequisites_kubectl wait --for=condition=Established --timeout=60s -f "$definitions" >/dev/null
		fi
		prerequisites_kubectl apply --server-side --force-conflicts -f "$repo/manifests/prerequisites/$part.yaml" >/dev/null
		"await_$part"
		echo "$part is ready"
	done
}

await_monitoring() {
	prerequisites_kubectl -n monitoring rollout status deployment/prometheus-operator --timeout=180s >/dev/null
	prerequisites_kubectl -n monitoring wait --for=condition=Available --timeout=180s prometheus/core5g >/dev/null
}

# The webhook is asked, as the first user would: it answers once the API server knows its CA.
await_certificates() {
	prerequisites_kubectl -n cert-manager rollout status deployment/cert-manager --timeout=180s >/dev/null
	local kind
	for kind in validating mutating; do
		prerequisites_kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=60s \
			"${kind}webhookconfiguration/cert-manager-webhook" >/dev/null
	done
	local issuer='{"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "probe", "namespace": "cert-manager"}, "spec": {"selfSigned": {}}}'
	local deadline=$((SECONDS + 60))
	until prerequisites_kubectl create --dry-run=server -f - <<<"$issuer" >/dev/null 2>&1; do
		((SECONDS < deadline)) || prerequisites_kubectl create --dry-run=server -f - <<<"$issuer" ||
			say_and_fail "cert-manager's webhook does not answer: kubectl -n cert-manager logs deployment/cert-manager"
		sleep 0.5
	done
}

# Its pods are ready when the rules of all policies are written.
await_policies() {
	prerequisites_kubectl -n kube-system rollout status daemonset/network-policies --timeout=180s >/dev/null
}

# prepare_registry makes the registry's certificate, and tells the node's containerd where it is and whom to trust: the files of
# $state/certs.d are read at each pull.
prepare_registry() {
	local name=registry.example.org folder node
	[[ $provider == embedded ]] ||
		say_and_fail "the registry is for an embedded cluster: only of its node is it known how containerd is told whom to trust."
	"$repo/hack/install-tools.sh" release
	node=$(prerequisites_kubectl get nodes -o 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}')
	folder=$state/certs.d/$name
	mkdir -p "$folder" "$state/registry"
	if [[ ! -s $folder/hosts.toml ]]; then
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj "/CN=$name" \
			-addext "subjectAltName=DNS:$name,IP:$node" -keyout "$state/registry/tls.key" -out "$folder/ca.crt" 2>/dev/null
		# containerd 1.6 reads the server's lines only beside a host's; without them it asks the name itself behind the host, and says what came of that.
		printf 'server = "https://%s"\nca = "ca.crt"\n\n[host."https://%s"]\n  capabilities = ["pull", "resolve"]\n  ca = "ca.crt"\n' "$node" "$node" >"$folder/hosts.toml"
	fi
	prerequisites_kubectl create namespace registry --dry-run=client -o yaml | prerequisites_kubectl apply --server-side --force-conflicts -f - >/dev/null
	prerequisites_kubectl -n registry create secret tls registry-tls --cert="$folder/ca.crt" --key="$state/registry/tls.key" --dry-run=client -o yaml |
		prerequisites_kubectl apply --server-side --force-conflicts -f - >/dev/null
}

await_registry() { prerequisites_kubectl -n registry rollout status deployment/registry --timeout=180s >/dev/null; }
