package specs

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// AttachmentKind is Multus' kind. It is another project's and may be absent, hence unstructured.
var AttachmentKind = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

const (
	annotationNetworks     = "k8s.v1.cni.cncf.io/networks"
	annotationResourceName = "k8s.v1.cni.cncf.io/resourceName"
)

// Interface names inside the pod.
const (
	InterfaceN3 = "n3"
	InterfaceN6 = "n6"
)

// cniConfig leaves the interface without an address: UPF-U owns its addresses itself, and the pod's
// kernel must not answer for them.
type cniConfig struct {
	CNIVersion string   `json:"cniVersion"`
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Bridge     string   `json:"bridge,omitempty"`
	Master     string   `json:"master,omitempty"`
	Mode       string   `json:"mode,omitempty"`
	MTU        int32    `json:"mtu,omitempty"`
	IPAM       *cniIPAM `json:"ipam,omitempty"`
}

type cniIPAM struct{}

// Attachments builds the NetworkAttachmentDefinitions of a UPFInstance, those of type Existing aside.
func Attachments(upf *api.UPFInstance) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, a := range []struct {
		iface string
		spec  api.AttachmentSpec
		mtu   int32
	}{
		{InterfaceN3, upf.Spec.N3.Attachment, upf.Spec.N3.MTU},
		{InterfaceN6, upf.Spec.N6.Attachment, upf.Spec.N6.MTU},
	} {
		if a.spec.Type == api.AttachmentExisting {
			continue
		}
		out = append(out, attachment(upf, a.iface, a.spec, a.mtu))
	}
	return out
}

func attachment(upf *api.UPFInstance, iface string, spec api.AttachmentSpec, mtu int32) *unstructured.Unstructured {
	name := AttachmentName(upf.Name, iface)
	c := cniConfig{CNIVersion: "1.0.0", Name: name}
	switch spec.Type {
	case api.AttachmentMACVLAN:
		// Passthru and private would keep a gNB on the same node away.
		c.Type, c.Master, c.Mode, c.MTU, c.IPAM = "macvlan", spec.Master, "bridge", mtu, &cniIPAM{}
	case api.AttachmentHostDevice:
		// Multus puts the PCI address of the device that the device plugin chose into the configuration.
		c.Type = "host-device"
	default:
		c.Type, c.Bridge, c.MTU, c.IPAM = "bridge", spec.Bridge, mtu, &cniIPAM{}
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and a number
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"config": string(raw)},
	}}
	u.SetGroupVersionKind(AttachmentKind)
	u.SetNamespace(upf.Namespace)
	u.SetName(name)
	u.SetLabels(upfLabels(upf))
	u.SetOwnerReferences([]metav1.OwnerReference{ownedBy(upf, "UPFInstance")})
	if spec.ResourceName != "" {
		u.SetAnnotations(map[string]string{annotationResourceName: spec.ResourceName})
	}
	return u
}

type networkSelection struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Interface string `json:"interface"`
}

// networksAnnotation asks Multus for the pod's N3 and N6 interfaces.
func networksAnnotation(upf *api.UPFInstance) string {
	raw, err := json.Marshal([]networkSelection{
		selection(upf, InterfaceN3, upf.Spec.N3.Attachment),
		selection(upf, InterfaceN6, upf.Spec.N6.Attachment),
	})
	if err != nil {
		panic(err) // strings only
	}
	return string(raw)
}

func selection(upf *api.UPFInstance, iface string, spec api.AttachmentSpec) networkSelection {
	if spec.Type != api.AttachmentExisting {
		return networkSelection{Name: AttachmentName(upf.Name, iface), Namespace: upf.Namespace, Interface: iface}
	}
	namespace, name, found := strings.Cut(spec.NetworkAttachmentDefinition, "/")
	if !found {
		namespace, name = upf.Namespace, namespace
	}
	return networkSelection{Name: name, Namespace: namespace, Interface: iface}
}
