// Command bench-n4 measures the N4 side of the UPF: both real processes, a CP function that keeps a
// window of requests under way over UDP, and NEC's session (2 PDR, 2 FAR, 2 QER, 2 URR).
//
//	bench-n4 [-sessions 400000] [-n 50000] [-window 32]
//
// It needs root (network namespaces) and says on lines that begin with # what the figures rest on.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type options struct {
	binU, binC string
	changes    string
	sessions   int
	memory     int
	n          int
	window     int
	rate       float64
}

func main() {
	var o options
	flag.StringVar(&o.binU, "upf-u", "out/bin/upf-u", "the data plane")
	flag.StringVar(&o.binC, "upf-c", "out/bin/upf-c", "the PFCP agent")
	flag.StringVar(&o.changes, "changes", "", "changes-upf-u, to be run at the end; empty: it is not")
	flag.IntVar(&o.sessions, "sessions", 400_000, "sessions present in the second half")
	flag.IntVar(&o.n, "n", 50_000, "requests of each kind")
	flag.IntVar(&o.window, "window", 32, "requests under way")
	flag.Float64Var(&o.rate, "rate", 0, "requests a second at most; 0: as fast as they are answered")
	flag.IntVar(&o.memory, "memory", 0, "MiB of upf-u's memory; 0: what the sessions need")
	flag.Parse()
	if o.memory == 0 {
		o.memory = 80 + (o.sessions+o.n)/1380 // MiB
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-n4:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	hugepages, words := enoughHugepages(o.memory)
	fmt.Printf("# %d CPUs; %s\n", runtime.NumCPU(), words)
	r, err := newRig(o.binU, o.binC, o.sessions+o.n, o.memory, hugepages)
	if err != nil {
		return err
	}
	defer r.close()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		r.close() // leave no namespace behind
		os.Exit(1)
	}()
	if err := r.startUPFU(); err != nil {
		return err
	}
	if err := r.startUPFC(); err != nil {
		return err
	}
	if err := r.await("PFCP is served", 30*time.Second, func() bool { return r.upfc.find("PFCP is served", "listen") != "" }); err != nil {
		return err
	}
	var s *smf
	err = within(r.upf, func() (err error) {
		s, err = newSMF(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8805}, o.sessions+o.n)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.associate(); err != nil {
		return err
	}
	rss0 := [2]uint64{r.upfu.rss(true), r.upfc.rss(false)}
	if err := three(r, s, o, 0); err != nil {
		return err
	}
	if o.sessions == 0 {
		return nil
	}
	if err := measure(r, s, o, "fill", establishment(), 0, o.sessions, 0); err != nil {
		return err
	}
	if err := three(r, s, o, o.sessions); err != nil {
		return err
	}
	memory(r, o.sessions, rss0)
	if err := underTraffic(r, s, o); err != nil {
		return err
	}
	if err := restore(r, s, o); err != nil {
		return err
	}
	return changes(r, o, hugepages)
}

// underTraffic measures N4 while a user sends packets, and the packets while N4 is idle and busy.
func underTraffic(r *rig, s *smf, o options) error {
	fmt.Println("# traffic: uplink through veth interfaces, about 2,000 packets a second; sender, receiver and all of N4 share the CPUs with the worker")
	t, err := newTraffic(r.peers, 500*time.Microsecond)
	if err != nil {
		return err
	}
	t.start(0, 100)
	time.Sleep(200 * time.Millisecond) // neighbours find each other
	t.report("warming-up")
	t.start(0, 100)
	time.Sleep(3 * time.Second)
	t.report("idle")
	for _, op := range []struct {
		name     string
		template *template
		first    int
	}{{"modify", modification(), 0}, {"establish", establishment(), o.sessions}, {"delete", deletion(), o.sessions}} {
		t.start(0, 100) // sessions that are modified, too
		if err := measure(r, s, o, op.name+"+traffic", op.template, op.first, min(o.n, o.sessions), o.sessions); err != nil {
			return err
		}
		t.report(op.name)
	}
	return nil
}

// changes measures what rule changes cost packets without the kernel's noise.
func changes(r *rig, o options, hugepages bool) error {
	if o.changes == "" {
		return nil
	}
	r.close() // its CPUs and memory are needed
	r.upfu, r.upfc, r.clean = nil, nil, nil
	fmt.Println("# change: polls of a worker that found packets, one process, rings; a packet waits for the poll under way and its own")
	args := []string{strconv.Itoa(min(o.sessions, 100_000)), "4"}
	if !hugepages {
		args = append([]string{"--no-huge"}, args...)
	}
	c := exec.Command(o.changes, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// measure makes n requests of a kind and prints their line. What upf-c and upf-u's control thread cost
// stands beside the rate, for the machine may be busy with other things.
func measure(r *rig, s *smf, o options, op string, t *template, first, n, present int) error {
	thread := r.upfu.cmd.Process.Pid // upf-u's first thread is the control thread
	u, c := r.upfu.cpu(thread), r.upfc.cpu(0)
	one, err := s.run(t, first, n, o.window, o.rate)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	u, c = r.upfu.cpu(thread)-u, r.upfc.cpu(0)-c
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	fmt.Printf("op=%s sessions=%d per_second=%.0f p50_us=%.0f p99_us=%.0f max_us=%.0f repeated=%d cpu_us_upf_c=%.1f cpu_us_upf_u=%.1f\n",
		op, present, one.perSecond(), us(one.percentile(0.5)), us(one.percentile(0.99)), us(one.percentile(1)), one.repeated,
		us(c)/float64(n), us(u)/float64(n))
	return nil
}

// three measures the operations on sessions beyond those present.
func three(r *rig, s *smf, o options, present int) error {
	for _, op := range []struct {
		name string
		t    *template
	}{{"establish", establishment()}, {"modify", modification()}, {"delete", deletion()}} {
		if err := measure(r, s, o, op.name, op.t, present, o.n, present); err != nil {
			return err
		}
	}
	return nil
}

func memory(r *rig, sessions int, before [2]uint64) {
	time.Sleep(2 * time.Second) // the collector has its turn
	u, c := r.upfu.rss(true), r.upfc.rss(false)
	fmt.Printf("memory sessions=%d octets_per_session=%d upf_u=%d upf_c=%d (resident: upf-u %d MiB, empty %d MiB; upf-c %d MiB, empty %d MiB)\n",
		sessions, (u+c)/uint64(sessions), u/uint64(sessions), c/uint64(sessions), u>>20, before[0]>>20, c>>20, before[1]>>20)
}

// restore kills one half, then the other.
func restore(r *rig, s *smf, o options) error {
	probe := func() error {
		one, err := s.run(modification(), 0, 1, 1, 0)
		if err == nil && len(one.latencies) != 1 {
			err = fmt.Errorf("the session is lost")
		}
		return err
	}
	r.upfc.kill()
	began := time.Now()
	if err := r.startUPFC(); err != nil {
		return err
	}
	if err := r.await("upf-c is back", time.Minute, func() bool { return r.upfc.find("PFCP is served", "listen") != "" }); err != nil {
		return err
	}
	took := time.Since(began)
	if err := probe(); err != nil {
		return fmt.Errorf("after a restart of upf-c: %w", err)
	}
	fmt.Printf("restore=upf-c sessions=%d seconds=%.3f (process start to PFCP served; reading back %s, CPU %.2f s)\n",
		o.sessions, took.Seconds(), r.upfc.find("upf-u is connected", "took"), r.upfc.cpu(0).Seconds())

	r.upfu.kill()
	before := r.upfc.cpu(0)
	began = time.Now()
	if err := r.startUPFU(); err != nil {
		return err
	}
	if err := r.await("upf-u is ready", time.Minute, func() bool {
		return r.upfu.find("upf-u is ready", "level") != "" || strings.Contains(r.upfu.text(), "upf-u is ready")
	}); err != nil {
		return err
	}
	ready := time.Since(began)
	// The log has one line of each connection.
	if err := r.await("upf-u is filled", 2*time.Minute, func() bool { return strings.Count(r.upfc.text(), "upf-u is connected") == 2 }); err != nil {
		return err
	}
	took = time.Since(began)
	c, u := r.upfc.cpu(0)-before, r.upfu.cpu(r.upfu.cmd.Process.Pid)
	if err := probe(); err != nil {
		return fmt.Errorf("after a restart of upf-u: %w", err)
	}
	fmt.Printf("restore=upf-u sessions=%d seconds=%.3f (process start to filled; ready after %.3f, replay %s, CPU of upf-c %.2f s, of upf-u's control thread %.2f s)\n",
		o.sessions, took.Seconds(), ready.Seconds(), r.upfc.find("upf-u is connected", "took"), c.Seconds(), u.Seconds())
	return nil
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// enoughHugepages says whether the rules fit the free ones.
func enoughHugepages(memory int) (bool, string) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return false, "no /proc/meminfo: memory without hugepages"
	}
	var free int
	for l := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(l, "HugePages_Free: %d", &free); err == nil {
			break
		}
	}
	need := memory / 2
	if free < need {
		return false, fmt.Sprintf("%d hugepages free, %d needed: memory without hugepages, so the workers are slower", free, need)
	}
	return true, fmt.Sprintf("%d hugepages free, %d needed", free, need)
}
