package main

// Subscribers in a PostgreSQL: how long a million take to be imported, what the functions need for them, and how fast challenges are made of those that are
// cached and of all.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/images/subscriberdatabase/postgresqltest"
)

// Sources of subscribers.
const (
	sourceKubernetes = "Kubernetes"
	sourcePostgreSQL = "PostgreSQL"
)

// cachedAtMost is how many subscribers of the database the functions have in memory where they are told nothing else.
const cachedAtMost = 100_000

// served is the core of the measurement.
const served = `apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec: {plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001"], sliceCatalogue: [{sst: 1, sd: "010203"}]}
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec: {snssai: {sst: 1, sd: "010203"}, dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}]}
`

// runDatabase measures with subscribers in a database.
func runDatabase(ctx context.Context, o options) (err error) {
	folder, err := os.MkdirTemp("", "bench-subscribers-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	server, err := postgresqltest.Start("shared_buffers=256MB", "max_wal_size=4GB")
	if err != nil {
		return err
	}
	defer server.Close()
	r := &rig{options: o, folder: folder}
	secret := filepath.Join(folder, "database")
	for file, content := range map[string]string{
		filepath.Join(folder, "core.yaml"): served, filepath.Join(secret, subscriberdatabase.FileURI): server.URI(), filepath.Join(secret, "1"): strings.Repeat("k", 32),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	r.environment = []string{subscriberdatabase.DirectoryEnv + "=" + secret}
	defer func() {
		r.data.stop()
		if err != nil {
			r.data.show(os.Stderr)
		}
	}()
	return r.measureDatabase(ctx, server)
}

func (r *rig) measureDatabase(ctx context.Context, server *postgresqltest.Server) error {
	fmt.Printf("# %d CPUs, load %s; PostgreSQL, which syncs each commit, import and functions on them\n", runtime.NumCPU(), load())
	fmt.Printf("# the functions are told to stay within nine tenths of %d MiB, as in a container with that limit\n", r.limit)
	fmt.Println("source=" + r.source)
	say("subscribers", r.subscribers)
	if err := r.startServing(ctx); err != nil {
		return err
	}
	lines := filepath.Join(r.folder, "subscribers.csv")
	if err := writeLines(lines, r.subscribers); err != nil {
		return err
	}
	database := &beside{"database", func() int { return serverTicks(server) }}
	if err := r.measureImport(ctx, "created", lines, database); err != nil {
		return err
	}
	if err := r.measureImport(ctx, "created_again", lines, database); err != nil {
		return err
	}
	if err := r.measureBarring(ctx, server); err != nil {
		return err
	}
	if err := r.measureChallenges(ctx, "", database); err != nil {
		return err
	}
	all := r.subscribers
	r.subscribers = min(all, cachedAtMost)
	err := r.authenticateAll(ctx)
	if err == nil {
		err = r.measureChallenges(ctx, "_cached", database)
	}
	r.subscribers = all
	if err != nil {
		return err
	}
	cached, err := r.data.metric(ctx, "core5g_subscriber_database_cached")
	if err != nil {
		return err
	}
	say("cached", int(cached))
	memory := r.data.memory()
	say("subscriber_data_mib", memory.most)
	r.data.stop()
	begin := time.Now()
	if err := r.startServing(ctx); err != nil {
		return err
	}
	sayTime("restart_s", time.Since(begin))
	if memory.most > r.limit {
		return fmt.Errorf("more than %d MiB", r.limit)
	}
	return nil
}

// serverTicks are those of the processes that a server has, and of those that it had.
func serverTicks(server *postgresqltest.Server) (sum int) {
	for i, pid := range server.Processes() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended, and counts with the first's
		}
		sum += ticksOf(string(stat))
		if i == 0 {
			sum += endedTicksOf(string(stat))
		}
	}
	return sum
}

// startServing returns when the functions answer for a subscriber of the database, or say that they know none.
func (r *rig) startServing(ctx context.Context) (err error) {
	r.data, err = r.start(r.subscriberD, func(p *program) []string {
		return []string{
			"-subscribers", filepath.Join(r.folder, "core.yaml"), "-core", core, "-nrf", "none", "-listen", p.sbi, "-metrics-listen", p.metrics, "-health-listen", p.health,
			"-log-level", "error",
		}
	})
	if err != nil {
		return err
	}
	return r.eventually(ctx, "the functions have the database", func(ctx context.Context) error {
		up, err := r.data.metric(ctx, "core5g_subscriber_database_up")
		if err == nil && up != 1 {
			err = errors.New("they have not")
		}
		return err
	})
}

// writeLines writes CSV of so many subscribers.
func writeLines(file string, n int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "supi,k,opc,gpsi,slices")
	for i := range n {
		fmt.Fprintf(w, "%s,%032x,%032x,msisdn-336%08d,internet\n", supi(i), i+1, i+2, i)
	}
	return errors.Join(w.Flush(), f.Close())
}

// measureImport of a file, as `kubectl core5g subscribers import` has it done in the pod, and say when the last of it is served.
func (r *rig) measureImport(ctx context.Context, what, file string, database *beside) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	command := exec.CommandContext(ctx, r.subscriberD, "subscribers", "import")
	command.Env = append(os.Environ(), r.environment...)
	command.Stdin, command.Stderr = in, os.Stderr
	begin, before := time.Now(), database.ticks()
	said, err := command.Output()
	if err != nil {
		return fmt.Errorf("import: %w: %s", err, said)
	}
	fmt.Printf("# %s", said)
	sayTime(what+"_s", time.Since(begin))
	sayTime(what+"_cpu_s", command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	sayTime(what+"_database_cpu_s", time.Duration(database.ticks()-before)*time.Second/ticksPerSecond)
	if usage, is := command.ProcessState.SysUsage().(*syscall.Rusage); is {
		say(what+"_import_mib", int((usage.Maxrss+1023)/1024))
	}
	asks := h2c()
	defer asks.CloseIdleConnections()
	if err := r.authenticate(ctx, asks, supi(r.subscribers-1)); err != nil {
		return err
	}
	if what == "created" {
		sayTime("ready_s", time.Since(begin))
	}
	return nil
}

// measureBarring says how long a change of a subscriber that is cached takes until it is in force.
func (r *rig) measureBarring(ctx context.Context, server *postgresqltest.Server) error {
	asks := h2c()
	defer asks.CloseIdleConnections()
	if err := r.authenticate(ctx, asks, supi(0)); err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, server.URI())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	set := func(barred bool) error {
		_, err := c.Exec(ctx, `UPDATE core5g.subscribers SET barred = $1 WHERE supi = $2`, barred, supi(0))
		return err
	}
	begin := time.Now()
	if err := set(true); err != nil {
		return err
	}
	for r.authenticate(ctx, asks, supi(0)) == nil {
		if time.Since(begin) > r.wait {
			return errors.New("a barred subscriber is challenged still")
		}
	}
	fmt.Printf("barred_ms=%d\n", time.Since(begin).Milliseconds())
	if err := set(false); err != nil {
		return err
	}
	return r.eventually(ctx, "the subscriber is let in again", func(ctx context.Context) error { return r.authenticate(ctx, asks, supi(0)) })
}
