package main

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestVolumes(t *testing.T) {
	s, client := testSettings(t), fake.NewClientset()
	volume := func() *corev1.PersistentVolume {
		t.Helper()
		v, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "local-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	again := func() {
		t.Helper()
		if err := s.makeVolume(t.Context(), client, 1); err != nil {
			t.Fatal(err)
		}
	}
	become := func(phase corev1.PersistentVolumePhase) {
		t.Helper()
		v := volume()
		v.Spec.ClaimRef, v.Status.Phase = &corev1.ObjectReference{Name: "core5g-session-store"}, phase
		if _, err := client.CoreV1().PersistentVolumes().Update(t.Context(), v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	again()
	directory := s.path("volumes", "local-1")
	if info, err := os.Stat(directory); err != nil || !info.IsDir() || volume().Spec.Local.Path != volumesDir+"/local-1" {
		t.Fatalf("%v, %v: want the directory of %s", info, err, volume().Spec.Local.Path)
	}
	kept := filepath.Join(directory, "appendonlydir", "file")
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	become(corev1.VolumeBound)
	again()
	if _, err := os.Stat(kept); err != nil || volume().Spec.ClaimRef == nil {
		t.Errorf("a volume that is claimed: %v, claim %v", err, volume().Spec.ClaimRef)
	}
	become(corev1.VolumeReleased)
	again()
	if _, err := os.Stat(filepath.Dir(kept)); !os.IsNotExist(err) || volume().Spec.ClaimRef != nil {
		t.Errorf("a volume whose claim is gone: %v, claim %v", err, volume().Spec.ClaimRef)
	}
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		t.Errorf("its directory: %v", err)
	}
}

func TestDefaultClassWaitsForItsPod(t *testing.T) {
	c := defaultClass()
	if c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" || *c.VolumeBindingMode != "WaitForFirstConsumer" || testSettings(t).localVolume(1).Spec.StorageClassName != c.Name {
		t.Errorf("%+v", c)
	}
}

// Each node has volumes of its own, in its own directory, which pods of that node alone may have.
func TestVolumesOfAFurtherNode(t *testing.T) {
	s, client := testSettings(t), fake.NewClientset()
	second := s.further(2)
	if s.volumes() != volumeCount || second.volumes() != furtherVolumes {
		t.Errorf("%d and %d volumes", s.volumes(), second.volumes())
	}
	for _, node := range []*settings{s, second} {
		if err := node.makeVolume(t.Context(), client, 1); err != nil {
			t.Fatal(err)
		}
	}
	for name, node := range map[string]*settings{"local-1": s, "local-2-1": second} {
		v, err := client.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if at := v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values; len(at) != 1 || at[0] != node.name() {
			t.Errorf("%s is of nodes %v", name, at)
		}
		if info, err := os.Stat(node.path("volumes", name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
}
