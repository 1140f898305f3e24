package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/knock"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// elsewhere is the namespace of visitors who are not of the core's.
const elsewhere = "core5g-visitors"

// A visitor is a pod that tries doors.
type visitor struct {
	name, namespace string
	// labels beside the one of all visitors.
	labels string
}

const visiting = "core5g.dev/visitor"

// Two have no business at any door; the others have the labels of who has some. Without the label
// managed-by no Service sends anything to them.
var (
	stranger   = visitor{"stranger", elsewhere, ""}
	unlabelled = visitor{"unlabelled", cluster.Namespace, ""}
	asPCF      = visitor{"visitor-pcf", cluster.Namespace, function("pcf")}
	asAMF      = visitor{"visitor-amf", cluster.Namespace, function("amf") + ", " + api.LabelAccessManagement + ": core"}
	asSMF      = visitor{"visitor-smf", cluster.Namespace, function("smf") + ", " + api.LabelSessionManagement + ": core"}
	prometheus = visitor{"visitor-prometheus", elsewhere, ", app.kubernetes.io/name: prometheus"}

	visitors = []visitor{stranger, unlabelled, asPCF, asAMF, asSMF, prometheus}
)

func function(component string) string {
	return fmt.Sprintf(", app.kubernetes.io/name: core5g, app.kubernetes.io/instance: %s, app.kubernetes.io/component: %s", core, component)
}

func (v visitor) manifest(image string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, labels: {%s: "true"%s}}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: visitor
      image: %s
      imagePullPolicy: IfNotPresent
      command: [/bin/busybox, sleep, "3600"]
      resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 128Mi}}
      securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
      volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
`, v.name, v.namespace, visiting, v.labels, image)
}

// invite brings the visitors into the cluster, in the simulated phones' image, each with the program.
func invite(ctx context.Context) error {
	path, err := k.Built("knock", "e2e-security")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	image, err := k.Run(ctx, "get", "deployment", "ran", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	if err != nil {
		return err
	}
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + elsewhere + ", labels: {pod-security.kubernetes.io/enforce: restricted}}\n"
	if _, err := k.Input(ctx, namespace, "apply", "-f", "-"); err != nil {
		return err
	}
	for _, v := range visitors {
		if _, err := k.Input(ctx, v.manifest(image), "apply", "-n", v.namespace, "-f", "-"); err != nil {
			return err
		}
	}
	for _, v := range visitors {
		if _, err := k.Run(ctx, "wait", "-n", v.namespace, "pod/"+v.name, "--for=condition=Ready", "--timeout=60s"); err != nil {
			return err
		}
		if _, err := k.Input(ctx, string(program), "exec", "-i", "-n", v.namespace, v.name, "--",
			"/bin/busybox", "sh", "-c", "cat >/tmp/knock && /bin/busybox chmod 755 /tmp/knock"); err != nil {
			return err
		}
	}
	return nil
}

func dismiss(ctx context.Context) error {
	_, err := k.Run(ctx, "delete", "namespace", elsewhere, "--ignore-not-found", "--timeout=60s")
	for _, v := range visitors {
		if v.namespace == cluster.Namespace {
			_, e := k.Run(ctx, "delete", "pod", v.name, "--ignore-not-found", "--timeout=60s")
			err = errors.Join(err, e)
		}
	}
	return err
}

// try has the visitor knock.
func (v visitor) try(ctx context.Context, visit knock.Visit) (map[string]knock.Answer, error) {
	in, err := json.Marshal(visit)
	if err != nil {
		return nil, err
	}
	out, err := k.Input(ctx, string(in), "exec", "-i", "-n", v.namespace, v.name, "--", "/tmp/knock")
	if err != nil {
		return nil, err
	}
	answers := map[string]knock.Answer{}
	if err := json.Unmarshal([]byte(out), &answers); err != nil {
		return nil, fmt.Errorf("%s answered %q: %w", v.name, out, err)
	}
	return answers, nil
}

// address of a component's pod.
func address(ctx context.Context, component string) (string, error) {
	selector := "app.kubernetes.io/name=core5g,!" + visiting + ",app.kubernetes.io/component=" + component
	pods, err := k.Pods(ctx, selector)
	if err != nil {
		return "", err
	}
	var found []string
	for _, pod := range pods {
		if pod.Status.PodIP != "" && pod.Ready() {
			found = append(found, pod.Status.PodIP)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no pod of %s is ready", component)
	}
	return found[0], nil
}
