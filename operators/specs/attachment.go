package specs

import (
	"encoding/json"
	"net"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
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
	// Of the SR-IOV plugin.
	VLAN         int32           `json:"vlan,omitempty"`
	Trust        string          `json:"trust,omitempty"`
	Capabilities map[string]bool `json:"capabilities,omitempty"`
}

type cniIPAM struct{}

type attachmentOf struct {
	iface string
	spec  api.AttachmentSpec
	mtu   int32
	vlan  int32
}

func attachmentsOf(upf *api.UPFInstance) []attachmentOf {
	out := []attachmentOf{
		{InterfaceN3, upf.Spec.N3.Attachment, upf.Spec.N3.MTU, ptr.Deref(upf.Spec.N3.VLAN, 0)},
		{InterfaceN6, upf.Spec.N6.Attachment, upf.Spec.N6.MTU, ptr.Deref(upf.Spec.N6.VLAN, 0)},
	}
	for i := range upf.Spec.NetworkInstances {
		if n := &upf.Spec.NetworkInstances[i]; n.Attachment != nil {
			out = append(out, attachmentOf{networkInterface(i), *n.Attachment, networkMTU(upf, n), ptr.Deref(n.VLAN, 0)})
		}
	}
	return out
}

// upfuVLAN is what UPF-U tags its frames with: nothing where the NIC does.
func (a attachmentOf) upfuVLAN() int32 {
	if a.spec.Type == api.AttachmentSRIOV {
		return 0
	}
	return a.vlan
}

// Attachments builds the NetworkAttachmentDefinitions of a UPFInstance, those of type Existing aside, and
// those whose device depends on the place of a unit.
func Attachments(upf *api.UPFInstance) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, a := range attachmentsOf(upf) {
		if a.spec.Type != api.AttachmentExisting && !perCell(a.spec) {
			out = append(out, attachment(upf, AttachmentName(upf.Name, a.iface), a))
		}
	}
	return out
}

// PlaceAttachments builds the NetworkAttachmentDefinitions for the devices of a place: a definition names
// one resource of a device plugin, and each cell has its own.
func PlaceAttachments(upf *api.UPFInstance, place *Place) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	devices := deviceOf(upf, place)
	for _, a := range attachmentsOf(upf) {
		if perCell(a.spec) {
			name := placedAttachmentName(upf, a, devices[a.iface])
			a.spec.ResourceName = devices[a.iface]
			out = append(out, attachment(upf, name, a))
		}
	}
	return out
}

func perCell(a api.AttachmentSpec) bool { return strings.Contains(a.ResourceName, placement.CellWord) }

// deviceOf returns the resource of each interface that has a device, at a place or as the user wrote it.
func deviceOf(upf *api.UPFInstance, place *Place) map[string]string {
	out := map[string]string{}
	i := 0
	for _, a := range attachmentsOf(upf) {
		if a.spec.ResourceName == "" {
			continue
		}
		out[a.iface] = a.spec.ResourceName
		if place != nil && i < len(place.Devices) {
			out[a.iface] = place.Devices[i]
		}
		i++
	}
	return out
}

// placedAttachmentName has the cell in it that the device comes from: what stands for {cell}.
func placedAttachmentName(upf *api.UPFInstance, a attachmentOf, device string) string {
	before, after, _ := strings.Cut(a.spec.ResourceName, placement.CellWord)
	cell := strings.TrimSuffix(strings.TrimPrefix(device, before), after)
	return AttachmentName(upf.Name, a.iface) + "-numa" + cell
}

func attachment(upf *api.UPFInstance, name string, a attachmentOf) *unstructured.Unstructured {
	spec, mtu := a.spec, a.mtu
	c := cniConfig{CNIVersion: "1.0.0", Name: name}
	switch spec.Type {
	case api.AttachmentMACVLAN:
		// Passthru and private would keep a gNB on the same node away.
		c.Type, c.Master, c.Mode, c.MTU, c.IPAM = "macvlan", spec.Master, "bridge", mtu, &cniIPAM{}
	case api.AttachmentHostDevice:
		// Multus puts the PCI address of the device that the device plugin chose into the configuration.
		c.Type = "host-device"
	case api.AttachmentSRIOV:
		c.Type, c.VLAN, c.Trust = "sriov", a.vlan, strings.ToLower(string(spec.Trust))
		if spec.MACAddress != "" {
			c.Capabilities = map[string]bool{"mac": true}
		}
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
	MAC       string `json:"mac,omitempty"`
}

// unitMAC is a unit's MAC address, "" where the user gives none: the first unit's with the number of the
// unit added.
func unitMAC(first string, unit int) string {
	mac, err := net.ParseMAC(first)
	if err != nil {
		return ""
	}
	for i, carry := len(mac)-1, unit; i > 0 && carry > 0; i-- {
		carry += int(mac[i])
		mac[i] = byte(carry)
		carry >>= 8
	}
	return mac.String()
}

// InterfaceN2 is the name inside the pod of the interface by core.spec.n2.networkAttachmentDefinition.
const InterfaceN2 = "n2"

// attachedToN2 has Multus give the pods that gNBs connect to an interface on N2's own network, where the core names one.
func (w workload) attachedToN2() workload {
	if name := w.core.Spec.N2.NetworkAttachmentDefinition; name != "" {
		w.networks = selections(existing(name, w.core.Namespace, InterfaceN2))
	}
	return w
}

// existing names a NetworkAttachmentDefinition that somebody else made.
func existing(definition, here, iface string) networkSelection {
	namespace, name, found := strings.Cut(definition, "/")
	if !found {
		namespace, name = here, namespace
	}
	return networkSelection{Name: name, Namespace: namespace, Interface: iface}
}

func selections(list ...networkSelection) string {
	raw, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings only
	}
	return string(raw)
}

// networksAnnotation asks Multus for the pod's N3 and N6 interfaces, in the order in which UPF-U takes devices of one resource.
func networksAnnotation(upf *api.UPFInstance, unit int, place *Place) string {
	devices := deviceOf(upf, place)
	var list []networkSelection
	for _, a := range attachmentsOf(upf) {
		n := selection(upf, a, devices[a.iface], place)
		n.MAC = unitMAC(a.spec.MACAddress, unit)
		list = append(list, n)
	}
	return selections(list...)
}

func selection(upf *api.UPFInstance, a attachmentOf, device string, place *Place) networkSelection {
	if perCell(a.spec) && place != nil {
		return networkSelection{Name: placedAttachmentName(upf, a, device), Namespace: upf.Namespace, Interface: a.iface}
	}
	if a.spec.Type != api.AttachmentExisting {
		return networkSelection{Name: AttachmentName(upf.Name, a.iface), Namespace: upf.Namespace, Interface: a.iface}
	}
	return existing(a.spec.NetworkAttachmentDefinition, upf.Namespace, a.iface)
}
