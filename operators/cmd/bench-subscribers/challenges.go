package main

// How fast challenges are made, and what each takes of a CPU: with what must be remembered in memory, and in a session store
// that syncs before it answers. Keys are watched, so that the API server has no part in it; how soon a changed key is in force
// is measured, too.

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
)

const (
	// askers ask for challenges at a time, for askedFor.
	askers   = 64
	askedFor = 10 * time.Second
	// ticksPerSecond of the times in proc(5) stat.
	ticksPerSecond = 100

	servingNetwork = "5G:mnc093.mcc208.3gppnetwork.org"
)

func h2c() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}

// beside is who takes CPU for challenges beside the functions, ticks what it has taken so far.
type beside struct {
	name  string
	ticks func() int
}

// measureChallenges with the functions as they run now; what says which they are.
func (r *rig) measureChallenges(ctx context.Context, what string, other *beside) error {
	asks := h2c()
	defer asks.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var asked atomic.Int64
	var workers sync.WaitGroup
	dataBefore, otherBefore := cpuTicks(r.data.command), 0
	if other != nil {
		otherBefore = other.ticks()
	}
	begin := time.Now()
	for range askers {
		workers.Go(func() {
			for time.Since(begin) < askedFor && ctx.Err() == nil {
				if err := r.authenticate(ctx, asks, supi(int(asked.Add(1))%r.subscribers)); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	n := float64(asked.Load())
	say("challenges_per_second"+what, int(n/time.Since(begin).Seconds()))
	each := func(ticks int) int { return int(float64(ticks) / ticksPerSecond * 1e6 / n) }
	say("challenge_cpu_us"+what, each(cpuTicks(r.data.command)-dataBefore))
	if other != nil {
		say("challenge_"+other.name+"_cpu_us"+strings.TrimPrefix(what, "_stored"), each(other.ticks()-otherBefore))
	}
	return nil
}

// cpuTicks that a process has taken; 0 of none.
func cpuTicks(command *exec.Cmd) int {
	if command == nil {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command.Process.Pid))
	if err != nil {
		return 0
	}
	return ticksOf(string(stat))
}

// ticksOf a line of proc(5) stat: its 14th and 15th field. The second, in parentheses, may have spaces.
func ticksOf(stat string) int {
	return sumOfStat(stat, 14, 15)
}

// endedTicksOf its children that have ended: its 16th and 17th.
func endedTicksOf(stat string) int { return sumOfStat(stat, 16, 17) }

func sumOfStat(stat string, one, two int) int {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from the third on
	if len(fields) < two-2 {
		return 0
	}
	a, _ := strconv.Atoi(fields[one-3])
	b, _ := strconv.Atoi(fields[two-3])
	return a + b
}

// withStore restarts the functions with a session store, and measures again.
func (r *rig) withStore(ctx context.Context) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		fmt.Println("# no redis-server: hack/install-tools.sh session-store installs it; what a challenge takes with a session store is not measured")
		return nil
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	const password = "of this measurement"
	access, keys := filepath.Join(r.folder, "store"), filepath.Join(r.folder, "store-keys")
	for file, content := range map[string]string{
		filepath.Join(access, "addresses"): address, filepath.Join(access, "password"): password, filepath.Join(keys, "1"): strings.Repeat("k", 32),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	store := exec.Command(path, "--bind", "127.0.0.1", "--port", address[strings.LastIndexByte(address, ':')+1:], "--dir", r.folder, "--requirepass", password,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
	if err := store.Start(); err != nil {
		return err
	}
	defer func() {
		_ = store.Process.Kill()
		_ = store.Wait()
	}()
	r.data.stop()
	r.environment = []string{"SESSION_STORE_DIR=" + access, "SESSION_STORE_KEYS_DIR=" + keys, "SESSION_STORE_PREFIX=bench:", "POD_NAME=bench"}
	if err := r.startData(ctx); err != nil {
		return err
	}
	err = r.measureChallenges(ctx, "_stored", &beside{"store", func() int { return cpuTicks(store) }})
	r.environment = nil
	r.data.stop()
	return errors.Join(err, r.startData(ctx))
}

// measureKeyChange says how long a changed key takes until challenges are made with it.
func (r *rig) measureKeyChange(ctx context.Context) error {
	asks := h2c()
	defer asks.CloseIdleConnections()
	var secret corev1.Secret
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "ue-000000"}, &secret); err != nil {
		return err
	}
	usim := &akatest.USIM{}
	copy(usim.K[:], "another key of 0")
	opc, err := hex.DecodeString(string(secret.Data["opc"]))
	if err != nil {
		return err
	}
	copy(usim.OPc[:], opc)
	secret.Data["k"] = []byte(hex.EncodeToString(usim.K[:]))
	begin := time.Now()
	if err := r.client.Update(ctx, &secret); err != nil {
		return err
	}
	err = r.eventually(ctx, "a changed key is in force", func(ctx context.Context) error {
		var answer struct {
			AuthData struct{ RAND, AUTN string } `json:"5gAuthData"`
		}
		if err := r.challenge(ctx, asks, supi(0), &answer); err != nil {
			return err
		}
		rnd, err := hex.DecodeString(answer.AuthData.RAND)
		autn, failed := hex.DecodeString(answer.AuthData.AUTN)
		if err = errors.Join(err, failed); err != nil || len(rnd) != 16 || len(autn) != 16 {
			return fmt.Errorf("%+v is no challenge: %w", answer, err)
		}
		if _, _, _, err := usim.Challenge([16]byte(rnd), [16]byte(autn), servingNetwork); errors.Is(err, akatest.ErrMAC) {
			return err
		}
		return nil
	})
	sayTime("key_changed_s", time.Since(begin))
	return err
}

// challenge of a SUPI.
func (r *rig) challenge(ctx context.Context, asks *http.Client, supi string, answer any) error {
	body := fmt.Sprintf(`{"supiOrSuci":%q,"servingNetworkName":%q}`, supi, servingNetwork)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.data.sbi+"/nausf-auth/v1/ue-authentications", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := asks.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("no challenge for %s: %s", supi, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
