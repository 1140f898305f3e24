package registrations

import (
	"strconv"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/e2e/ran/gnb"
)

// mostKept bounds what the session store has of a UE that is idle, in octets: what AMF and subscriber data write together, with its keys, as they are named in a cluster.
const mostKept = 2048

// policyURI is what the AMF keeps beside that where there is a PCF, which there is none of here.
const policyURI = "https://core5g-pcf.core5g.svc:8000/npcf-am-policy-control/v1/policies/imsi-208930000000001-1"

// What the store has of a UE that has come a while ago, has a PDU session, and has been idle and back more often than is remembered.
func TestWhatTheStoreKeepsOfAUE(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const prefix = "core5g:core5g/core5g:"
	s := beginOn(t, stores{amf: server.open(prefix + "amf:"), smf: server.open(prefix + "smf:"), data: server.open(prefix + "sd:")}, gnb.Keep, 2*time.Minute)
	kept := func() map[string]processes.Kept {
		t.Helper()
		k, err := processes.Store{Host: "127.0.0.1", Port: strconv.Itoa(server.port)}.Kept(s.ctx, prefix, "")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	come := func(from, to int) {
		t.Helper()
		for n := from; n <= to; n++ {
			p := s.switchOn(n)
			p.ready()
			for range 4 {
				p.must(p.Idle(s.ctx))
				p.must(p.ServiceRequest(s.ctx))
			}
			p.must(p.Idle(s.ctx))
			s.until("the AMF to know that the UE is idle", func() bool {
				rec := s.kept(n)
				return rec != nil && rec.N2 == nil && len(rec.Left) == 0 && rec.Procedure == nil && rec.Command == nil && len(rec.Sessions) == 1 && !rec.Sessions[0].Silent
			})
		}
	}
	come(1, 5) // what shards have of all their UEs is there then
	before := kept()
	come(6, 9)
	after := kept()
	all := int64(len(policyURI))
	for _, name := range []string{"amf", "sd"} {
		k := after[name].Less(before[name])
		if k.Stored <= 0 {
			t.Errorf("%s keeps nothing: %+v", name, k)
		}
		all += k.Stored / 4
		t.Logf("%s: %d keys, %d octets, for which Redis takes %d", name, k.Keys/4, k.Stored/4, k.Resident/4)
	}
	if all >= mostKept {
		t.Errorf("the store has %d octets of a UE, want fewer than %d", all, mostKept)
	}
}
