package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/hack/repository"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/standby/standbytest"
)

// leases is what of a Kubernetes API server a unit needs: one Lease, with its resourceVersion.
type leases struct {
	mu      sync.Mutex
	lease   map[string]any
	version int
}

func (l *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sent struct {
		Metadata struct {
			ResourceVersion string            `json:"resourceVersion"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch {
	case r.Method == http.MethodPost && l.lease != nil, r.Method == http.MethodPatch && sent.Metadata.ResourceVersion != strconv.Itoa(l.version):
		http.Error(w, "conflict", http.StatusConflict)
		return
	case r.Method != http.MethodPost && l.lease == nil:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet:
		l.version++
		l.lease = map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(l.version), "annotations": sent.Metadata.Annotations}}
	}
	_ = json.NewEncoder(w).Encode(l.lease)
}

// record is what the Lease says of the unit.
func (l *leases) record() (holder, standby string, epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil {
		return "", "", 0
	}
	var r struct {
		Holder, Standby string
		Epoch           uint64
	}
	text := l.lease["metadata"].(map[string]any)["annotations"].(map[string]string)["core5g.dev/unit"]
	_ = json.Unmarshal([]byte(text), &r)
	return r.Holder, r.Standby, r.Epoch
}

// member is a upf-u and a upf-c, of which both are killed at once.
type member struct {
	*rig
	name string
}

// newPair is the rig with bridges in front of gNB and data network, so that two members have the same addresses on them.
func newPair(t *testing.T) (r *rig, members [2]*member, api *leases) {
	t.Helper()
	r = newNamespaces(t)
	for _, l := range []struct{ name, addr string }{{"gnb", gnbAddr}, {"dn", dnAddr}} {
		r.run("ip", "-n", r.peers, "link", "add", l.name, "type", "bridge")
		r.run("ip", "netns", "exec", r.peers, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+l.name+"/disable_ipv6")
		r.run("ip", "-n", r.peers, "addr", "add", l.addr+"/24", "dev", l.name)
		r.run("ip", "-n", r.peers, "link", "set", l.name, "up")
	}
	r.run("ip", "-n", r.peers, "route", "add", "10.45.0.0/16", "via", "172.30.6.2")

	api = &leases{}
	var l net.Listener
	r.within(r.upf, func() {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	})
	s := &http.Server{Handler: api, ReadHeaderTimeout: time.Second}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })

	cert, key, authority := standbytest.Certificates(t, "upf.test")
	for i := range members {
		m := &member{rig: &rig{t: t, dir: t.TempDir(), upf: r.upf, peers: r.peers, binC: r.binC, gnb: r.gnb}, name: string(rune('a' + i))}
		members[i] = m
		for port, bridge := range map[string]string{"n3": "gnb", "n6": "dn"} {
			dev := port + m.name
			r.run("ip", "-n", r.upf, "link", "add", dev, "type", "veth", "peer", "name", dev+"p", "netns", r.peers)
			r.run("ip", "netns", "exec", r.upf, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+dev+"/disable_ipv6")
			r.run("ip", "netns", "exec", r.peers, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+dev+"p/disable_ipv6")
			r.run("ip", "-n", r.upf, "link", "set", dev, "up")
			r.run("ip", "-n", r.peers, "link", "set", dev+"p", "master", bridge, "up")
		}
		m.file("upf-u.yaml", `
memory: 128
hugepages: false
redundancy: true
socket: `+m.path("upf.sock")+`
limits: {sessions_max: 16384}
interfaces:
  n3: {driver: af_packet, device: n3`+m.name+`, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6: {driver: af_packet, device: n6`+m.name+`, address: 172.30.6.2/24, gateway: 172.30.6.1}
`)
		m.file("upf-c.yaml", `
nodeID: upf.test
pfcp: {listen: "`+m.n4().String()+`", retransmit: {interval: 200ms}}
heartbeat: {interval: 500ms}
n3: {endpoints: [172.30.3.16/28]}
gtpu: {echo: {interval: 0s}}
dataplane: {socket: `+m.path("upf.sock")+`}
state: {file: `+m.path("upf-c.state")+`}
control: {socket: `+m.path("ctl.sock")+`}
metrics: {listen: ""}
health: {listen: ""}
log: {level: info, format: text}
redundancy:
  unit: upf-0
  member: `+m.name+`
  listen: 127.0.0.1:`+strconv.Itoa(8806+i)+`
  peer: 127.0.0.1:`+strconv.Itoa(8807-i)+`
  certificate: `+cert+`
  key: `+key+`
  authority: `+authority+`
  serverName: upf.test
  lease: {server: "http://`+l.Addr().String()+`", namespace: core5g, name: upf-0, token: "", authority: ""}
`)
	}
	r.within(r.peers, func() {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(gnbAddr), Port: 2152})
		if err != nil {
			t.Fatal(err)
		}
		r.gnb = conn
	})
	t.Cleanup(func() { _ = r.gnb.Close() })
	r.within(r.upf, func() { r.smf = fakesmf.New(t, netip.MustParseAddrPort("127.0.0.1:8805")) })
	r.smf.Recovery = time.Now().Add(-time.Minute)
	return r, members, api
}

func (m *member) begin() {
	m.upfu = m.start(repository.Path(m.t, "out/bin/upf-u"), "-c", m.path("upf-u.yaml"))
	m.upfc = m.start(m.binC, "-config", m.path("upf-c.yaml"))
}

// line is the descriptor by which upf-u holds the connection to the standby, the only one of TCP that it has, and lowest the lowest
// of all its sockets.
func (m *member) line() (line, lowest int) {
	m.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", m.upfu.cmd.Process.Pid)
	connections, err := os.ReadFile(proc + "net/tcp")
	if err != nil {
		m.t.Fatal(err)
	}
	descriptors, err := os.ReadDir(proc + "fd")
	if err != nil {
		m.t.Fatal(err)
	}
	lowest = math.MaxInt
	for _, d := range descriptors {
		n, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		to, _ := os.Readlink(proc + "fd/" + d.Name())
		inode, is := strings.CutPrefix(to, "socket:[")
		if !is {
			continue
		}
		lowest = min(lowest, n)
		if strings.Contains(string(connections), " "+strings.TrimSuffix(inode, "]")+" ") {
			line = n
		}
	}
	return line, lowest
}

// n4 is where the member serves PFCP. In a cluster the unit's address leads there.
func (m *member) n4() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1 + m.name[0] - 'a'}), 8805)
}

// leave is SIGTERM to both, as when their pod is deleted.
func (m *member) leave() {
	m.t.Helper()
	for _, p := range []*process{m.upfc, m.upfu} {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			m.t.Fatal(err)
		}
	}
}

// gone says whether both processes have ended.
func (m *member) gone() bool {
	for _, p := range []*process{m.upfc, m.upfu} {
		select {
		case <-p.done:
		default:
			return false
		}
	}
	return true
}

// die is SIGKILL of both.
func (m *member) die() {
	_ = m.upfc.cmd.Process.Kill()
	_ = m.upfu.cmd.Process.Kill()
	<-m.upfc.done
	<-m.upfu.done
}

func awaitFor(t *testing.T, d time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", d, what)
		}
	}
}

func (m *member) connected() bool {
	st, err := m.stats()
	return err == nil && st.Connected
}

// others are the sessions that are there beside the one with traffic.
var others = flag.Int("sessions", 1000, "sessions of a unit that is taken over or handed over, 15,000 at most")

// serve begins the unit, and the other member behind it, and returns the sessions that there are then: first the one of the traffic.
func (r *rig) serve(unit, other *member) []uint64 {
	r.t.Helper()
	unit.begin()
	awaitFor(r.t, time.Minute, "the first member serves", unit.connected)
	other.begin()
	seids := []uint64{r.session()}
	for i := range *others {
		ue := fakesmf.UE{TEID: uint32(100000 + i), N3: n3Addr, Addr: fmt.Sprintf("10.45.%d.%d", 1+i/200, 1+i%200)}
		seids = append(seids, r.smf.Established(uint64(100000+i), ue.Session()...))
	}
	return seids
}

func TestIntegrationRedundancy(t *testing.T) {
	r, members, api := newPair(t)
	unit, other := members[0], members[1]
	seids := r.serve(unit, other)
	named := func() bool {
		_, standby, _ := api.record()
		return strings.HasPrefix(standby, other.name+"/")
	}
	awaitFor(t, time.Minute, "the other member is in sync", named)
	stamp := r.smf.Heartbeat()
	r.ping(1)
	if line, lowest := unit.line(); line != lowest {
		t.Errorf("upf-u holds the line by descriptor %d, and another socket by %d: the kernel closes them in their order, packet sockets slowly", line, lowest)
	}

	for round, name := range []string{"the unit is killed under N4 and packets", "the one that took over is killed, the first one having come back"} {
		t.Run(name, func(t *testing.T) {
			awaitFor(t, time.Minute, "the other member is in sync", named)
			tr := r.traffic(1, fakesmf.Phone.Addr, 2*time.Millisecond)
			awaitFor(t, time.Minute, "traffic flows", func() bool { return tr.answered(time.Time{}) > 100 })
			// Changes are answered until the moment of death; what was answered must be there afterwards.
			added := []uint64{}
			for i := range 20 {
				ue := fakesmf.UE{TEID: uint32(5000 + 100*round + i), N3: n3Addr, Addr: fmt.Sprintf("10.45.%d.%d", 100+round, 1+i)}
				added = append(added, r.smf.Established(uint64(5000+100*round+i), ue.Session()...))
			}
			seids = append(seids, added...)
			_, _, before := api.record()
			killed := time.Now()
			unit.die()
			awaitFor(t, time.Minute, "packets pass again", func() bool { return tr.answered(killed) > 100 })
			sent, lost := tr.stop()
			gap := tr.longestGap()
			holder, _, epoch := api.record()
			if !strings.HasPrefix(holder, other.name+"/") || epoch != before+1 {
				t.Errorf("%s serves in epoch %d, want %s in %d", holder, epoch, other.name, before+1)
			}
			t.Logf("case=kill sessions=%d gap_ms=%d packets_sent=%d packets_lost=%d", len(seids), gap.Milliseconds(), sent, len(lost))
			if gap > 3*time.Second {
				t.Errorf("no packet passed for %s: the end of both processes was not noticed", gap)
			}
			awaitFor(t, time.Minute, "N4 answers", other.connected)
			r.smf.To = other.n4()
			if got := r.smf.Heartbeat(); !got.Equal(stamp) {
				t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
			}
			gone := 0
			for _, s := range seids {
				if m := r.smf.Modify(s, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))); m.Cause.Payload[0] != ie.CauseRequestAccepted {
					gone++
				}
			}
			if gone > 0 {
				t.Errorf("%d of %d sessions are gone", gone, len(seids))
			}
			r.ping(uint16(9000 + round))
			// When the old one returns, it stands by.
			unit.begin()
			unit, other = other, unit
		})
	}
}

// uplinkOctets are those of a session that were not reported yet.
func (r *rig) uplinkOctets(seid uint64) uint64 {
	r.t.Helper()
	m := r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
	fakesmf.WantCause(r.t, m.Cause, ie.CauseRequestAccepted)
	_, ul, _ := fakesmf.Volumes(r.t, m.UsageReport[0])
	return ul
}

// Whose pod is deleted hands the unit over, and forwards until nothing comes any more.
func TestIntegrationHandOver(t *testing.T) {
	r, members, api := newPair(t)
	unit, other := members[0], members[1]
	seids := r.serve(unit, other)
	seid := seids[0]
	stamp := r.smf.Heartbeat()
	r.ping(1)
	one := r.uplinkOctets(seid) // of a packet
	for _, name := range []string{"the unit leaves", "the one that took over leaves, the first one having come back"} {
		t.Run(name, func(t *testing.T) {
			awaitFor(t, time.Minute, "the other member is in sync", func() bool {
				_, standby, _ := api.record()
				return strings.HasPrefix(standby, other.name+"/")
			})
			tr := r.traffic(1, fakesmf.Phone.Addr, time.Millisecond)
			awaitFor(t, time.Minute, "traffic flows", func() bool { return tr.answered(time.Time{}) > 100 })
			_, _, before := api.record()
			left := time.Now()
			unit.leave()
			awaitFor(t, time.Minute, "both processes have ended", unit.gone)
			t.Logf("both processes ended after %s", time.Since(left))
			ended := time.Now()
			awaitFor(t, time.Minute, "packets pass", func() bool { return tr.answered(ended) > 100 })
			sent, lost := tr.stop()
			holder, _, epoch := api.record()
			if !strings.HasPrefix(holder, other.name+"/") || epoch != before+1 {
				t.Errorf("%s serves in epoch %d, want %s in %d", holder, epoch, other.name, before+1)
			}
			t.Logf("case=switch sessions=%d gap_ms=%d packets_sent=%d packets_lost=%d", len(seids), tr.longestGap().Milliseconds(), sent, len(lost))
			if len(lost) > 0 {
				t.Errorf("%d of %d packets are lost", len(lost), sent)
			}
			r.smf.To = other.n4()
			awaitFor(t, time.Minute, "N4 answers", other.connected)
			if got := r.smf.Heartbeat(); !got.Equal(stamp) {
				t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
			}
			for _, s := range seids {
				fakesmf.WantCause(t, r.smf.Modify(s, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))).Cause, ie.CauseRequestAccepted)
			}
			// Every packet is counted, wherever it was forwarded.
			var counted uint64
			awaitFor(t, time.Minute, "all packets are counted", func() bool {
				counted += r.uplinkOctets(seid)
				return counted >= one*uint64(sent)
			})
			if counted != one*uint64(sent) {
				t.Errorf("%d octets are reported, want %d of %d packets", counted, one*uint64(sent), sent)
			}
			unit.begin()
			unit, other = other, unit
		})
	}
}
