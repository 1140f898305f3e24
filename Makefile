# core5g: `make up`, `make test`, `make down`; the rest are their parts. CONTRIBUTING.md explains.

export CGO_ENABLED ?= 0
GO      ?= go
# Everything is compiled without the folders of this machine: images hold none, and what one clone has compiled, tests included, another has too.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS 2>/dev/null)) -trimpath
OUT     := out
BIN     := $(OUT)/bin
LDFLAGS := -s -w
comma   := ,
# Functions of which nf, bin and images make nothing: `make up` has no use for WITHOUT="amf smf control-plane" unless it is asked for them.
WITHOUT ?=
# The control plane without a cluster, and what measures it.
BENCH_CORE := $(addprefix ./images/,access-management/cmd/access-management access-management/cmd/n2-terminator session-management/cmd/session-management \
	control-plane/cmd/control-plane subscriber-data/cmd/subscriber-data) ./upf/upfc/cmd/upf-c ./e2e/cmd/bench-core
BUILD   := $(GO) build -ldflags '$(LDFLAGS)'
# What tests print: events where hack/test counts them, else lines; of stories all that they say.
export OF_TESTS := $(if $(CORE5G_COUNTED),-json)
OF_STORIES := $(or $(OF_TESTS),-v)

.PHONY: help up down test unit integration lint running e2e e2e-upgrade e2e-restore e2e-apart e2e-operate e2e-security e2e-sessions e2e-state e2e-redundancy e2e-onprem e2e-nodes e2e-edge e2e-release tools cluster-tools nf bin images free5gc fused reproducible package release release-twice release-check generate kubectl-plugin bench-upf bench-n4 bench-qos bench-core bench-subscribers bench-smf simulate mutants test-upf test-upf-arm64 test-upf-trixie fuzz fuzz-core

help:
	@echo "make up       bring up the core and run a phone through it    make down  remove every trace"
	@echo "              CONTROL_PLANE=Free5GC: with free5GC's AMF and SMF, here and in make e2e"
	@echo "              LAYOUT=Fused: with the whole control plane in one pod, here and in make e2e"
	@echo "make test     everything that CI runs                        make unit  unit tests, in seconds when warm"
	@echo "make lint     linters and generated-code drift               make e2e   suites on the running cluster"
	@echo "make generate rewrite generated code                         make test-upf   all tests of the UPF"
	@echo "make release VERSION=0.3.0: its files, in out/release        make release-check: of a small one"
	@echo "make package  core5g-upf.deb: a UPF under systemd        make e2e-edge  on a bare Debian, by WireGuard"
	@echo "make bench-n4 sessions a second, restarts, memory            make bench-core CASE=storm UES=1000: UEs"
	@echo "make bench-upf cycles a packet (BASE=<rev>: beside another)  make fuzz       the UPF, FUZZ_SECONDS= a harness; fuzz-core: the rest"
	@echo "make bench-subscribers SUBSCRIBERS=20000: memory and pace of operator and subscriber data; SOURCE=PostgreSQL"
	@echo "make bench-smf CASE=at_rest,load,memory: sessions a second, latency, CPU; make e2e-state: what deaths and moves cost"
	@echo "make e2e-apart: a release's operator handed to a release of its own and taken back, under traffic, on the running cluster"
	@echo "make e2e-release: a core from the files of a release alone, on a cluster of its own that pulls from a registry"
	@echo "make e2e-restore: a core backed up, its namespace emptied, and put back, on the running cluster"
	@echo "make bench-qos TCP through a maximum bit rate                make simulate SEEDS=1000 FIRST=1 NF=amf: worlds of AMF, SMF"

up:
	@hack/cluster.sh preflight
	@$(GO) run ./hack/up

down:
	@hack/cluster.sh down
	@rm -f $(OUT)/loaded-images$(if $(CORE5G_INSTANCE),-$(CORE5G_INSTANCE)).json $(OUT)/report.json

test:
	@hack/cluster.sh preflight
	@$(GO) run ./hack/test

# In these one thing happens after the other, or they are tools: -race, which takes ten times as long, would find nothing. It needs cgo. None that fails hides others.
WITHOUT_RACE := /images/.*/(simulation|procedure|n1|n2)$$|/core5g/(charts|upf/upfc/fencing|hack|operators/api|e2e/([^r]|re))
# Nor are those with it that need Kubernetes' libraries, themselves or their tests: these would be compiled and linked anew for longer than all else takes. RACE=all has them too.
OF_KUBERNETES := {{range .Deps}}{{if eq . "k8s.io/apimachinery/pkg/apis/meta/v1"}}{{$$.ImportPath}}{{end}}{{end}}
unit:
	@failed=0; \
	all=$$($(GO) list ./...) && without=$$(echo "$$all" | grep -E '$(WITHOUT_RACE)'; \
		test '$(RACE)' = all || $(GO) list -test -f '$(OF_KUBERNETES)' ./... | sed 's/ .*//; s/\.test$$//') && \
	with=$$(echo "$$all" | grep -vxF "$$without") || exit 1; \
	CGO_ENABLED=1 $(GO) test -race -short $(OF_TESTS) $$with || failed=1; \
	$(GO) test -short $(OF_TESTS) $$(echo "$$all" | grep -xF "$$without") || failed=1; \
	$(MAKE) --no-print-directory -C images unit || failed=1; \
	exit $$failed

# Worlds of session and access management, one a seed; NF=amf takes one. One that goes wrong prints its seed and its story. make mutants shows that they
# find faults.
SEEDS ?= 1000
FIRST ?= 1
NF ?= smf amf
simulation_of = ./images/$(if $(filter amf,$(1)),access,session)-management/simulation
simulate:
	@$(foreach nf,$(NF),GOGC=400 $(GO) test -count=1 -timeout 0 -v -run TestWorlds $(call simulation_of,$(nf)) -seeds $(SEEDS) -first $(FIRST) &&) true

mutants:
	@$(foreach nf,$(NF),$(GO) test -count=1 -timeout 0 -v -run TestMutants $(call simulation_of,$(nf)) -mutants &&) true

# The fuzzers of SMF, AMF and what functions share, one after the other, FUZZ_SECONDS= each; FUZZ= takes those of a name: FuzzNAS|FuzzNGAP.
fuzz-core:
	@hack/fuzz.sh $(or $(FUZZ_SECONDS),60) '$(FUZZ)' images

# Those without -short that need a real API server, or real binaries of both UPF halves and of the network functions. Only
# packages that have such tests: each of the others would be compiled and linked for "no tests to run".
INTEGRATION    := Integration|Envtest
INTEGRATION_IN := operators images/subscriber-data images/access-management/configuration upf charts
integration:
	@$(MAKE) --no-print-directory -s -C upf upf-u
	@KUBEBUILDER_ASSETS=$(CURDIR)/$(BIN)/envtest $(GO) test $(OF_TESTS) -run '$(INTEGRATION)' \
		$$(grep -rlE --include='*_test.go' '^func Test\w*($(INTEGRATION))' $(INTEGRATION_IN) | xargs dirname | sort -u | sed 's|^|./|')
	@$(GO) test -C hack/tools $(OF_TESTS) ./...
	@$(MAKE) --no-print-directory -C images smoke

lint:
	@hack/lint.sh
	@hack/check-drift.sh

# The suites' cluster: that of `make up`, which is run where there is none; one that others made is theirs.
running:
ifneq ($(CORE5G_CLUSTER),existing)
	@hack/cluster.sh status >/dev/null 2>&1 || $(MAKE) --no-print-directory up
endif

# AMF and SMF of free5GC's for that cluster: `make up` leaves them out.
free5gc: running
	@$(MAKE) --no-print-directory -C images amf smf
	@$(GO) build -o $(BIN)/ ./hack/image
	@$(BIN)/image amf smf
	@hack/cluster.sh load-image $(OUT)/images/amf.tar $(OUT)/images/smf.tar

# The control plane in one pod for that cluster: `make up` leaves it out, but with LAYOUT=Fused.
fused: running
	@$(BUILD) -o $(BIN)/ ./images/control-plane/cmd/control-plane
	@$(GO) build -o $(BIN)/ ./hack/image
	@$(BIN)/image control-plane
	@hack/cluster.sh load-image $(OUT)/images/control-plane.tar

e2e: running free5gc fused
	@$(MAKE) --no-print-directory kubectl-plugin
	@CORE5G_E2E=1 $(GO) test $(OF_STORIES) -count=1 -timeout 40m ./e2e/suite/...

# From the previous release to this one and back. Makes the previous one the first time, by its own make release.
e2e-upgrade: running
	@CORE5G_UPGRADE=1 CORE5G_RESTORE=1 $(GO) test $(OF_STORIES) -count=1 -timeout 40m ./e2e/upgrade/

# A backup of the core, its namespace emptied, and all of it put back: e2e-upgrade has this, too.
e2e-restore: running
	@CORE5G_RESTORE=1 $(GO) test $(OF_STORIES) -count=1 -timeout 20m -run TestRestore ./e2e/upgrade/

# A release taken apart into operator and core, and put together again, under traffic.
e2e-apart: running
	@CORE5G_APART=1 $(GO) test $(OF_STORIES) -count=1 -timeout 20m -run TestApart ./e2e/upgrade/

# Sessions of simulated UEs, by SMF and UPF in one process, without a cluster. make unit has those that need no upf-u.
e2e-sessions:
	@$(MAKE) --no-print-directory -s -C upf upf-u
	@$(GO) test $(OF_STORIES) -count=1 -timeout 20m ./e2e/ran/sessions/

# What deaths and moves cost sessions and registrations of core5g's own SMF and AMF, 20 times each: CASE=kill_smf,handover_xn takes some, RUNS= as often,
# ON=processes needs no cluster, UES= are attached while an AMF's parts die. The cluster is that of `make up`.
e2e-state:
	@$(MAKE) --no-print-directory -s -C upf upf-u
	@$(MAKE) --no-print-directory kubectl-plugin
	@$(BUILD) -o $(BIN)/ $(BENCH_CORE) ./images/session-management/cmd/bench-smf ./e2e/cmd/state
	@hack/state.sh -on $(or $(ON),all) -runs $(or $(RUNS),20) $(if $(UES),-ues $(UES)) $(subst $(comma), ,$(CASE))

# What it costs that a UPF's standby takes its unit over, on the cluster of `make up`: CASE=kill,switch takes some of the cases,
# SESSIONS=, RATE= packets a second, RUNS= as often; KEEP=1 leaves the standby there. CPU=500m is what each
# upf-u asks for, so that both find room; CPU= (empty): a CPU of its own.
e2e-redundancy: running
	@$(MAKE) --no-print-directory kubectl-plugin
	@$(BUILD) -o $(BIN)/ ./e2e/cmd/redundancy
	@$(BIN)/redundancy $(if $(CASE),-case $(CASE)) $(if $(SESSIONS),-sessions $(SESSIONS)) $(if $(RATE),-rate $(RATE)) \
		$(if $(RUNS),-runs $(RUNS)) $(if $(filter-out undefined,$(origin CPU)),-cpu "$(CPU)") $(if $(UPFC_CPU),-upf-c-cpu $(UPFC_CPU)) $(if $(KEEP),-keep)

# Metrics, dashboards and alerts, on the cluster of `make up`; a cluster that others made brings its own Prometheus.
e2e-operate: running
ifneq ($(CORE5G_CLUSTER),existing)
	@hack/cluster.sh prerequisites monitoring
endif
	@$(MAKE) --no-print-directory kubectl-plugin
	@$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./e2e/cmd/storm
	@CORE5G_E2E=1 $(GO) test $(OF_STORIES) -count=1 -timeout 40m ./e2e/operate/...

# NetworkPolicies, mutual TLS with cert-manager, renewal, and where keys are not, on the cluster of `make up`.
e2e-security: running
ifneq ($(CORE5G_CLUSTER),existing)
	@hack/cluster.sh prerequisites policies certificates
endif
	@$(MAKE) --no-print-directory kubectl-plugin
	@$(BUILD) -o $(BIN)/ ./e2e/cmd/knock
	@CORE5G_E2E=1 $(GO) test $(OF_STORIES) -count=1 -timeout 40m ./e2e/security/...

# An emulated two-socket server with SR-IOV NICs as a second node of the embedded cluster, the stories of
# e2e/onprem on it, and down again; KEEP=1 leaves both up, STORIES=
# takes those that match. On servers of yours: docs/on-prem.md.
e2e-onprem: export CORE5G_ONPREM_N3_VLAN ?= 30
e2e-onprem: export CORE5G_ONPREM_N3_MTU ?= 1600
e2e-onprem:
	@hack/install-tools.sh cluster upf database session-store onprem
	@$(MAKE) --no-print-directory cluster-tools nf bin images
	@hack/cluster.sh up
	@hack/cluster.sh load-image $(OUT)/images/*.tar
	@hack/onprem/onprem.sh up
	@status=0; CORE5G_E2E_ONPREM=1 CORE5G_ONPREM_REBOOT='hack/onprem/onprem.sh reboot' \
		CORE5G_ONPREM_RUNTIME_CONFIG=/run/core5g/state/containerd.toml \
		$(GO) test $(OF_STORIES) -count=1 -timeout 60m -run '$(STORIES)' ./e2e/onprem/... || status=$$?; \
	[ -n "$(KEEP)" ] || { hack/onprem/onprem.sh down; hack/cluster.sh down; }; exit $$status

# Three nodes of the embedded cluster, each a set of namespaces, of which the one that serves dies under traffic: it loses its power, and is cut off. The
# cluster is made for it, and goes afterwards; KEEP=1 leaves it, STORIES= takes those that match. Not in make test: it takes a quarter of an hour.
e2e-nodes: export CORE5G_INSTANCE ?= nodes
e2e-nodes: export CORE5G_HOST_IP ?= 10.213.0.17
e2e-nodes: export CORE5G_NODES = 3
e2e-nodes: export CORE5G_HUGEPAGES ?= 300
e2e-nodes:
	@hack/install-tools.sh cluster upf database session-store
	@$(MAKE) --no-print-directory cluster-tools nf bin images WITHOUT="amf smf control-plane"
	@$(BUILD) -o $(BIN)/ ./e2e/cmd/redundancy
	@hack/cluster.sh up
	@hack/cluster.sh load-image $(OUT)/images/*.tar
	@status=0; CORE5G_E2E_NODES=1 $(GO) test $(OF_STORIES) -count=1 -timeout 60m -run '$(STORIES)' ./e2e/nodes || status=$$?; \
	[ -n "$(KEEP)" ] || hack/cluster.sh down; exit $$status

# A site without a core. The Debian package of the UPF: by lintian and systemd-analyze, installed on a bare Debian 12, and there as its units say, with an SMF at
# the other end of a WireGuard tunnel between two network namespaces. Then two embedded clusters (hack/sites.sh), a centre with the core and an edge with
# its operator and UPF: a UE at the edge, whose packets leave there, while things die. Needs root. STORIES= takes those that match; KEEP=1 leaves the clusters up.
e2e-edge:
	@hack/install-tools.sh edge
	@$(MAKE) --no-print-directory package >/dev/null
	@CORE5G_E2E_EDGE=1 $(GO) test $(OF_STORIES) -count=1 -timeout 20m $(if $(STORIES),-run '$(STORIES)') ./e2e/edge/
ifneq ($(if $(STORIES),$(findstring Sites,$(STORIES)),Sites),)
	@hack/install-tools.sh cluster upf database session-store
	@$(MAKE) --no-print-directory cluster-tools nf bin images CORE5G_CLUSTER=embedded WITHOUT="amf smf control-plane"
	@hack/sites.sh down
	@status=0; hack/sites.sh up && CORE5G_E2E_EDGE=1 CORE5G_E2E_SITES=1 $(GO) test $(OF_STORIES) -count=1 -timeout 30m -run 'TestSites$$' ./e2e/edge/ || status=$$?; \
	[ -n "$(KEEP)" ] || hack/sites.sh down; exit $$status
endif

# A core from the files of a release alone, by the commands of docs/install.md: a release of HEAD for this architecture, signed with a key of the moment; a
# cluster with a registry and no image; push.sh with skopeo, helm install, and a phone that pings. On the way an image is copied without its list of
# platforms, and a tag is moved. The cluster goes afterwards; KEEP=1 leaves it. FILES= takes a release that is there, KEY= its public key.
INSTALLED = $(CHART_VERSION)-e2e
e2e-release: export CORE5G_INSTANCE ?= release
e2e-release: export CORE5G_HOST_IP ?= 10.213.0.21
e2e-release:
	@hack/install-tools.sh cluster upf database session-store release
	@$(MAKE) --no-print-directory cluster-tools
ifndef FILES
	@[ "$$(sed -n 's/^  "commit": "\(.*\)",$$/\1/p' $(OUT)/release/$(INSTALLED)/manifest.json 2>/dev/null)" = "$$(git rev-parse HEAD)" ] || { \
		mkdir -p $(BIN) && $(GO) build -C hack/release -o $(CURDIR)/$(BIN)/release . && rm -f $(OUT)/e2e-release.key $(OUT)/e2e-release.key.pub && \
		$(BIN)/release key $(OUT)/e2e-release.key && \
		CORE5G_RELEASE_KEY=$(CURDIR)/$(OUT)/e2e-release.key ARCHS=$(shell $(GO) env GOHOSTARCH) PLUGINS=linux-$(shell $(GO) env GOHOSTARCH) \
		IMAGES="$(filter-out amf smf control-plane cluster-dns pause,$(patsubst images/%/image.yaml,%,$(wildcard images/*/image.yaml)))" \
		hack/release.sh $(INSTALLED); }
endif
	@hack/cluster.sh down >/dev/null
	@hack/cluster.sh up
	@hack/cluster.sh prerequisites registry
	@status=0; CORE5G_E2E_RELEASE=1 CORE5G_RELEASE=$(abspath $(or $(FILES),$(OUT)/release/$(INSTALLED))) \
		CORE5G_RELEASE_PUBLIC=$(abspath $(or $(KEY),$(OUT)/e2e-release.key.pub)) \
		$(GO) test $(OF_STORIES) -count=1 -timeout 30m ./e2e/release || status=$$?; \
	[ -n "$(KEEP)" ] || hack/cluster.sh down; exit $$status

# ---- the UPF -----------------------------------------------------------------------------------

bench-upf bench-n4 bench-qos test-upf fuzz:
	@$(MAKE) --no-print-directory -C upf $@

# The control plane as it is shipped, each function a process, with simulated gNBs and UEs: how long they wait, and what each function takes for it.
# ON=cluster: so many UEs register at once at the core of `make up`, which may have CONTROL_PLANE=Free5GC; LAYOUT=Distributed,Fused,Free5GC: its phone starts, and UEs
# register, in one after the other, ROUNDS= times.
bench-core: $(if $(filter cluster,$(ON)),$(if $(findstring Fused,$(LAYOUT)),fused) $(if $(findstring Free5GC,$(LAYOUT)),free5gc))
ifeq ($(ON)$(if $(LAYOUT),compared),clustercompared)
	@$(GO) run ./e2e/cmd/storm compare -layouts $(LAYOUT) $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(RUNS),-starts $(RUNS)) $(if $(UES),-ues $(UES))
else ifeq ($(ON)$(CASE),clusterstart)
	@$(GO) run ./e2e/cmd/storm start -n $(or $(RUNS),20)
else ifeq ($(ON),cluster)
	@$(GO) run ./e2e/cmd/storm ues -n $(or $(UES),100)
else
	@mkdir -p $(BIN)
	@$(BUILD) -o $(BIN)/ $(BENCH_CORE)
	@$(BIN)/bench-core $(if $(CASE),-case $(CASE)) $(if $(LAYOUT),-layout $(LAYOUT)) $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(UES),-storm $(UES))
endif

# The SMF as it is shipped, its pods as processes with a session store, upf-c and an AMF.
bench-smf:
	@mkdir -p $(BIN)
	@$(BUILD) -o $(BIN)/ ./images/session-management/cmd/session-management ./images/session-management/cmd/bench-smf
	@$(BIN)/bench-smf $(if $(CASE),-case $(CASE)) $(if $(SESSIONS),-sessions $(SESSIONS)) $(if $(RUNS),-runs $(RUNS))

# So many Subscribers with the operator and the subscriber data functions, on an API server of their own; with SOURCE=PostgreSQL in a database.
bench-subscribers:
ifeq ($(or $(SOURCE),Kubernetes),PostgreSQL)
	@hack/install-tools.sh subscriber-database
else
	@hack/tools/build.sh kube
endif
	@$(BUILD) -o $(BIN)/ ./operators/cmd/core5g-operator ./images/subscriber-data/cmd/subscriber-data ./operators/cmd/bench-subscribers
	@$(BIN)/bench-subscribers -source $(or $(SOURCE),Kubernetes) -subscribers $(or $(SUBSCRIBERS),2000)

# ---- what `make up` builds --------------------------------------------------------------------

tools:
	@hack/tools/build.sh

# What the provider needs: a cluster that others made needs no Kubernetes of ours.
cluster-tools:
ifeq ($(or $(CORE5G_CLUSTER),embedded),embedded)
	@hack/tools/build.sh kube kubectl helm cni multus cluster
else
	@hack/tools/build.sh kubectl helm
endif

nf:
	@$(MAKE) --no-print-directory -C images nf database

bin: kubectl-plugin
	@$(MAKE) --no-print-directory -C upf upf-u
	@$(BUILD) -o $(BIN)/ ./operators/cmd/core5g-operator ./operators/cmd/core5g-node-agent ./images/subscriber-data/cmd/subscriber-data ./images/session-management/cmd/session-management $(wildcard ./images/access-management/cmd/*) $(if $(filter control-plane,$(WITHOUT)),,./images/control-plane/cmd/control-plane) ./upf/upfc/cmd/upf-c ./upf/upfc/cmd/upfctl ./e2e/cmd/ran

# For another machine: make kubectl-plugin GOOS=darwin GOARCH=arm64 BIN=…
kubectl-plugin:
	@$(BUILD) -o $(BIN)/ ./operators/cmd/kubectl-core5g

# ARCH=arm64 makes those of another architecture, on this machine: programs, then archives in out/arm64/images.
images:
	@$(GO) build -o $(BIN)/ ./hack/image
ifeq ($(filter-out $(shell $(GO) env GOARCH),$(ARCH)),)
	@$(BIN)/image $(if $(WITHOUT),$(filter-out $(WITHOUT),$(patsubst images/%/image.yaml,%,$(wildcard images/*/image.yaml))))
	@$(GO) run ./hack/licences -images $(OUT)/images
else
	@hack/install-tools.sh $(ARCH) database session-store
	@hack/sysroot.sh $(ARCH)
	@$(BIN)/image -arch $(ARCH) -programs
	@$(BIN)/image -arch $(ARCH)
	@$(GO) run ./hack/licences -images $(OUT)/$(ARCH)/images
endif

# The UPF under systemd, for a site without Kubernetes: out/packages/core5g-upf_<version>_<architecture>.deb; ARCH=arm64 as above.
CHART_VERSION = $(shell sed -n 's/^version: *//p' charts/core5g/Chart.yaml)
package:
ifeq ($(filter-out $(shell $(GO) env GOHOSTARCH),$(ARCH)),)
	@hack/install-tools.sh upf
	@$(MAKE) --no-print-directory -s -C upf upf-u
	@$(BUILD) -o $(BIN)/ ./upf/upfc/cmd/upf-c ./upf/upfc/cmd/upfctl
	@hack/package.sh $(or $(VERSION),$(CHART_VERSION)) $(shell $(GO) env GOHOSTARCH) $(BIN) $(OUT)/packages
else
	@$(GO) build -o $(BIN)/ ./hack/image
	@hack/install-tools.sh $(ARCH)
	@hack/sysroot.sh $(ARCH)
	@$(BIN)/image -arch $(ARCH) -programs upf-u upf-c
	@hack/package.sh $(or $(VERSION),$(CHART_VERSION)) $(ARCH) $(OUT)/$(ARCH)/bin $(OUT)/packages $(OUT)/$(ARCH)/root
endif

# The data plane's vectors, compiled for arm64, in an emulator: what differs between architectures differs there.
test-upf-arm64:
	@hack/install-tools.sh arm64
	@hack/sysroot.sh arm64
	@$(MAKE) --no-print-directory -s -C upf ../$(OUT)/arm64/bin/test-upf-u OUT=../$(OUT)/arm64 \
		CC=aarch64-linux-gnu-gcc SYSROOT=$(CURDIR)/$(OUT)/arm64/root
	@qemu-aarch64-static -L $(OUT)/arm64/root $(OUT)/arm64/bin/test-upf-u

# The same with the packages of the next release of Debian, and so with a later DPDK, by that release's loader and libc.
test-upf-trixie: NATIVE = $(shell dpkg --print-architecture)
test-upf-trixie: TRIXIE = $(OUT)/trixie-$(NATIVE)
test-upf-trixie: PACKAGES = $(TRIXIE)/root
test-upf-trixie:
	@hack/install-tools.sh upf
	@hack/sysroot.sh $(NATIVE) trixie
	@$(MAKE) --no-print-directory -s -C upf ../$(TRIXIE)/bin/upf-u ../$(TRIXIE)/bin/test-upf-u OUT=../$(TRIXIE) \
		SYSROOT=$(CURDIR)/$(PACKAGES) -j$(shell nproc)
	@$$(ls $(PACKAGES)/usr/lib*/ld-linux-*.so.? | head -n 1) --library-path $$(echo $(PACKAGES)/usr/lib/*-linux-gnu) $(TRIXIE)/bin/test-upf-u

# Each built twice, in different folders; IMAGES= names some.
reproducible:
	@hack/reproduce.sh $(IMAGES)

# ---- releases ------------------------------------------------------------------------------------

# Of what is committed, VERSION= into out/release/<version>: all images for both architectures, charts, plug-in, bills of
# materials, licences, sums; signed where CORE5G_RELEASE_KEY names a key. hack/release.sh has the rest. release-twice makes
# it a second time elsewhere, and fails unless both are the same.
release:
	@hack/release.sh $(VERSION)

release-twice:
	@hack/release.sh --twice $(VERSION)

# The tests of hack/release, then a small one, made twice and signed with a key of the moment, and the tests of a release's files on it; FILES= tests a
# release that is there.
CHECKED = $(CHART_VERSION)-check
release-check:
ifndef FILES
	@$(GO) test -C hack/release $(OF_TESTS) ./...
	@mkdir -p $(BIN) && $(GO) build -C hack/release -o $(CURDIR)/$(BIN)/release .
	@rm -f $(OUT)/release.key $(OUT)/release.key.pub && $(BIN)/release key $(OUT)/release.key
	@CORE5G_RELEASE_KEY=$(CURDIR)/$(OUT)/release.key IMAGES="pause node-agent session-management" PLUGINS=linux-$(shell $(GO) env GOHOSTARCH) \
		hack/release.sh --twice $(CHECKED)
endif
	@CORE5G_RELEASE=$(abspath $(or $(FILES),$(OUT)/release/$(CHECKED))) $(GO) test -C hack/release -count=1 $(OF_TESTS) -run TestFiles .

generate:
	@hack/generate.sh
