package kubectlplugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"core5g.dev/core5g/images/signalling"
)

// Every pod that may come to have the UE, workers of the AMF and pods of the SMF, is asked again and again for what it has kept since; the question itself has
// it keep more. So the trace goes on where shards go, pods that start are asked too, and a trace ends by itself where nobody asks any more.

const (
	// traceEvery is how often pods are asked, traceKept how long they go on after that.
	traceEvery = time.Second
	traceKept  = "30s"
	// defaultTrace is how long a trace lasts unless it is said.
	defaultTrace = time.Minute
)

// traced is an entry, and whose it is.
type traced struct {
	pod string
	signalling.Entry
}

// source is a pod that is asked.
type source struct {
	kind kind
	pod  corev1.Pod
	// after is the last entry that was read, of which life of the pod's program.
	after, life uint64
}

// watcher is a trace in the making.
type watcher struct {
	plugin  *Plugin
	supi    string
	sources map[string]*source
	waiting []traced // younger than what is printed
	// said are problems that were told: once is enough.
	said map[string]bool
	// answered are how many pods did, when they were asked last.
	answered int
	capture  io.WriteCloser
}

// trace shows the signalling of a UE until its time is over, or somebody ends it.
func (p *Plugin) trace(ctx context.Context, args []string) error {
	if args[0] != "ue" {
		return &usageError{fmt.Sprintf("trace %q: write ue", args[0])}
	}
	last := p.last
	if last <= 0 {
		return &usageError{"-for: write more than 0, for example 5m"}
	}
	own, err := p.ownControlPlane(ctx)
	switch {
	case err != nil:
		return err
	case !own:
		return errors.New("free5GC's AMF and SMF do not tell what is said for a UE: their logs do, with logLevel debug")
	}
	w := &watcher{plugin: p, supi: args[1], sources: map[string]*source{}, said: map[string]bool{}}
	return w.run(ctx, last)
}

func (w *watcher) run(ctx context.Context, last time.Duration) (err error) {
	p := w.plugin
	problem := w.ask(ctx)
	if w.answered == 0 {
		return problem
	}
	if p.pcap != "" {
		if w.capture, err = p.Create(p.pcap); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.capture.Close()) }()
		if err := pcapHead(w.capture); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.Err, "%s is traced for %s, in %d pods; Ctrl-C ends it\n", w.supi, last, w.answered)
	if problem != nil {
		fmt.Fprintln(p.Err, problem)
	}
	ladderHead(p.Out)
	for end := p.Now().Add(last); p.Now().Before(end); {
		if p.Sleep(ctx, traceEvery) != nil {
			break
		}
		if err := w.ask(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(p.Err, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return w.print(w.waiting)
}

// ask every pod, and print what is older than the youngest that all of them have told: the others may still have something to say of that time.
func (w *watcher) ask(ctx context.Context) error {
	var told time.Time // by all
	var problems []error
	answered := map[string]bool{}
	for _, k := range []kind{accessManagement, sessionManagement} {
		sets, err := w.plugin.sets(ctx, k)
		if err != nil {
			problems = append(problems, w.once(err))
			continue
		}
		for _, pod := range slices.Concat(sets...) {
			s := w.source(k, pod)
			page, err := w.read(ctx, s)
			if err != nil {
				problems = append(problems, w.once(err))
				continue
			}
			answered[pod.Name] = true
			if told.IsZero() || page.Now.Before(told) {
				told = page.Now
			}
		}
	}
	w.answered = len(answered)
	slices.SortStableFunc(w.waiting, func(a, b traced) int { return a.At.Compare(b.At) })
	n, _ := slices.BinarySearchFunc(w.waiting, told, func(a traced, at time.Time) int { return a.At.Compare(at) })
	ready := w.waiting[:n]
	w.waiting = slices.Clone(w.waiting[n:])
	return errors.Join(append(problems, w.print(ready))...)
}

// once is an error that was not told yet.
func (w *watcher) once(err error) error {
	if w.said[err.Error()] {
		return nil
	}
	w.said[err.Error()] = true
	return err
}

func (w *watcher) source(k kind, pod corev1.Pod) *source {
	name := k.part + " " + pod.Name // one pod may be both
	s := w.sources[name]
	if s == nil {
		s = &source{kind: k}
		w.sources[name] = s
	}
	s.pod = pod
	return s
}

// read what a pod has kept since it was read last.
func (w *watcher) read(ctx context.Context, s *source) (page signalling.Page, err error) {
	for {
		command := []string{"trace"}
		if isControlPlane(&s.pod) {
			command = append(command, "-part", s.kind.part)
		}
		command = append(command, "-for", traceKept, "-after", fmt.Sprint(s.after))
		if w.plugin.nas {
			command = append(command, "-nas")
		}
		answer, err := w.plugin.askPod(ctx, s.kind, &s.pod, append(command, w.supi)...)
		if err != nil {
			return page, err
		}
		page = signalling.Page{}
		if err := json.Unmarshal(answer, &page); err != nil {
			return page, fmt.Errorf("%s does not tell a trace as JSON: %w", s.pod.Name, err)
		}
		if s.life != 0 && s.life != page.Life && s.after != 0 { // another program, which begins with 1
			s.life, s.after = page.Life, 0
			continue
		}
		before := s.after
		s.life, s.after = page.Life, page.Next
		if page.Lost > 0 {
			w.waiting = append(w.waiting, traced{s.pod.Name, signalling.Entry{At: page.Now, Protocol: signalling.Note, Message: fmt.Sprintf("%d entries were lost: there was no room for them", page.Lost)}})
		}
		for _, e := range page.Entries {
			if !s.twice(e) {
				w.waiting = append(w.waiting, traced{s.pod.Name, e})
			}
		}
		if page.Next <= before {
			return page, nil
		}
	}
}

// twice says whether the AMF tells a message too: what goes between it and the SMF.
func (s *source) twice(e signalling.Entry) bool {
	return s.kind == sessionManagement && e.Protocol == signalling.SBI && (e.From == signalling.AMF || e.To == signalling.AMF)
}

func (w *watcher) print(list []traced) error {
	for _, e := range list {
		var line bytes.Buffer
		ladderLine(&line, e.pod, e.Entry)
		if _, err := w.plugin.Out.Write(line.Bytes()); err != nil {
			return err
		}
		if w.capture != nil {
			if err := pcapEntry(w.capture, e.Entry, strings.TrimSpace(line.String())); err != nil {
				return err
			}
		}
	}
	return nil
}
