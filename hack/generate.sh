#!/usr/bin/env bash
# Rewrites every generated file: deep copies, custom resource definitions and RBAC rules of the
# operator (controller-gen), in two versions (definitions), the Go mirror of the data plane's C header (abigen), what the chart takes over
# from both (chartgen), the API reference (apidoc),
# the images' Dockerfiles, and NOTICE.
#
#   hack/generate.sh            in the repository it stands in
#
# CONTROLLER_GEN names another controller-gen than the one that `make tools` builds.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

controller_gen=${CONTROLLER_GEN:-$PWD/out/bin/controller-gen}
if [[ ! -x $controller_gen ]]; then
	echo "generate: no $controller_gen: run \`make tools\`, or set CONTROLLER_GEN" >&2
	exit 1
fi

"$controller_gen" object paths=./operators/api/...
"$controller_gen" crd paths=./operators/api/... output:crd:dir=operators/config/crd
go run ./hack/definitions
"$controller_gen" rbac:roleName=core5g-operator paths=./operators/... output:rbac:dir=operators/config/rbac
make --no-print-directory -s -C upf/abi generate
go run ./hack/chartgen
go run ./hack/apidoc
go run ./hack/dashboards/generate
go run ./hack/image -dockerfiles
go run ./hack/licences -notice
