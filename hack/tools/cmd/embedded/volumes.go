package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The cluster has a default StorageClass, as those have that people rent: a few PersistentVolumes, made ahead, each a
// directory of a node in its state directory. A claim takes one; what a claim that is gone has left in its volume is
// deleted by the next `up`, and the volume offered again.

const (
	storageClass = "local"
	// volumeCount volumes are the first node's, and furtherVolumes each other one's.
	volumeCount    = 8
	furtherVolumes = 3
	// volumeSize is what a volume says of itself; the disk is the machine's.
	volumeSize = "8Gi"
	// volumesDir is where the sandbox has them, apart from the state directory's other places.
	volumesDir = "/var/lib/core5g-volumes"
)

// volumes is how many this node has.
func (s *settings) volumes() int {
	if s.number > 1 {
		return furtherVolumes
	}
	return volumeCount
}

// volumeName of a volume of this node, from 1.
func (s *settings) volumeName(n int) string {
	if s.number > 1 {
		return fmt.Sprintf("local-%d-%d", s.number, n)
	}
	return fmt.Sprintf("local-%d", n)
}

// makeVolumes makes what is missing, and empties what nobody claims any more.
func (s *settings) makeVolumes(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	class := defaultClass()
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("StorageClass %s: %w", class.Name, err)
	}
	nodes, err := s.all()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for n := 1; n <= node.volumes(); n++ {
			if err := node.makeVolume(ctx, client, n); err != nil {
				return fmt.Errorf("PersistentVolume %s: %w", node.volumeName(n), err)
			}
		}
	}
	return nil
}

func (s *settings) makeVolume(ctx context.Context, client kubernetes.Interface, n int) error {
	directory := s.path("volumes", s.volumeName(n))
	api := client.CoreV1().PersistentVolumes()
	live, err := api.Get(ctx, s.volumeName(n), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return err
		}
		_, err := api.Create(ctx, s.localVolume(n), metav1.CreateOptions{})
		return err
	case err != nil || live.Status.Phase != corev1.VolumeReleased:
		return err
	}
	left, err := filepath.Glob(filepath.Join(directory, "*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	live.Spec.ClaimRef = nil
	_, err = api.Update(ctx, live, metav1.UpdateOptions{})
	return err
}

func defaultClass() *storagev1.StorageClass {
	later := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: storageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:       "kubernetes.io/no-provisioner",
		VolumeBindingMode: &later,
	}
}

func (s *settings) localVolume(n int) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.volumeName(n)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(volumeSize)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			StorageClassName:              storageClass,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(volumesDir, s.volumeName(n))}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{s.name()}}},
			}}}},
		},
	}
}
