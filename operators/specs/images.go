package specs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Platform is what the operator's own installation decides.
type Platform struct {
	// Images are the default image references of the functions.
	Images map[api.FunctionName]string
	// OperatorImage runs the init containers that wait for peers.
	OperatorImage string
	// PullPolicy where a Core5G says nothing.
	PullPolicy corev1.PullPolicy
	// SubscriberDataServiceAccount may read Subscribers, Slices and Secrets.
	SubscriberDataServiceAccount string
}

// Image returns the image of a function: the core's own for this function, or the operator's default
// with the core's registry and tag put in.
func (p Platform) Image(core *api.Core5G, fn api.FunctionName) string {
	if f := Function(core, fn); f != nil && f.Image != "" {
		return f.Image
	}
	repository, name, tag := splitImage(p.Images[fn])
	if name == "" {
		repository, name, tag = "core5g", string(fn), "dev"
	}
	if core != nil && core.Spec.Images.Registry != "" {
		repository = strings.TrimSuffix(core.Spec.Images.Registry, "/")
	}
	if core != nil && core.Spec.Images.Tag != "" {
		tag = core.Spec.Images.Tag
	}
	image := name
	if repository != "" {
		image = repository + "/" + name
	}
	if strings.HasPrefix(tag, "sha256:") {
		return image + "@" + tag
	}
	if tag != "" {
		image += ":" + tag
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

// splitImage takes registry.example:5000/core5g/amf:dev or …@sha256:… apart. The tag of an image by
// digest is the digest.
func splitImage(image string) (repository, name, tag string) {
	if i := strings.Index(image, "@"); i >= 0 {
		image, tag = image[:i], image[i+1:]
	}
	slash := strings.LastIndex(image, "/")
	if slash >= 0 {
		repository = image[:slash]
	}
	name = image[slash+1:]
	if i := strings.Index(name, ":"); i >= 0 {
		if tag == "" {
			tag = name[i+1:]
		}
		name = name[:i]
	}
	return repository, name, tag
}
