// Package cluster talks to any Kubernetes cluster the way its users do: through kubectl and helm,
// with a kubeconfig. The suites and the report of `make up` share it; neither knows which provider
// made the cluster.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/hack/repository"
)

// Namespace and Release are the project's fixed names.
const (
	Namespace = "core5g"
	Release   = "core5g"
)

// Cluster is a kubeconfig and the binaries to use it with.
type Cluster struct {
	Root       string // of the repository
	Kubeconfig string
	Kubectl    string
	Helm       string
}

// Open finds the repository's root and its tools, and asks hack/cluster.sh for the kubeconfig.
// KUBECONFIG alone is not followed: it may name a cluster that is nobody's to try things on.
// CORE5G_CLUSTER=existing says that it is meant.
func Open(ctx context.Context) (*Cluster, error) { return open(ctx, os.Environ()) }

// OpenNamed opens one of several embedded clusters of this machine (CORE5G_INSTANCE in hack/README.md).
func OpenNamed(ctx context.Context, instance string) (*Cluster, error) {
	return open(ctx, append(os.Environ(), "CORE5G_CLUSTER=embedded", "CORE5G_INSTANCE="+instance))
}

func open(ctx context.Context, environment []string) (*Cluster, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "hack/cluster.sh"), "kubeconfig")
	cmd.Env = environment
	out, err := cmd.Output()
	if err != nil {
		said := err.Error()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			said = strings.TrimSpace(string(exit.Stderr))
		}
		return nil, fmt.Errorf("no cluster: %s; run `make up`, or set CORE5G_CLUSTER=existing and KUBECONFIG", said)
	}
	c := &Cluster{Root: root, Kubeconfig: strings.TrimSpace(string(out))}
	if c.Kubectl, err = tool(root, "kubectl"); err != nil {
		return nil, err
	}
	if c.Helm, err = tool(root, "helm"); err != nil {
		return nil, err
	}
	return c, nil
}

// Built is the path of a program of out/bin, which a target of make builds; an error says which.
func (c *Cluster) Built(name, target string) (string, error) {
	path := filepath.Join(c.Root, "out/bin", name)
	if !executable(path) {
		return "", fmt.Errorf("%s is not built: run `make %s`", path, target)
	}
	return path, nil
}

func tool(root, name string) (string, error) {
	if built := filepath.Join(root, "out/bin", name); executable(built) {
		return built, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: neither built (make tools) nor on the PATH", name)
	}
	return path, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// Run runs kubectl in the project's namespace and returns what it printed on standard output. The
// error carries what it printed at all.
func (c *Cluster) Run(ctx context.Context, args ...string) (string, error) {
	return c.exec(ctx, nil, c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig, "-n", Namespace}, args...)...)
}

// Input is Run with standard input.
func (c *Cluster) Input(ctx context.Context, in string, args ...string) (string, error) {
	return c.exec(ctx, strings.NewReader(in), c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig, "-n", Namespace}, args...)...)
}

// HelmRun runs helm in the project's namespace.
func (c *Cluster) HelmRun(ctx context.Context, args ...string) (string, error) {
	return c.exec(ctx, nil, c.Helm, append([]string{"--kubeconfig", c.Kubeconfig, "-n", Namespace}, args...)...)
}

// There is nil where the cluster has all of these objects ("core5g/core5g"), as a story that begins with them needs; an error says what brings them.
func (c *Cluster) There(ctx context.Context, objects ...string) error {
	for _, object := range objects {
		said, err := c.Run(ctx, "get", object, "--ignore-not-found", "-o", "name")
		if err == nil && strings.TrimSpace(said) == "" {
			err = errors.New("it is not there")
		}
		if err != nil {
			return fmt.Errorf("this begins with %s, which the cluster has not: run `make up` (`make e2e` ends with an empty cluster): %w", object, err)
		}
	}
	return nil
}

// Revision is the present one of the release, which `helm rollback` takes back to.
func (c *Cluster) Revision(ctx context.Context) (string, error) {
	out, err := c.HelmRun(ctx, "history", Release, "--max", "1", "-o", "json")
	if err != nil {
		return "", fmt.Errorf("no release %s, run `make up`: %w", Release, err)
	}
	_, rest, found := strings.Cut(out, `"revision":`)
	revision, _, _ := strings.Cut(rest, ",")
	if !found {
		return "", fmt.Errorf("helm history says %q", out)
	}
	return revision, nil
}

func (c *Cluster) exec(ctx context.Context, in io.Reader, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.Root
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	if err := cmd.Run(); err != nil {
		// `ran ctl` says on its standard output what has failed; kubectl adds the exit status on the other.
		said := strings.TrimSpace(strings.TrimSpace(out.String()) + "\n" + strings.TrimSpace(errs.String()))
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, said)
	}
	return out.String(), nil
}

// JSON runs kubectl with -o json and decodes into v.
func (c *Cluster) JSON(ctx context.Context, v any, args ...string) error {
	out, err := c.Run(ctx, append(args, "-o", "json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), v)
}

// Apply applies manifests, files or directories relative to the root.
func (c *Cluster) Apply(ctx context.Context, files ...string) error {
	for _, file := range files {
		if _, err := c.Run(ctx, "apply", "--server-side", "--field-manager=kubectl-client-side-apply", "-f", filepath.Join(c.Root, file)); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes what the manifests name and waits until it is gone.
func (c *Cluster) Delete(ctx context.Context, files ...string) error {
	for _, file := range files {
		if _, err := c.Run(ctx, "delete", "--ignore-not-found", "--wait", "--timeout=120s", "-f", filepath.Join(c.Root, file)); err != nil {
			return err
		}
	}
	return nil
}

// WaitCondition waits for a condition of an object ("slice/internet") to become True; the error
// holds all its conditions, as its owner would ask for them.
func (c *Cluster) WaitCondition(ctx context.Context, object, condition string, limit time.Duration) error {
	return c.WaitConditionIs(ctx, object, condition, "True", limit)
}

// WaitConditionIs waits for a condition to have the status.
func (c *Cluster) WaitConditionIs(ctx context.Context, object, condition, status string, limit time.Duration) error {
	var last Object
	err := Eventually(ctx, limit, func() error {
		last = Object{}
		if err := c.JSON(ctx, &last, "get", object); err != nil {
			return err
		}
		got, ok := last.Condition(condition)
		if !ok {
			return fmt.Errorf("%s has no condition %s yet", object, condition)
		}
		if got.Status != status || got.ObservedGeneration != 0 && got.ObservedGeneration < last.Metadata.Generation {
			return fmt.Errorf("%s: %s=%s (%s: %s), want %s", object, condition, got.Status, got.Reason, got.Message, status)
		}
		return nil
	})
	if err != nil {
		var all strings.Builder
		for _, cond := range last.Status.Conditions {
			fmt.Fprintf(&all, "\n  %s=%s %s: %s", cond.Type, cond.Status, cond.Reason, cond.Message)
		}
		return fmt.Errorf("%w%s", err, all.String())
	}
	return nil
}

// Object is as much of any object as the suites look at.
type Object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		Generation        int64             `json:"generation"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		NodeName   string      `json:"nodeName"`
		Containers []Container `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase             string            `json:"phase"`
		PodIP             string            `json:"podIP"`
		Conditions        []Condition       `json:"conditions"`
		ContainerStatuses []ContainerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// Container is a container of a pod's spec.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// ContainerStatus is what the kubelet says of one.
type ContainerStatus struct {
	Name         string `json:"name"`
	Ready        bool   `json:"ready"`
	RestartCount int    `json:"restartCount"`
	ContainerID  string `json:"containerID"`
	ImageID      string `json:"imageID"` // by its digest, where that is known
}

// Condition is a status condition.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// Condition finds a condition by its type.
func (o Object) Condition(name string) (Condition, bool) {
	for _, c := range o.Status.Conditions {
		if c.Type == name {
			return c, true
		}
	}
	return Condition{}, false
}

// Pods lists pods by label selector, without those that are on their way out.
func (c *Cluster) Pods(ctx context.Context, selector string) ([]Object, error) {
	list, err := c.allPods(ctx, selector)
	return slices.DeleteFunc(list, func(pod Object) bool { return pod.Metadata.DeletionTimestamp != "" }), err
}

func (c *Cluster) allPods(ctx context.Context, selector string) ([]Object, error) {
	var list struct {
		Items []Object `json:"items"`
	}
	err := c.JSON(ctx, &list, "get", "pods", "-l", selector)
	return list.Items, err
}

// Ended is nil when none of these pods of a component is there any more: what was connected to one is connected to another by then.
func (c *Cluster) Ended(ctx context.Context, component string, pods []Object) error {
	list, err := c.allPods(ctx, "app.kubernetes.io/component="+component)
	for _, is := range list {
		for _, was := range pods {
			if is.Metadata.Name == was.Metadata.Name {
				return fmt.Errorf("pod %s has not ended yet", was.Metadata.Name)
			}
		}
	}
	return err
}

// Component lists the pods of one component ("amf", "upf" …).
func (c *Cluster) Component(ctx context.Context, name string) ([]Object, error) {
	return c.Pods(ctx, "app.kubernetes.io/component="+name)
}

// Ready says whether all containers of a pod are ready.
func (o Object) Ready() bool {
	cond, ok := o.Condition("Ready")
	return ok && cond.Status == "True"
}

// Eventually calls try until it returns nil; its last error is the error after the limit.
func Eventually(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	var err error
	for {
		// A call that the deadline cut short must not hide what was wrong before.
		if latest := try(); latest == nil {
			return nil
		} else if err == nil || ctx.Err() == nil {
			err = latest
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", limit, err)
		case <-tick.C:
		}
	}
}

// Shell runs a script as a reader of the documents would: kubectl and helm on the PATH, and KUBECONFIG.
func (c *Cluster) Shell(ctx context.Context, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = c.Root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+filepath.Dir(c.Kubectl)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
