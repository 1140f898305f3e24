package accessmanagement

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfig(t *testing.T) {
	for name, value := range map[string]string{"POD_NAMESPACE": "n", "POD_NAME": "amf-0", "POD_IP": "10.1.2.3", "SHARDS": "4"} {
		t.Setenv(name, value)
	}
	c, err := ParseConfig([]string{"-core", "lab", "-pcf", "none"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Service != "lab-amf" || c.SBI != "0.0.0.0:8000" || c.Shards != 4 || c.NRF != "http://lab-nrf:8000" || c.Has("PCF") || !c.Has("SMF") {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"lab-amf-n2-workers:38400"}, c.Terminators); diff != "" {
		t.Errorf("terminators (-want +got):\n%s", diff)
	}
	if got := c.uri("https"); got != "https://lab-amf:8000" {
		t.Errorf("others reach the AMF at %s", got)
	}
	if got := c.rootAt("https", c.Holder()); got != "https://10.1.2.3:8000" {
		t.Errorf("another pod reaches this one at %s", got)
	}
	another := c
	another.Pod = "amf-1"
	if c.instance() != another.instance() || len(c.instance()) != 36 {
		t.Errorf("instances %s and %s", c.instance(), another.instance())
	}
	another.Service = "other-amf"
	if c.instance() == another.instance() {
		t.Error("two AMFs are one instance")
	}
	c, err = ParseConfig([]string{"-shards", "8", "-service", "amf", "-sbi-listen", "127.0.0.1:9000", "-terminators", "a:1, [::1]:2"}, io.Discard)
	if err != nil || c.Shards != 8 || c.rootAt("http", "p/10.1.2.4") != "http://10.1.2.4:9000" {
		t.Errorf("%+v, %v", c, err)
	}
	if diff := cmp.Diff([]string{"a:1", "[::1]:2"}, c.Terminators); diff != "" {
		t.Errorf("terminators (-want +got):\n%s", diff)
	}
}

// What all members of a core have is tested with package pod.
func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	good := map[string]string{"-namespace": "n", "-pod": "p", "-address": "10.1.2.3"}
	for name, x := range map[string]struct{ flag, value, want string }{
		"no pod":                       {"-pod", "", "POD_NAME"},
		"no shards":                    {"-shards", "0", `"0" is no number of shards: write one from 1 to 255`},
		"more than can be numbered":    {"-shards", "256", "write one from 1 to 255"},
		"a Service with a port":        {"-service", "amf:8000", "-service \"amf:8000\": write the name of the Service alone"},
		"an SBI without a port":        {"-sbi-listen", "10.1.2.3", "-sbi-listen \"10.1.2.3\": write address:port"},
		"an SBI at any port":           {"-sbi-listen", ":0", "write address:port"},
		"a terminator without a port":  {"-terminators", "a:1,b", `-terminators: "b": write host:port`},
		"a terminator at no host":      {"-terminators", ":38400", "write host:port"},
		"a terminator at no port":      {"-terminators", "a:none", "write host:port"},
		"no terminator behind a comma": {"-terminators", "a:1,", `"": write host:port`},
		"no UDM":                       {"-udm", "none", "nothing works without the UDM"},
		"no AUSF":                      {"-ausf", "none", "nothing works without the AUSF"},
		"no SMF":                       {"-smf", "none", "nothing works without the SMF"},
		"a PCF without scheme":         {"-pcf", "pcf:8000", "-pcf \"pcf:8000\": write http://"},
	} {
		var args []string
		for flag, value := range good {
			if flag != x.flag {
				args = append(args, flag, value)
			}
		}
		if _, err := ParseConfig(append(args, x.flag, x.value), io.Discard); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want something with %q", name, err, x.want)
		}
	}
	t.Setenv("SHARDS", "many")
	if _, err := ParseConfig([]string{"-namespace", "n", "-pod", "p", "-address", "10.1.2.3"}, io.Discard); err == nil || !strings.Contains(err.Error(), "SHARDS:") {
		t.Errorf("shards of the environment: %v", err)
	}
}
