package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
)

// rig is both halves of a UPF in one namespace, gNB and data network in another.
type rig struct {
	dir, upf, peers string
	binU, binC      string
	upfu, upfc      *process
	hugepages       bool
	clean           []func()
}

// process is upf-u or upf-c; its log can be searched while it is written.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	log  bytes.Buffer
	done chan struct{}
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

// find is the last logged value of key in a line that contains what.
func (p *process) find(what, key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := ""
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, what) {
			for f := range strings.FieldsSeq(line) {
				if v, ok := strings.CutPrefix(f, key+"="); ok {
					value = v
				}
			}
		}
	}
	return value
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// rss is the resident memory in octets: a proportional share of what is shared, and hugepages where
// the process owns them (upf-u: upf-c only looks into its segment).
func (p *process) rss(hugepages bool) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	var sum uint64
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "Pss:" || hugepages && (f[0] == "Shared_Hugetlb:" || f[0] == "Private_Hugetlb:")) {
			n, err := strconv.ParseUint(f[1], 10, 64)
			if err == nil {
				sum += n * 1024
			}
		}
	}
	return sum
}

// cpu is the CPU time that a process has used; of one thread, when it is not 0.
func (p *process) cpu(thread int) time.Duration {
	path := fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)
	if thread != 0 {
		path = fmt.Sprintf("/proc/%d/task/%d/stat", p.cmd.Process.Pid, thread)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseUint(f[11], 10, 64)
	system, _ := strconv.ParseUint(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100) // USER_HZ
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func newRig(binU, binC string, sessionsMax, memory int, hugepages bool) (*rig, error) {
	dir, err := os.MkdirTemp("", "bench-n4-")
	if err != nil {
		return nil, err
	}
	r := &rig{dir: dir, upf: fmt.Sprintf("n4u%d", os.Getpid()), peers: fmt.Sprintf("n4p%d", os.Getpid()), binU: binU, binC: binC, hugepages: hugepages}
	r.clean = append(r.clean, func() { _ = os.RemoveAll(dir) })
	shm, err := os.MkdirTemp("/dev/shm", "bench-n4-") // in memory, as a pod's
	if err != nil {
		r.close()
		return nil, err
	}
	r.clean = append(r.clean, func() { _ = os.RemoveAll(shm) })
	if err := r.links(); err != nil {
		r.close()
		return nil, err
	}
	slots := 2*sessionsMax + 1024
	for name, text := range map[string]string{
		"upf-u.yaml": fmt.Sprintf(`
memory: %d
hugepages: %v
socket: %s
limits: {sessions_max: %d, qer_slots: %d, urr_slots: %d}
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6: {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}
`, memory, hugepages, filepath.Join(dir, "upf.sock"), sessionsMax, slots, slots),
		"upf-c.yaml": fmt.Sprintf(`
nodeID: upf.bench
pfcp: {listen: "127.0.0.1:8805"}
heartbeat: {interval: 0s}
n3: {endpoints: [172.30.3.16/28]}
dataplane: {socket: %s}
state: {file: %s}
control: {socket: %s}
metrics: {listen: "127.0.0.1:9090"}
health: {listen: ""}
log: {level: info, format: text}
`, filepath.Join(dir, "upf.sock"), filepath.Join(shm, "upf-c.state"), filepath.Join(dir, "ctl.sock")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

func (r *rig) links() error {
	for _, ns := range []string{r.upf, r.peers} {
		if err := command("ip", "netns", "add", ns); err != nil {
			return err
		}
		r.clean = append(r.clean, func() { _ = command("ip", "netns", "del", ns) })
	}
	for _, c := range [][]string{
		{"-n", r.upf, "link", "set", "lo", "up"},
		{"-n", r.upf, "link", "add", "n3", "type", "veth", "peer", "name", "gnb", "netns", r.peers},
		{"-n", r.upf, "link", "add", "n6", "type", "veth", "peer", "name", "dn", "netns", r.peers},
		{"netns", "exec", r.upf, "sysctl", "-qw", "net.ipv6.conf.n3.disable_ipv6=1", "net.ipv6.conf.n6.disable_ipv6=1"},
		{"netns", "exec", r.peers, "sysctl", "-qw", "net.ipv6.conf.gnb.disable_ipv6=1", "net.ipv6.conf.dn.disable_ipv6=1"},
		{"-n", r.upf, "link", "set", "n3", "up"},
		{"-n", r.upf, "link", "set", "n6", "up"},
		{"-n", r.peers, "addr", "add", "172.30.3.100/24", "dev", "gnb"},
		{"-n", r.peers, "addr", "add", "172.30.6.1/24", "dev", "dn"},
		{"-n", r.peers, "link", "set", "gnb", "up"},
		{"-n", r.peers, "link", "set", "dn", "up"},
		{"-n", r.peers, "route", "add", "10.0.0.0/8", "via", "172.30.6.2"},
	} {
		if err := command("ip", c...); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) close() {
	for _, p := range []*process{r.upfu, r.upfc} {
		if p != nil {
			p.kill()
		}
	}
	for i := len(r.clean) - 1; i >= 0; i-- {
		r.clean[i]()
	}
}

func (r *rig) start(bin string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command("ip", append([]string{"netns", "exec", r.upf, bin}, args...)...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	return p, nil
}

func (r *rig) startUPFU() (err error) {
	r.upfu, err = r.start(r.binU, "-c", filepath.Join(r.dir, "upf-u.yaml"))
	return err
}

func (r *rig) startUPFC() (err error) {
	r.upfc, err = r.start(r.binC, "-config", filepath.Join(r.dir, "upf-c.yaml"))
	return err
}

// await polls until cond holds or a process has ended.
func (r *rig) await(what string, patience time.Duration, cond func() bool) error {
	deadline := time.Now().Add(patience)
	for !cond() {
		for _, p := range []*process{r.upfu, r.upfc} {
			if p == nil {
				continue
			}
			select {
			case <-p.done:
				p.mu.Lock()
				defer p.mu.Unlock()
				return fmt.Errorf("%s: %s ended:\n%s", what, p.cmd, p.log.String())
			default:
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v", what, patience)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// within runs f on a thread inside a namespace; sockets that it opens stay there.
func within(name string, f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		return err
	}
	there, err := netns.GetFromName(name)
	if err != nil {
		return err
	}
	defer func() { _ = there.Close(); _ = home.Close() }()
	if err := netns.Set(there); err != nil {
		return err
	}
	err = f()
	if back := netns.Set(home); back != nil {
		return back // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}
