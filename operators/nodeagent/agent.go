package nodeagent

import (
	"context"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	// Interval of looks: with lookTimeout and writeTimeout, a change is written within 10 s.
	Interval = 4 * time.Second
	// Heartbeat is the age at which an unchanged status is written again, early enough that the next look
	// is within a minute of the last one.
	Heartbeat = 50 * time.Second

	lookTimeout  = 3 * time.Second
	writeTimeout = 3 * time.Second
)

// Store keeps the status of a node.
type Store interface {
	// Load returns the conditions that the node has, none where it is new.
	Load(ctx context.Context, node string) ([]metav1.Condition, error)
	Save(ctx context.Context, node string, status *api.DataplaneNodeStatus) error
}

// Agent looks at a node and says what it sees.
type Agent struct {
	Node      string
	Sysfs     fs.FS
	Kubelet   Kubelet
	Resources PodResources
	// RuntimeConfig is the container runtime's configuration file, "" for none.
	RuntimeConfig string
	Store         Store
	Now           func() time.Time
	Log           *slog.Logger
	// Looked is told how long each step of Run took and how it ended; nil for nobody.
	Looked func(took time.Duration, err error)

	written *api.DataplaneNodeStatus // nil until the first write
	alive   atomic.Int64             // Unix time of the last look that ended well
}

// Observe looks once.
func (a *Agent) Observe(ctx context.Context) Observation {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var o Observation
	o.Hardware, o.HardwareErr = ReadHardware(a.Sysfs)
	o.Kubelet, o.KubeletErr = a.Kubelet.Policies(ctx)
	o.Resources, o.ResourcesErr = a.Resources.Resources(ctx)
	o.VFIOAccess = ReadVFIOAccess(a.RuntimeConfig)
	return o
}

// Step looks once, and writes what it saw when that is something new, or the last write is old.
func (a *Agent) Step(ctx context.Context) error {
	var before []metav1.Condition
	if a.written != nil {
		before = a.written.Conditions
	} else {
		loading, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		var err error
		if before, err = a.Store.Load(loading, a.Node); err != nil {
			return err
		}
	}
	now := a.Now()
	status := Status(a.Observe(ctx), before, now)
	if a.written != nil && same(&status, a.written) && now.Sub(a.written.ObservedAt.Time) < Heartbeat {
		a.alive.Store(now.Unix())
		return nil
	}
	saving, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := a.Store.Save(saving, a.Node, &status); err != nil {
		return err
	}
	a.logChanges(before, status.Conditions)
	a.written = &status
	a.alive.Store(now.Unix())
	return nil
}

// same compares all but the time of the look.
func same(a, b *api.DataplaneNodeStatus) bool {
	x, y := *a, *b
	x.ObservedAt, y.ObservedAt = nil, nil
	return equality.Semantic.DeepEqual(x, y)
}

func (a *Agent) logChanges(before, after []metav1.Condition) {
	was := map[string]metav1.ConditionStatus{}
	for _, c := range before {
		was[c.Type] = c.Status
	}
	for _, c := range after {
		if was[c.Type] != c.Status && c.Type != api.ConditionReady {
			a.Log.Info("preflight", "condition", c.Type, "status", c.Status, "message", c.Message)
		}
	}
}

// Run looks every interval until ctx ends. What fails is logged and tried again at the next look.
func (a *Agent) Run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		start := a.Now()
		err := a.Step(ctx)
		if a.Looked != nil && ctx.Err() == nil {
			a.Looked(a.Now().Sub(start), err)
		}
		if err != nil && ctx.Err() == nil {
			a.Log.Error("the DataplaneNode is not up to date", "node", a.Node, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// LastStep is when a step last ended well; the zero time before the first.
func (a *Agent) LastStep() time.Time {
	if s := a.alive.Load(); s != 0 {
		return time.Unix(s, 0)
	}
	return time.Time{}
}
