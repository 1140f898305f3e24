package registrations

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriber-data/subscribers"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/images/subscriberdatabase/postgresqltest"
)

// database of subscribers that are no objects: a PostgreSQL of the story's own.
type database struct {
	s        *story
	server   *postgresqltest.Server
	secret   string // where it is mounted
	registry *prometheus.Registry
}

// beginOnDatabase is a story whose subscribers are in a database, none of them yet.
func beginOnDatabase(t *testing.T) (*story, *database) {
	t.Helper()
	t.Parallel()
	d := &database{server: postgresqltest.New(t), secret: t.TempDir(), registry: prometheus.NewRegistry()}
	for name, content := range map[string][]byte{subscriberdatabase.FileURI: []byte(d.server.URI() + "?connect_timeout=60"), "1": bytes.Repeat([]byte{1}, 32)} {
		if err := os.WriteFile(filepath.Join(d.secret, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newStory(t, 4*time.Minute)
	d.s = s
	s.stores, s.loss = inMemory(), gnb.Keep
	s.store = s.stores.amf()
	s.writeSubscribers()
	s.subscribers(func(text string) string {
		for n := range 9 {
			text = strings.Replace(text, object(n+1), "", 1)
		}
		return text
	})
	s.serveData(d.beside)
	s.startSMF()
	s.startTerminator()
	s.startWorker()
	s.startAccess()
	return s, d
}

// beside the objects, as the functions have it.
func (d *database) beside(objects subscription.Objects) subscription.Objects {
	d.s.t.Helper()
	opened, err := d.open()
	if err != nil {
		d.s.t.Fatal(err)
	}
	// Of three UEs two are cached: those that are asked for, or change, last.
	served := postgresql.NewServed(opened, 2, d.s.log("subscriber-data"), d.registry)
	d.s.wg.Go(func() {
		defer opened.Close()
		served.Run(d.s.ctx)
	})
	return subscription.WithDatabase(objects, served)
}

func (d *database) open() (*postgresql.Database, error) {
	return postgresql.Open(subscriberdatabase.Directory(d.secret))
}

// command as `kubectl core5g subscribers` has it done in a pod.
func (d *database) command(in string, args ...string) string {
	d.s.t.Helper()
	var out, problems bytes.Buffer
	c := &subscribers.Command{In: strings.NewReader(in), Out: &out, Err: &problems, Open: d.open, Now: time.Now}
	if err := c.Run(d.s.ctx, args); err != nil {
		d.s.t.Fatalf("subscribers %s: %v\n%s", args, err, &problems)
	}
	return out.String()
}

// measured is a gauge of the functions.
func (d *database) measured(name string) float64 {
	families, err := d.registry.Gather()
	if err != nil {
		d.s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	d.s.t.Fatalf("there is no metric %s", name)
	return 0
}

// isUp awaits that the functions have the database, or have it not.
func (d *database) isUp(want float64) {
	d.s.t.Helper()
	d.s.until("the functions to know of the database", func() bool { return d.measured("core5g_subscriber_database_up") == want })
}

// challenge says what the AUSF answers when it is asked to authenticate a UE.
func (d *database) challenge(n int) (status int, text string) {
	d.s.t.Helper()
	body := fmt.Sprintf(`{"supiOrSuci":%q,"servingNetworkName":"5G:mnc093.mcc208.3gppnetwork.org"}`, supi(n))
	request, err := http.NewRequestWithContext(d.s.ctx, http.MethodPost, d.s.data.URL+"/nausf-auth/v1/ue-authentications", strings.NewReader(body))
	if err != nil {
		d.s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: d.s.client}).Do(request)
	if err != nil {
		d.s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		d.s.t.Fatal(err)
	}
	return answer.StatusCode, string(said)
}

// answers awaits that the AUSF answers with that status.
func (d *database) answers(n, want int) {
	d.s.t.Helper()
	d.s.until(fmt.Sprintf("the AUSF to answer for %s with %d", supi(n), want), func() bool {
		status, _ := d.challenge(n)
		return status == want
	})
}

// check is what the operator says of the database in SubscriberDatabaseReady, "" where it is well.
func (d *database) check() string {
	d.s.t.Helper()
	access, err := subscriberdatabase.Directory(d.secret)()
	if err != nil {
		d.s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(d.s.ctx, patience)
	defer cancel()
	if err := subscriberdatabase.Check(ctx, access); err != nil {
		return subscriberdatabase.Explain(err)
	}
	return ""
}

func TestSubscribersInADatabase(t *testing.T) {
	s, d := beginOnDatabase(t)
	d.isUp(1)
	csv := "supi,k,opc,slices\n"
	for n := range 3 {
		csv += fmt.Sprintf("%s,%s,%s,internet bare\n", supi(n+1), key, opc)
	}
	if out := d.command(csv, "import"); !strings.HasPrefix(out, "3 read: 3 new, 0 changed") {
		t.Errorf("the import says %q", out)
	}
	one := s.attach(1)

	// A row is changed, by the command and by SQL: it is in force.
	d.command("", "set", "-uplink", "70 Mbps", "-downlink", "90 Mbps", supi(1))
	s.until("the UE-AMBR", func() bool { rec := s.kept(1); return rec != nil && rec.Uplink == 70e6 && rec.Downlink == 90e6 })
	d.server.Exec(t, `UPDATE core5g.subscribers SET barred = true WHERE supi = $1`, supi(1))
	one.wait("deregistration", func(x ue.Status) bool { return x.State != "registered" })
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil && len(s.upfu.Sessions()) == 0 })
	d.command("", "set", "-barred=false", supi(1))
	s.until("the UE to be served again", func() bool { return one.Register(s.ctx) == nil })
	one.ready()
	d.answers(3, http.StatusCreated)
	d.command("", "set", "-barred=true", supi(3))
	d.answers(3, http.StatusForbidden) // what is told is told in order: the row of the first does not leave the cache any more
	d.command("", "set", "-barred=false", supi(3))
	d.answers(1, http.StatusCreated)

	// The database dies: who was served lately is served, others are refused.
	d.server.Stop()
	d.isUp(0)
	if text := d.check(); !strings.Contains(text, "the database does not answer: look whether it runs") {
		t.Errorf("the operator says %q", text)
	}
	one.must(one.Deregister(s.ctx, false))
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil })
	one.must(one.Register(s.ctx))
	one.ready()
	if status, text := d.challenge(2); status != http.StatusServiceUnavailable || !strings.Contains(text, `"NF_FAILOVER"`) {
		t.Errorf("the AUSF answers for another with %d %s", status, text)
	}
	two := s.switchOn(2)
	two.wait("refusal", func(x ue.Status) bool { return x.Counters.Rejects > 0 && x.State != "registered" })
	if rec := s.kept(2); rec != nil && rec.Phase == record.Registered {
		t.Errorf("the AMF has %+v of a UE that nobody knows", rec)
	}

	// It comes back: all are served, those that were refused without anybody's doing.
	if err := d.server.Begin(); err != nil {
		t.Fatal(err)
	}
	d.isUp(1)
	two.ready()
	s.attach(3)
	s.until("the operator to say so", func() bool { return d.check() == "" })

	// An object of the same SUPI counts, as long as it is there.
	barred := strings.Replace(object(2), "supi: "+supi(2)+",", "supi: "+supi(2)+", barred: true,", 1)
	s.subscribers(func(text string) string { return text + barred })
	two.wait("deregistration", func(x ue.Status) bool { return x.State != "registered" })
	d.answers(2, http.StatusForbidden)
	s.subscribers(func(text string) string { return strings.Replace(text, barred, "", 1) })
	s.until("the row to count again", func() bool { return two.Register(s.ctx) == nil })
	two.ready()
}
