package v1alpha1

// DefaultCore is the name of the Core5G that a reference means when it names none.
const DefaultCore = "core5g"

// CoreReference names a Core5G of the same namespace.
type CoreReference struct {
	// name of the Core5G.
	// +kubebuilder:default=core5g
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// NameOrDefault returns the name of the Core5G that is meant.
func (r CoreReference) NameOrDefault() string {
	if r.Name == "" {
		return DefaultCore
	}
	return r.Name
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SecretKeyReference names one key of a Secret of the same namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key within the Secret's data.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
