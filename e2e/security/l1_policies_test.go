package security

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/knock"
	"core5g.dev/core5g/e2e/scene"
)

// guarded is a door, and the visitors that it is there for.
type guarded struct {
	knock.Door
	admits []visitor
}

// doors are those of docs/security.md.
func doors(ctx context.Context) (map[string]guarded, error) {
	found := map[string]guarded{}
	for _, d := range []struct {
		name, component, protocol, port string
		admits                          []visitor
	}{
		{"SBI of the NRF", "nrf", knock.TCP, "8000", []visitor{asPCF, asAMF, asSMF}},
		{"SBI of the AMF", "amf", knock.TCP, "8000", []visitor{asPCF, asAMF, asSMF}},
		{"SBI of the SMF", "smf", knock.TCP, "8001", []visitor{asPCF, asAMF, asSMF}},
		{"SBI of the PCF", "pcf", knock.TCP, "8000", []visitor{asAMF, asSMF}},
		{"SBI of the CHF", "chf", knock.TCP, "8000", []visitor{asPCF, asSMF}},
		{"SBI of the subscriber data", "subscriber-data", knock.TCP, "8000", []visitor{asPCF, asAMF, asSMF}},
		{"N4 of the UPF", "upf", knock.PFCP, "8805", []visitor{asSMF}},
		{"N2 of the workers", "amf-n2", knock.TCP, "38400", []visitor{asAMF}},
		{"session store", "session-store", knock.TCP, "6379", []visitor{asAMF, asSMF}},
		{"database", "database", knock.TCP, "27017", []visitor{asPCF}},
		{"metrics of the AMF", "amf", knock.TCP, "9090", []visitor{prometheus}},
		{"metrics of the N2 terminator", "amf-n2", knock.TCP, "9090", []visitor{prometheus}},
		{"metrics of the SMF", "smf", knock.TCP, "9090", []visitor{prometheus}},
		{"metrics of the subscriber data", "subscriber-data", knock.TCP, "9090", []visitor{prometheus}},
		{"metrics of the UPF", "upf", knock.TCP, "9090", []visitor{prometheus}},
		{"metrics of the operator", "operator", knock.TCP, "9090", []visitor{prometheus}},
	} {
		host, err := address(ctx, d.component)
		if err != nil {
			return nil, err
		}
		found[d.name] = guarded{knock.Door{Protocol: d.protocol, Address: net.JoinHostPort(host, d.port)}, d.admits}
	}
	// By the address of a Service a packet takes another way through the node.
	host, err := k.Run(ctx, "get", "service", core+"-nrf", "-o", "jsonpath={.spec.clusterIP}")
	found["Service of the NRF"] = guarded{knock.Door{Protocol: knock.TCP, Address: net.JoinHostPort(host, "8000")}, []visitor{asPCF, asAMF, asSMF}}
	return found, err
}

// Every visitor gets through the doors that it needs, and is refused at all others.
func TestOnlyThoseWhoNeedItGetThrough(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	all := scene.Must[map[string]guarded](t)(doors(ctx))
	visit := knock.Visit{Doors: map[string]knock.Door{}}
	for name, d := range all {
		visit.Doors[name] = d.Door
	}
	// An enforcer learns of a new pod when it has started. Whoever has nothing to wait for is refused from
	// the first attempt.
	tries := 0
	for _, v := range visitors {
		check(t, cluster.Eventually(ctx, 30*time.Second, func() error {
			answers, err := v.try(ctx, visit)
			if err != nil {
				return err
			}
			for name, d := range all {
				wanted := slices.Contains(d.admits, v)
				if answers[name].Open && !wanted {
					t.Errorf("%s gets through to %s %s: %s", v.name, name, d.Address, answers[name].Said)
				}
				if !answers[name].Open && wanted {
					return fmt.Errorf("%s is refused at %s: %s", v.name, name, answers[name].Said)
				}
			}
			return nil
		}))
		tries += len(all)
	}
	t.Logf("%d visitors at %d doors: %d attempts as they should be", len(visitors), len(all), tries)
}

// The core itself works as before: its own connections are all let in.
func TestPhoneComesAnewBehindPolicies(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	check(t, comesAnew(ctx))
}
