package specs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Platform is what the operator's own installation decides.
type Platform struct {
	// Registry and Tag of the functions' images where a Core5G says nothing.
	Registry, Tag string
	// Digests of images, by tag and name of the image: what a release means by its tag, whichever registry it was
	// pushed to. An image under another tag is taken by the tag alone.
	Digests map[string]map[string]string
	// OperatorNamespace is where the operator's own pod is; empty means that of every core.
	OperatorNamespace string
	// OperatorImage runs the init containers that wait for peers.
	OperatorImage string
	// PullPolicy where a Core5G says nothing.
	PullPolicy corev1.PullPolicy
	// SubscriberDataServiceAccount may read Subscribers, Slices and Secrets.
	SubscriberDataServiceAccount string
	// SessionManagementServiceAccount may read Core5Gs, Slices and UPFInstances.
	SessionManagementServiceAccount string
	// AccessManagementServiceAccount may read Core5Gs.
	AccessManagementServiceAccount string
	// ControlPlaneServiceAccount may do what these three may.
	ControlPlaneServiceAccount string
	// Accounts is who makes accounts where the chart has not made these.
	Accounts Accounts
}

// Image returns the image of a function: the core's own for this function, or registry, name and tag, with the
// digest where the tag's are known. The core may be nil.
func (p Platform) Image(core *api.Core5G, fn api.FunctionName) string {
	if f := Function(core, fn); f != nil && f.Image != "" {
		return f.Image
	}
	if fn == api.FunctionN2Terminator {
		return p.Image(core, api.FunctionAccessManagement) // which has both programs
	}
	registry, tag := p.Registry, p.Tag
	if core != nil && core.Spec.Images.Registry != "" {
		registry = core.Spec.Images.Registry
	}
	if core != nil && core.Spec.Images.Tag != "" {
		tag = core.Spec.Images.Tag
	}
	image := string(fn)
	if registry != "" {
		image = strings.TrimSuffix(registry, "/") + "/" + image
	}
	if tag != "" {
		image += ":" + tag
	}
	if digest := p.Digests[tag][string(fn)]; digest != "" {
		image += "@" + digest
	}
	return image
}

func (p Platform) pullPolicy(core *api.Core5G) corev1.PullPolicy {
	if core != nil && core.Spec.Images.PullPolicy != "" {
		return core.Spec.Images.PullPolicy
	}
	if p.PullPolicy != "" {
		return p.PullPolicy
	}
	return corev1.PullIfNotPresent
}

func pullSecrets(core *api.Core5G) []corev1.LocalObjectReference {
	if core == nil {
		return nil
	}
	var out []corev1.LocalObjectReference
	for _, s := range core.Spec.Images.PullSecrets {
		out = append(out, corev1.LocalObjectReference{Name: s.Name})
	}
	return out
}

// Function returns the core's overrides for a function, or nil.
func Function(core *api.Core5G, fn api.FunctionName) *api.FunctionSpec {
	if core == nil {
		return nil
	}
	for i := range core.Spec.Functions {
		if core.Spec.Functions[i].Name == fn {
			return &core.Spec.Functions[i]
		}
	}
	return nil
}
