#!/usr/bin/env bash
# What deaths and moves cost PDU sessions and registrations of core5g's own SMF and AMF: a line for each case, and 1 where one falls short.
#
#   hack/state.sh [-on processes|cluster|all] [-runs N] [-ues N] [CASE …]      (make e2e-state ON= RUNS= UES= CASE=a,b)
#
#   processes   the SMF's pods as processes with a session store, upf-c and an AMF (bench-smf), and handovers in
#               network namespaces (root): kill_smf kill_store kill_primary kill_both kill_upf move_shard handover_xn handover_n2;
#               the whole control plane, with so many UEs (bench-core): kill_amf drain_amf drain_smf kill_n2_release kill_n2_keep kill_n2_retain kill_gnb
#   cluster     pods of the core of `make up`, under its phone's packets: kill_smf kill_store
#               kill_both kill_upf kill_pcf kill_chf kill_nrf kill_database kill_subscriber_data
set -euo pipefail
cd "$(dirname "$0")/.."

processes=(kill_smf kill_store kill_primary kill_both kill_upf move_shard)
handovers=(handover_xn handover_n2)
registrations=(kill_amf drain_amf drain_smf kill_n2_release kill_n2_keep kill_n2_retain kill_gnb)
cluster=(kill_smf kill_store kill_both kill_upf kill_pcf kill_chf kill_nrf kill_database kill_subscriber_data)
on=all runs=20 ues=1000
while (($#)) && [[ $1 == -* ]]; do
	case $1 in
	-on) on=$2 ;;
	-runs) runs=$2 ;;
	-ues) ues=$2 ;;
	*) echo "state: $1 is unknown: write -on, -runs or -ues" >&2 && exit 2 ;;
	esac
	shift 2
done
case $on in
processes | cluster | all) ;;
*) echo "state: -on $on: write processes, cluster or all" >&2 && exit 2 ;;
esac
wanted=("$@")
for name in "${wanted[@]}"; do
	[[ " ${processes[*]} ${handovers[*]} ${registrations[*]} ${cluster[*]} " == *" $name "* ]] || { echo "state: there is no case $name" >&2 && exit 2; }
done

# chosen CASE … prints those that are wanted, with commas.
chosen() {
	local name out=()
	for name; do
		((${#wanted[@]} == 0)) || [[ " ${wanted[*]} " == *" $name "* ]] || continue
		out+=("$name")
	done
	(IFS=, && echo "${out[*]}")
}

status=0
if [[ $on != cluster ]]; then
	list=$(chosen "${processes[@]}")
	[[ -z $list ]] || out/bin/bench-smf -case "$list" -runs "$runs" -sessions 10000 || status=1
	for name in $(chosen "${handovers[@]}" | tr , ' '); do
		CORE5G_STATE_RUNS=$runs go test -count=1 -v -run "TestStateOfHandovers/$name" ./e2e/ran/sessions >out/state.log 2>&1 || status=1
		sed -n 's/^ *\(case=.*\)/\1/p' out/state.log
		! grep -q '^ *--- SKIP\|^FAIL' out/state.log || { sed -n 's/^ *\(state_test.go.*\)/# \1/p; s/^ *\(packets_test.go.*needs.*\)/# \1/p' out/state.log && status=1; }
	done
fi
if [[ $on != cluster ]]; then
	list=$(chosen "${registrations[@]}")
	[[ -z $list ]] || out/bin/bench-core -case "$list" -runs "$runs" -ues "$ues" || status=1
fi
if [[ $on != processes ]]; then
	list=$(chosen "${cluster[@]}")
	[[ -z $list ]] || out/bin/state -case "$list" -runs "$runs" || status=1
fi
exit $status
