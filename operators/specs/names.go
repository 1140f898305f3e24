package specs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/storemember"
)

// Ports that every installation shares.
const (
	PortSBI          = 8000
	PortMetrics      = 9090
	PortHealth       = 8081
	PortPFCP         = 8805
	PortDatabase     = 27017
	PortSessionStore = storemember.ServerPort
	// PortStandby is where a member of a redundant unit hears the stream of the other one.
	PortStandby = 8806
)

// FieldOwner is the one field owner of everything that the operator applies.
const FieldOwner = "core5g-operator"

// Annotations that the operator writes on pods.
const (
	// AnnotationConfigHash is the hash of the configuration that a pod template mounts.
	AnnotationConfigHash = "core5g.dev/config-hash"
	// AnnotationTemplateHash is the hash of everything that a UPF unit was made from.
	AnnotationTemplateHash = "core5g.dev/template-hash"
	// AnnotationSpecHash is the hash of the UPFInstance's spec that a unit was made from.
	AnnotationSpecHash = "core5g.dev/spec-hash"
)

// FunctionObjectName names the Deployment, Service and ConfigMap of a function of the core.
func FunctionObjectName(core string, fn api.FunctionName) string { return core + "-" + string(fn) }

// SMFObjectName names the Deployment, Service and ConfigMap of a Slice's SMF.
func SMFObjectName(core, slice string) string { return core + "-smf-" + slice }

// UnitName names the pod of a UPF unit.
func UnitName(upf string, unit int) string { return upf + "-" + strconv.Itoa(unit) }

// N4ServiceName names the Service in front of a unit's PFCP.
func N4ServiceName(upf string, unit int) string { return UnitName(upf, unit) + "-n4" }

// N4OutsideServiceName names the Service of a unit's PFCP for SMFs of other clusters.
func N4OutsideServiceName(upf string, unit int) string { return N4ServiceName(upf, unit) + "-lb" }

// AttachmentName names the NetworkAttachmentDefinition of a UPFInstance's interface, n3 or n6.
func AttachmentName(upf, iface string) string { return upf + "-" + iface }

// Labels of every object of a component.
func Labels(core, component string) map[string]string {
	return map[string]string{
		api.LabelName:      "core5g",
		api.LabelInstance:  core,
		api.LabelComponent: component,
		api.LabelManagedBy: api.ManagedBy,
	}
}

func with(labels map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(labels)+1)
	for k, v := range labels {
		out[k] = v
	}
	out[key] = value
	return out
}

// Hash is a short digest of any value that marshals to JSON.
func Hash(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		// Only values of this package come here, and their types marshal.
		panic(fmt.Sprintf("hash of %T: %v", v, err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:16]
}
