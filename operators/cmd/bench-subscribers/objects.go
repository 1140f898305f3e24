package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

const (
	namespace = "core5g"
	core      = "core5g"
	slice     = "internet"
	upf       = "upf"
	// batch is the label of all that is created in bulk.
	batch = "example.org/batch=bench"
	// perFile is how many Subscribers a file has.
	perFile = 1000
)

func supi(i int) string { return fmt.Sprintf("imsi-20893%010d", i) }

// writeManifests writes Subscribers with their Secrets into files of a folder, which it returns.
func writeManifests(folder string, n int) (files []string, err error) {
	for from := 0; from < n; from += perFile {
		path := filepath.Join(folder, fmt.Sprintf("subscribers-%06d.yaml", from))
		if err := writeManifest(path, from, min(from+perFile, n)); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

func writeManifest(path string, from, to int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	w := bufio.NewWriter(file)
	label := strings.Replace(batch, "=", ": ", 1)
	for i := from; i < to; i++ {
		fmt.Fprintf(w, `---
apiVersion: v1
kind: Secret
metadata: {name: ue-%06[1]d, labels: {%[2]s}}
stringData: {k: "%032[3]x", opc: "%032[4]x"}
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: ue-%06[1]d, labels: {%[2]s}}
spec:
  supi: %[5]s
  gpsi: msisdn-336%08[1]d
  authentication: {secretRef: {name: ue-%06[1]d}}
  slices: [{name: %[6]s}]
`, i, label, 2*i+1, 2*i+2, supi(i), slice)
	}
	return errors.Join(w.Flush(), file.Close())
}

// makeSliceReady makes a core with one Slice, and plays scheduler, Multus, kubelet and Deployment controller.
func (r *rig) makeSliceReady(ctx context.Context) error {
	for _, o := range []struct {
		object   client.Object
		manifest string
	}{
		{&api.Core5G{}, `
metadata: {name: ` + core + `}
spec: {plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001"], sliceCatalogue: [{sst: 1, sd: "010203"}]}
`},
		{&api.UPFInstance{}, `
metadata: {name: ` + upf + `}
spec:
  n3: {attachment: {type: Bridge, bridge: c5g-n3}, subnet: 172.30.3.0/24, endpoints: 172.30.3.16/28}
  n6: {attachment: {type: Bridge, bridge: c5g-n6}, address: 172.30.6.2/24, gateway: 172.30.6.1}
`},
		{&api.Slice{}, `
metadata: {name: ` + slice + `}
spec: {snssai: {sst: 1, sd: "010203"}, dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}]}
`},
	} {
		if err := yaml.UnmarshalStrict([]byte(o.manifest), o.object); err != nil {
			return err
		}
		o.object.SetNamespace(namespace)
		if err := r.client.Create(ctx, o.object); err != nil {
			return err
		}
	}
	return r.eventually(ctx, "the Slice is Ready", func(ctx context.Context) error {
		if err := r.playUnit(ctx); err != nil {
			return err
		}
		for _, name := range []string{core + "-amf", smf} {
			if err := r.client.Get(ctx, key(name), &appsv1.Deployment{}); err != nil {
				return err
			}
		}
		if err := r.setSMF(ctx, 1); err != nil {
			return err
		}
		s := &api.Slice{}
		if err := r.client.Get(ctx, key(slice), s); err != nil {
			return err
		}
		if ready := meta.FindStatusCondition(s.Status.Conditions, api.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("it is %+v", s.Status.Conditions)
		}
		return nil
	})
}

// smf is the Deployment of the SMF that all Slices share.
var smf = specs.SMFSet{Core: &api.Core5G{ObjectMeta: metav1.ObjectMeta{Name: core}}}.Deployment()

func key(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

// playUnit has the UPF's pod run.
func (r *rig) playUnit(ctx context.Context) error {
	pod := &corev1.Pod{}
	if err := r.client.Get(ctx, key(upf+"-0"), pod); err != nil {
		return err
	}
	if pod.Status.Phase == corev1.PodRunning {
		return nil
	}
	if pod.Spec.NodeName == "" {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
		if err := r.client.SubResource("binding").Create(ctx, pod, binding); err != nil {
			return err
		}
		if err := r.client.Get(ctx, key(pod.Name), pod); err != nil {
			return err
		}
	}
	patch := client.MergeFrom(pod.DeepCopy())
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "k8s.v1.cni.cncf.io/network-status", `[{"interface":"eth0"},{"interface":"n3"},{"interface":"n6"}]`)
	if err := r.client.Patch(ctx, pod, patch); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return r.client.Status().Update(ctx, pod)
}

// setSMF says how many pods of the SMF are available.
func (r *rig) setSMF(ctx context.Context, available int32) error {
	d := &appsv1.Deployment{}
	if err := r.client.Get(ctx, key(smf), d); err != nil {
		return err
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: available, AvailableReplicas: available}
	return r.client.Status().Update(ctx, d)
}

// authenticateAll asks for a challenge for every Subscriber, some at a time: each has its Secret read, and kept for
// the time that the API server is away.
func (r *rig) authenticateAll(ctx context.Context) error {
	asks := h2c()
	defer asks.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin, queue := time.Now(), make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range queue {
				if err := r.authenticate(ctx, asks, supi(i)); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := range r.subscribers {
		select {
		case queue <- i:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	sayTime("challenged_s", time.Since(begin))
	return nil
}

func (r *rig) authenticate(ctx context.Context, asks *http.Client, supi string) error {
	var answer struct {
		Type string `json:"authType"`
	}
	return r.challenge(ctx, asks, supi, &answer)
}
