package kubectlplugin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// report writes a support bundle. What cannot be had is named in its errors.txt, and the rest is there.
func (p *Plugin) report(ctx context.Context, _ []string) error {
	if p.logLines < 1 {
		return &usageError{"-log-lines: write 1 or more"}
	}
	name := "core5g-report-" + p.Now().UTC().Format("20060102-150405")
	file := or(p.output, name+".tar.gz")
	var out io.WriteCloser = keepOpen{p.Out}
	if file != "-" {
		var err error
		if out, err = p.Create(file); err != nil {
			return err
		}
	}
	packed := gzip.NewWriter(out)
	b := &bundle{dir: name, plugin: p, tar: tar.NewWriter(packed), redactor: NewRedactor()}
	b.collect(ctx)
	if err := errors.Join(b.err, b.tar.Close(), packed.Close(), out.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if file != "-" {
		fmt.Fprintf(p.Out, "%s: %d files; keys, passwords and tokens are removed, SUPIs and addresses of UEs are not\n", file, b.files)
	}
	return nil
}

// keepOpen leaves standard output to those who opened it.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// bundle is the archive. Everything in it passes add.
type bundle struct {
	dir      string
	plugin   *Plugin
	tar      *tar.Writer
	redactor *Redactor
	files    int
	missing  []string
	err      error
}

func (b *bundle) add(name, content string) {
	if b.err != nil {
		return
	}
	content = b.redactor.Clean(content)
	b.err = b.tar.WriteHeader(&tar.Header{Name: path.Join(b.dir, b.redactor.Clean(name)), Mode: 0o600, Size: int64(len(content)), ModTime: b.plugin.Now()})
	if b.err == nil {
		_, b.err = io.WriteString(b.tar, content)
	}
	b.files++
}

func (b *bundle) lack(what string, err error) {
	b.missing = append(b.missing, fmt.Sprintf("%s: %v", what, err))
}

// kinds are the namespace's objects of a core; no Secret is among them. ours restricts foreign kinds to
// what the chart and the operator have made.
func (b *bundle) kinds() []struct {
	name string
	list client.ObjectList
	ours bool
} {
	attachments := &unstructured.UnstructuredList{}
	attachments.SetGroupVersionKind(schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinitionList"})
	return []struct {
		name string
		list client.ObjectList
		ours bool
	}{
		{"core5gs", &api.Core5GList{}, false},
		{"slices", &api.SliceList{}, false},
		{"upfinstances", &api.UPFInstanceList{}, false},
		{"subscribers", &api.SubscriberList{}, false},
		{"pods", &corev1.PodList{}, true},
		{"services", &corev1.ServiceList{}, true},
		{"configmaps", &corev1.ConfigMapList{}, true},
		{"deployments", &appsv1.DeploymentList{}, true},
		{"poddisruptionbudgets", &policyv1.PodDisruptionBudgetList{}, true},
		{"networkattachmentdefinitions", attachments, true},
		{"events", &corev1.EventList{}, false},
	}
}

func (b *bundle) collect(ctx context.Context) {
	p := b.plugin
	b.text("status.txt", func(out io.Writer) error { return p.printStatus(ctx, out) })
	b.text("sessions.txt", func(out io.Writer) error { return p.printSessions(ctx, out, "") })
	if own, err := p.ownControlPlane(ctx); err != nil {
		b.lack("smf-sessions.txt", err)
		b.lack("ues.txt", err)
	} else if own {
		b.text("smf-sessions.txt", func(out io.Writer) error { return p.printSMFSessions(ctx, out, defaultLimit) })
		b.text("ues.txt", func(out io.Writer) error { return p.printUEs(ctx, out) })
	}
	var pods []corev1.Pod
	for _, kind := range b.kinds() {
		options := []client.ListOption{client.InNamespace(p.Namespace)}
		if kind.ours {
			options = append(options, client.MatchingLabels{api.LabelName: "core5g"})
		}
		if err := p.Client.List(ctx, kind.list, options...); err != nil {
			b.lack(kind.name, err)
			continue
		}
		if list, is := kind.list.(*corev1.PodList); is {
			pods = list.Items
		}
		b.objects(kind.name, kind.list)
	}
	for name, list := range map[string]client.ObjectList{"dataplanenodes": &api.DataplaneNodeList{}, "nodes": &corev1.NodeList{}} {
		if err := p.Client.List(ctx, list); err != nil {
			b.lack(name, err)
			continue
		}
		b.objects(name, list)
	}
	for i := range pods {
		b.logs(ctx, &pods[i])
	}
	if len(b.missing) > 0 {
		b.add("errors.txt", strings.Join(b.missing, "\n")+"\n")
	}
}

func (b *bundle) text(name string, write func(io.Writer) error) {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		b.lack(name, err)
	}
	if out.Len() > 0 {
		b.add(name, out.String())
	}
}

// objects of one kind become one file.
func (b *bundle) objects(kind string, list client.ObjectList) {
	items, err := meta.ExtractList(list)
	if err != nil {
		b.lack(kind, err)
		return
	}
	var out strings.Builder
	for _, item := range items {
		text, err := plain(item)
		if err != nil {
			b.lack(kind, err)
			continue
		}
		out.WriteString("---\n" + text)
	}
	if out.Len() > 0 {
		b.add("objects/"+kind+".yaml", out.String())
	}
}

// plain is an object as YAML, without what only the API server needs, what repeats it, and values of
// environment variables that sound secret.
func plain(object runtime.Object) (string, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	u := &unstructured.Unstructured{Object: raw}
	u.SetManagedFields(nil)
	annotations := u.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	u.SetAnnotations(annotations)
	hideEnvironment(u.Object)
	text, err := yaml.Marshal(u.Object)
	return string(text), err
}

var secretName = regexp.MustCompile(`(?i)(passw|token|secret|key|credential|auth)`)

// hideEnvironment removes values of lists named env, wherever in an object they are.
func hideEnvironment(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			list, is := inner.([]any)
			if key != "env" || !is {
				hideEnvironment(inner)
				continue
			}
			for _, entry := range list {
				variable, is := entry.(map[string]any)
				name, _ := variable["name"].(string)
				if _, has := variable["value"]; is && has && secretName.MatchString(name) {
					variable["value"] = "[removed]"
				}
			}
		}
	case []any:
		for _, inner := range v {
			hideEnvironment(inner)
		}
	}
}

// logs of every container of a pod, and of those before it that ended.
func (b *bundle) logs(ctx context.Context, pod *corev1.Pod) {
	restarted := map[string]bool{}
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		restarted[s.Name] = s.RestartCount > 0
	}
	for _, c := range append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		for _, previous := range []bool{false, true} {
			if previous && !restarted[c.Name] {
				continue
			}
			name := fmt.Sprintf("logs/%s/%s.log", pod.Name, c.Name)
			if previous {
				name = fmt.Sprintf("logs/%s/%s.previous.log", pod.Name, c.Name)
			}
			text, err := b.plugin.Pods.Logs(ctx, pod.Namespace, pod.Name, c.Name, previous, b.plugin.logLines)
			if err != nil {
				b.lack(name, err)
				continue
			}
			b.add(name, string(text))
		}
	}
}
