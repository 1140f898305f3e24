package main

import (
	"bytes"
	"encoding/hex"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecondDNSServerOfTheDNNIsTold(t *testing.T) {
	d := secondDNS{servers: map[string]netip.Addr{"internet": netip.MustParseAddr("8.8.4.4")}}
	tests := []struct {
		name, message, want string
	}{
		{name: "behind the first one", message: acceptBegins + acceptElements + optionsOf1400 + dnnInternet,
			want: acceptBegins + acceptElements + "7b001480" + "000d0408080808" + "000d0408080404" + "0010020578" + dnnInternet},
		{name: "where nothing follows", message: acceptBegins + "7b000880000d0408080808" + dnnInternet,
			want: acceptBegins + "7b000f80" + "000d0408080808" + "000d0408080404" + dnnInternet},
		{name: "behind other containers", message: acceptBegins + "7b000d80" + "0010020578" + "000d0408080808" + dnnInternet,
			want: acceptBegins + "7b001480" + "0010020578" + "000d0408080808" + "000d0408080404" + dnnInternet},
		{name: "where the DNN comes first", message: acceptBegins + dnnInternet + optionsOf1400,
			want: acceptBegins + dnnInternet + "7b001480" + "000d0408080808" + "000d0408080404" + "0010020578"},
		{name: "a UE that did not ask for servers", message: acceptBegins + "7b000680" + "0010020578" + dnnInternet},
		{name: "a UE that asked for nothing", message: acceptBegins + acceptElements + dnnInternet},
		{name: "a DNN without a second server", message: acceptBegins + optionsOf1400 + "2504" + "03696d73"},
		{name: "no DNN", message: acceptBegins + optionsOf1400},
		{name: "a container cut off", message: acceptBegins + "7b000680" + "000d040808" + dnnInternet},
		{name: "a release command", message: "2e0100d324"},
		{name: "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.message
			}
			message := octets(t, tt.message)
			if got := hex.EncodeToString(d.add(message)); got != tt.want {
				t.Errorf("got\n%s, want\n%s", got, tt.want)
			}
			if hex.EncodeToString(message) != tt.message {
				t.Error("the message itself has changed")
			}
		})
	}
}

func FuzzSecondDNS(f *testing.F) {
	whole, _ := hex.DecodeString(acceptBegins + acceptElements + optionsOf1400 + dnnInternet)
	for n := range whole {
		f.Add(whole[:n])
	}
	server := netip.MustParseAddr("8.8.4.4")
	d := secondDNS{servers: map[string]netip.Addr{"internet": server, "": server}}
	f.Fuzz(func(t *testing.T, message []byte) {
		got := d.add(message)
		if added := len(got) - len(message); added != 0 && added != 7 {
			t.Errorf("%d octets have become %d", len(message), len(got))
		}
		if len(got) == len(message) && !bytes.Equal(got, message) {
			t.Error("the message has changed without a server")
		}
	})
}

func TestSecondServersOfTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "smfcfg.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`configuration:
  snssaiInfos:
    - sNssai: {sst: 1}
      dnnInfos: [{dnn: internet, dns: {ipv4: 1.1.1.1, second: 1.0.0.1}}, {dnn: ims, dns: {ipv4: 1.1.1.1}}]
`)
	got, err := secondServers(file)
	if err != nil || !maps.Equal(got, map[string]netip.Addr{"internet": netip.MustParseAddr("1.0.0.1")}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"2606:4700:4700::1111", "one.one.one.one"} {
		write("configuration: {snssaiInfos: [{dnnInfos: [{dnn: a, dns: {ipv4: 1.1.1.1, second: '" + bad + "'}}]}]}")
		if _, err := secondServers(file); err == nil || !strings.Contains(err.Error(), "write an IPv4 address") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
