package sessionmanagement

import (
	"io"
	"net/netip"
	"strings"
	"testing"

	"core5g.dev/core5g/images/session-management/shard"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var addresses = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})

func TestIdentities(t *testing.T) {
	c, err := ParseConfig([]string{"-namespace", "n", "-pod", "smf-x", "-address", "10.1.2.3", "-shards", "core5g-smf-shard-1=10.96.7.1, core5g-smf-shard-2=10.96.7.2"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := c.identities("https")
	want := shard.Identity{
		Number: 2, Name: "smf/2", InstanceID: got[1].InstanceID, URI: "https://core5g-smf-shard-2:8000", NodeID: "10.96.7.2",
		Address: netip.MustParseAddr("10.96.7.2"), N4: netip.MustParseAddrPort("0.0.0.0:8807"),
	}
	if diff := cmp.Diff(want, got[1], addresses); len(got) != 2 || diff != "" {
		t.Errorf("%d shards; the second (-want +got):\n%s", len(got), diff)
	}
	if got[0].InstanceID == got[1].InstanceID || len(got[0].InstanceID) != 36 {
		t.Errorf("instances %s and %s", got[0].InstanceID, got[1].InstanceID)
	}
	if root := c.rootAt("https", c.Holder(), got[1]); root != "https://10.1.2.3:8002" {
		t.Errorf("another pod reaches the second shard at %s", root)
	}
}

// Sets of pods number their shards alike, and share a store: their keys are apart.
func TestKeysOfASlicesOwnPods(t *testing.T) {
	for slice, want := range map[string]string{"": "", "meters": "of-meters:"} {
		c := Config{Slice: slice}
		if got := c.keys(); got != want {
			t.Errorf("slice %q: keys begin with %q, want %q", slice, got, want)
		}
	}
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	good := map[string]string{"-namespace": "n", "-pod": "p", "-address": "10.1.2.3", "-shards": "s=10.96.7.1"}
	for name, x := range map[string]struct{ flag, value, want string }{
		"no address":          {"-address", "", "write the pod's address"},
		"no shards":           {"-shards", "", "name=address"},
		"a shard without one": {"-shards", "a=", "name=address"},
		"a shard outside":     {"-shards", "a=10.96.7.1/here", `"here" is no address: write that of the shard's load balancer`},
		"too many shards":     {"-shards", strings.Repeat("s=10.96.7.1,", 64) + "s=10.96.7.1", "at most 64"},
		"a port that is none": {"-sbi-ports", "x", "1 to 65535"},
		"ports without room":  {"-n4-ports", "65535", "no room"},
		"no AMF":              {"-amf", "none", "nothing works without the AMF"},
	} {
		args := []string{}
		for flag, value := range good {
			if flag != x.flag {
				args = append(args, flag, value)
			}
		}
		if _, err := ParseConfig(append(args, x.flag, x.value), io.Discard); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want something with %q", name, err, x.want)
		}
	}
}

// A shard may have another address for UPFs outside of the cluster, or wait for one.
func TestShardsOutside(t *testing.T) {
	got, err := parseShards("a=10.96.7.1, b=10.96.7.2/192.0.2.2, c=10.96.7.3/")
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	if got[0].Outside.IsValid() || got[0].Waits || got[1].Outside.String() != "192.0.2.2" || got[1].Waits || got[2].Outside.IsValid() || !got[2].Waits {
		t.Errorf("%+v", got)
	}
}
