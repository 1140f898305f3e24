package specs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"core5g.dev/core5g/images/subscriberdatabase"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The programs find the Secret of the database where the pods have it, in either layout.
func TestPodsKnowTheDatabaseOfSubscribers(t *testing.T) {
	core := makeOwnCore()
	core.Spec.SubscriberData = api.SubscriberDataPostgreSQL
	core.Spec.SubscriberDatabase = &api.SubscriberDatabaseSpec{SecretRef: api.SecretReference{Name: "subscribers"}}
	fused := core.DeepCopy()
	fused.Spec.Layout = api.LayoutFused
	for name, pod := range map[string]corev1.PodSpec{
		"distributed": SubscriberData(core, platform).Deployment.Spec.Template.Spec,
		"fused":       ControlPlane(fused, platform, nil).Deployment.Spec.Template.Spec,
	} {
		env, of, volume, mount := "", "", "", ""
		for _, e := range pod.Containers[0].Env {
			if e.Name == subscriberdatabase.DirectoryEnv {
				env = e.Value
			}
			if e.Name == subscriberdatabase.CoreEnv {
				of = e.Value
			}
		}
		for _, v := range pod.Volumes {
			if v.Secret != nil && v.Secret.SecretName == "subscribers" {
				volume = v.Name
			}
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if m.Name == volume {
				mount = m.MountPath
			}
		}
		if env == "" || env != mount {
			t.Errorf("%s: %s is %q, and volume %q of the Secret is mounted at %q", name, subscriberdatabase.DirectoryEnv, env, volume, mount)
		}
		if want := core.Namespace + "/" + core.Name; of != want {
			t.Errorf("%s: %s is %q, want %q", name, subscriberdatabase.CoreEnv, of, want)
		}
	}
	if name := SubscriberDatabaseSecretName(makeCore()); name != "" {
		t.Errorf("a core without a database names Secret %q", name)
	}
}
