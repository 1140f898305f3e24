package nodeagent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// FieldOwner of what the agent writes.
const FieldOwner = "core5g-node-agent"

// APIServer keeps statuses in DataplaneNodes, which it applies server-side.
type APIServer struct{ Client client.Client }

// Load reads the conditions of the node's DataplaneNode.
func (s APIServer) Load(ctx context.Context, node string) ([]metav1.Condition, error) {
	var d api.DataplaneNode
	err := s.Client.Get(ctx, client.ObjectKey{Name: node}, &d)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(fmt.Errorf("read DataplaneNode %s: %w", node, err))
	}
	return d.Status.Conditions, nil
}

// Save applies the status, and makes the object where it is missing. Its owner is the Node, so that it goes
// with it.
func (s APIServer) Save(ctx context.Context, node string, status *api.DataplaneNodeStatus) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return err
	}
	apply := func() error {
		u := &unstructured.Unstructured{Object: map[string]any{"status": runtime.DeepCopyJSON(raw)}}
		u.SetGroupVersionKind(api.GroupVersion.WithKind("DataplaneNode"))
		u.SetName(node)
		return s.Client.Status().Patch(ctx, u, client.Apply, client.FieldOwner(FieldOwner), client.ForceOwnership)
	}
	err = apply()
	if apierrors.IsNotFound(err) {
		if err = s.create(ctx, node); err == nil {
			err = apply()
		}
	}
	if err != nil {
		return explain(fmt.Errorf("apply DataplaneNode %s: %w", node, err))
	}
	return nil
}

func (s APIServer) create(ctx context.Context, node string) error {
	var n corev1.Node
	if err := s.Client.Get(ctx, client.ObjectKey{Name: node}, &n); err != nil {
		return fmt.Errorf("its Node: %w", err)
	}
	d := api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{
		Name: node, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}},
	}}
	err := s.Client.Create(ctx, &d, client.FieldOwner(FieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func explain(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not know DataplaneNodes: install the chart's CRDs: %w", err)
	}
	return err
}
