package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

//go:embed addons/*.yaml
var addons embed.FS

// up brings the cluster up, or finds it up and healthy. images are archives to import first.
func (s *settings) up(ctx context.Context, images []string) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	_, unfinished := os.Stat(s.path("complete"))
	if s.running() && unfinished == nil {
		if err := untilFor(ctx, settleTime, func() error { return s.healthy(ctx) }); err != nil {
			return fmt.Errorf("the cluster runs but is not well: %w; take it down and up again (logs: %s)", err, s.path("log"))
		}
		step("already up: node %s is Ready", nodeName)
		if err := s.makeVolumes(ctx); err != nil {
			return err
		}
		if err := s.loadHere(ctx, images); err != nil {
			return err
		}
		return s.upNodes(ctx, images)
	}
	if s.linkExists() {
		if _, err := os.Stat(s.path("pid")); err != nil {
			return fmt.Errorf("link %s exists: another embedded cluster runs on this machine; "+
				"take it down where it was brought up, or with `hack/cluster.sh down --force`", s.link())
		}
	}
	// What a power cut, or a start that was given up, left behind.
	if err := s.clear(ctx); err != nil {
		return err
	}
	if err := s.bringUp(ctx, images); err != nil {
		return err
	}
	if err := s.upNodes(ctx, images); err != nil {
		return err
	}
	return s.write(nil, 0o644, "complete")
}

// lock lets one command at a time change the cluster.
func (s *settings) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(s.state), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(s.state+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		step("waiting for another command that changes the cluster")
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			file.Close()
			return nil, err
		}
	}
	return func() { file.Close() }, nil
}

func (s *settings) bringUp(ctx context.Context, images []string) error {
	nodes, err := s.count()
	if err != nil {
		return err
	}
	for _, f := range []func() error{
		func() error { return s.write(fmt.Appendf(nil, "%d\n", nodes), 0o644, countFile) },
		func() error { return s.write(fmt.Appendf(nil, "%d\n", s.hugepages), 0o644, shareFile) },
		func() error { return os.MkdirAll(s.path("log"), 0o755) },
		func() error { return s.write([]byte(s.instance), 0o644, "instance") },
		func() error { return s.write([]byte(s.hostIP.String()), 0o644, "host-ip") },
		s.reserveHugepages, s.makeCgroups, s.writePKI, s.writeConfigurations,
	} {
		if err := f(); err != nil {
			return err
		}
	}
	step("keys and configuration written, %d hugepages", s.hugepages*nodes)
	if err := s.startSandbox(s.connect); err != nil {
		return err
	}
	step("sandbox and daemons started")

	imported := make(chan error, 1)
	go func() {
		err := s.await(ctx, "containerd", func() error { return s.inSandbox(nil, "ctr", "version").Run() })
		if err == nil {
			err = s.loadHere(ctx, images)
		}
		imported <- err
	}()
	if err := s.await(ctx, "API server", s.apiReady); err != nil {
		return err
	}
	step("API server ready")
	if err := s.applyAddons(ctx); err != nil {
		return err
	}
	if err := s.makeVolumes(ctx); err != nil {
		return err
	}
	if err := <-imported; err != nil {
		return err
	}
	if err := s.await(ctx, "node", func() error { return s.healthy(ctx) }); err != nil {
		return err
	}
	step("node Ready, cluster DNS available")
	return nil
}

// startSandbox starts process 1 of a sandbox, connects it, and notes its pid.
func (s *settings) startSandbox(connect func(pid int) error) error {
	nodes, err := s.count()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.path("log", "init.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	start, release, err := os.Pipe()
	if err != nil {
		return err
	}
	defer start.Close()
	defer release.Close()
	cmd := exec.Command(self, "init", "-state", s.state, "-bin", s.bin, "-cni", s.cniBin, "-host-ip", s.hostIP.String(),
		"-instance", s.instance, "-hugepages", strconv.Itoa(s.hugepages), "-number", strconv.Itoa(s.number), "-nodes", strconv.Itoa(nodes))
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = start, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("namespaces of the sandbox: %w", err)
	}
	identity, err := processIdentity(cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := s.write([]byte(identity+"\n"), 0o644, "pid"); err != nil {
		return err
	}
	if err := s.joinCgroups(cmd.Process.Pid); err != nil {
		return err
	}
	if err := connect(cmd.Process.Pid); err != nil {
		return err
	}
	// It is nobody's child to wait for: it outlives this process.
	return cmd.Process.Release()
}

// processIdentity is a pid with the time of the process's start, so that a pid used again by another
// process is not taken for ours.
func processIdentity(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// proc(5): the name, in parentheses, may hold anything; the 22nd field is the start time, the 3rd
	// the state.
	_, rest, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("process %d: cannot read its stat", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", os.ErrProcessDone
	}
	return strconv.Itoa(pid) + " " + fields[19], nil
}

// sandboxPID is the pid of process 1 of the sandbox as the machine sees it, 0 when there is none.
func (s *settings) sandboxPID() int {
	noted, err := os.ReadFile(s.path("pid"))
	if err != nil {
		return 0
	}
	number, _, _ := strings.Cut(string(noted), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	identity, err := processIdentity(pid)
	if err != nil || identity != strings.TrimSpace(string(noted)) {
		return 0
	}
	return pid
}

func (s *settings) running() bool { return s.sandboxPID() != 0 }

// inSandbox is a command in the sandbox's namespaces.
func (s *settings) inSandbox(stdin *os.File, command ...string) *exec.Cmd {
	args := []string{"--target", strconv.Itoa(s.sandboxPID()), "--mount", "--net", "--uts", "--ipc", "--pid", "--"}
	cmd := exec.Command("nsenter", append(args, command...)...)
	cmd.Dir = "/"
	if stdin != nil {
		cmd.Stdin = stdin
	}
	return cmd
}

func (s *settings) client() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	return kubernetes.NewForConfig(config)
}

// healthy says what a healthy cluster lacks: a ready node, the account that pods run under, DNS.
func (s *settings) healthy(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := nodeReady(node); err != nil {
		return err
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	dns, err := client.AppsV1().Deployments("kube-system").Get(ctx, "cluster-dns", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if dns.Status.AvailableReplicas == 0 {
		return errors.New("cluster DNS is not available")
	}
	return nil
}

func nodeReady(node *corev1.Node) error {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if c.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("node %s is not Ready: %s", node.Name, c.Message)
		}
	}
	return fmt.Errorf("node %s says nothing of Ready", node.Name)
}

// applyAddons applies what every pod needs: rights for Multus, its resource kind, DNS.
func (s *settings) applyAddons(ctx context.Context) error {
	files, err := addons.ReadDir("addons")
	if err != nil {
		return err
	}
	var manifests strings.Builder
	for _, file := range files {
		text, err := addons.ReadFile(filepath.Join("addons", file.Name()))
		if err != nil {
			return err
		}
		manifests.WriteString("---\n")
		manifests.Write(text)
	}
	var out []byte
	// The namespace kube-system and the RBAC rules come into being just after the server is ready.
	err = s.await(ctx, "add-ons", func() error {
		cmd := exec.Command(filepath.Join(s.bin, "kubectl"), "--kubeconfig", s.kubeconfig(),
			"apply", "--server-side", "--force-conflicts", "-f", "-")
		cmd.Stdin = strings.NewReader(manifests.String())
		if out, err = cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl apply: %w: %s", err, out)
		}
		return nil
	})
	return err
}
