# shellcheck shell=bash
# Sourced by scripts that compile Go: without the folders of this machine, as the Makefile has it, so that nothing is compiled a second time.
GOFLAGS=$(go env GOFLAGS)
[[ " $GOFLAGS " == *" -trimpath "* ]] || GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"
export GOFLAGS
