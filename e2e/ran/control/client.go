package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/sim"
)

// Usage of `ran ctl`.
const Usage = `usage: ran ctl [-server ADDRESS] COMMAND [flags]

  status           [-ue SUPI] [-wait-ready 30s]
  register         -ue SUPI
  deregister       -ue SUPI [-switch-off]
  session          -ue SUPI -id N -sst N [-sd HEX] -dnn NAME [-qfi N]   establish a PDU session
                   [-type IPv4|IPv6|IPv4v6|Ethernet|Unstructured] [-always-on] [-pcscf]
  release          -ue SUPI [-session N]                               release a PDU session
  idle             -ue SUPI                                            AN release
  service-request  -ue SUPI
  start            -ue SUPI -to ADDRESS [-count N] [-session N] [-in-process]
  ping             -ue SUPI -to ADDRESS [-count N] [-interval 50ms] [-size N] [-warm-up 5s] [-session N] [-in-process]
  throughput       -ue SUPI -to ADDRESS[:PORT] [-seconds N] [-direction up|down] [-session N]
  http             -ue SUPI -url URL [-session N]
  raw-gtpu         -ue SUPI -to ADDRESS [-source ADDRESS] [-teid N | -tunnel-of SUPI] [-peer ADDRESS] [-qfi N] [-count N] [-wait 500ms] [-payload HEX]
  again            -ue SUPI [-session N]                               establish it once more, under its identity, unreleased
  modify           -ue SUPI [-session N] [-f FILE] [-always-on]         ask for flows, rules, always-on (YAML or JSON)
  stream           -ue SUPI -to ADDRESS[:PORT] [-direction up|down] [-count N] [-rate N] [-size N] [-session N]
  handover         -ue SUPI -gnb NAME|ID -kind xn|n2 [-no-forwarding] [-indirect] [-leave N,…] [-cancel required|command]
  camp             -ue SUPI -gnb NAME|ID                               leave the cell without a word, for another
  behave           -ue SUPI [-ignore-paging] [-ignore MESSAGE=N,…] [-repeat N]   nothing: a good UE again
  repeat-nas       -ue SUPI                                            the last message again, with its COUNT
  raw-5gsm         -ue SUPI -payload HEX [-session N] [-request-type N] [-sst N [-sd HEX]] [-dnn NAME]
  notify           -ue SUPI [-session N] [-fulfilled QFI,…] [-not-fulfilled QFI,…] [-released QFI,…] [-whole]
  move-tunnel      -ue SUPI [-session N]                               Modify Indication: another downlink TEID
  gnb-behave       [-gnb NAME|ID] [-refuse-sessions N,…|all] [-refuse-flows QFI,…] [-refuse-handover] [-silent-handover] [-silent-resources]
  gnb-die          [-gnb NAME|ID] [-silent]                            without a word
  gnb-revive       [-gnb NAME|ID]
  set-sqn          -ue SUPI -sqn HEX                                   for tests of resynchronisation
  add-ue           -f FILE (YAML or JSON, one entry of the configuration's ues; - is standard input)
  remove-ue        -ue SUPI

The answer is JSON. The exit status is 1 when the command failed, 2 when it was not understood.
`

// Client talks to a running simulation.
type Client struct {
	http *http.Client
	base string
}

// NewClient reaches "host:port" or "unix:/path".
func NewClient(address string) *Client {
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return &Client{http: &http.Client{}, base: "http://" + address}
	}
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	return &Client{http: &http.Client{Transport: t}, base: "http://ran"}
}

// errFailed says that the server's answer, already printed, is a failure.
var errFailed = errors.New("the command failed")

// IsFailure says whether err was answered by the simulation and is printed already.
func IsFailure(err error) bool { return errors.Is(err, errFailed) }

func (c *Client) do(method, path string, body any, out io.Writer) error {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, c.base+path, r)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("no simulation answers: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(raw)
	}
	if _, err := fmt.Fprintln(out, strings.TrimSpace(pretty.String())); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errFailed
	}
	return nil
}

// status asks for the state; while it waits for readiness, a simulation that is not up yet is waited for
// too.
func (c *Client) status(q url.Values, wait time.Duration, out io.Writer) error {
	deadline := time.Now().Add(wait)
	for {
		if wait > 0 {
			q.Set("wait", max(time.Until(deadline), time.Millisecond).String())
		}
		err := c.do(http.MethodGet, "/status?"+q.Encode(), nil, out)
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond) // nobody tells when a port opens
	}
}

// Ctl runs one `ran ctl` command line and prints the answer to out.
func Ctl(args []string, in io.Reader, out io.Writer) error {
	server := flag.NewFlagSet("ran ctl", flag.ContinueOnError)
	server.SetOutput(io.Discard)
	address := server.String("server", Address(), "")
	if err := server.Parse(args); err != nil {
		return err
	}
	if server.NArg() == 0 {
		return errors.New("a command is missing")
	}
	verb, rest := server.Arg(0), server.Args()[1:]
	c := NewClient(*address)

	f := flag.NewFlagSet("ran ctl "+verb, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(address, "server", *address, "")
	supi := f.String("ue", "", "")
	timeout := f.Duration("timeout", 30*time.Second, "")
	var r Request
	session := f.Uint("session", 0, "")
	parse := func() error {
		if err := f.Parse(rest); err != nil {
			return err
		}
		if f.NArg() > 0 {
			return fmt.Errorf("%q is not understood", f.Arg(0))
		}
		c = NewClient(*address)
		r.Session, r.TimeoutMS = uint8(*session), int(timeout.Milliseconds())
		return nil
	}
	post := func() error {
		if *supi == "" {
			return errors.New("-ue SUPI is missing")
		}
		return c.do(http.MethodPost, "/ues/"+url.PathEscape(*supi)+"/"+verb, r, out)
	}
	switch verb {
	case "status":
		wait := f.Duration("wait-ready", 0, "")
		if err := parse(); err != nil {
			return err
		}
		q := url.Values{}
		if *supi != "" {
			q.Set("ue", *supi)
		}
		return c.status(q, *wait, out)
	case "register", "idle", "service-request", "release":
	case "deregister":
		f.BoolVar(&r.SwitchOff, "switch-off", false, "")
	case "set-sqn":
		verb = "sqn"
		f.StringVar(&r.SQN, "sqn", "", "")
	case "session":
		r.Establish = &config.Session{}
		f.IntVar(&r.Establish.ID, "id", 1, "")
		f.IntVar(&r.Establish.SNSSAI.SST, "sst", 1, "")
		f.StringVar(&r.Establish.SNSSAI.SD, "sd", "", "")
		f.StringVar(&r.Establish.DNN, "dnn", "internet", "")
		f.IntVar(&r.Establish.QFI, "qfi", 0, "")
		f.StringVar(&r.Establish.Type, "type", "", "")
		f.BoolVar(&r.Establish.AlwaysOn, "always-on", false, "")
		f.BoolVar(&r.Establish.PCSCF, "pcscf", false, "")
	case "ping":
		f.StringVar(&r.To, "to", "", "")
		f.IntVar(&r.Count, "count", 4, "")
		interval := f.Duration("interval", 200*time.Millisecond, "")
		reply := f.Duration("reply-timeout", 2*time.Second, "")
		f.IntVar(&r.Size, "size", 56, "")
		warmUp := f.Duration("warm-up", 0, "")
		f.BoolVar(&r.InProcess, "in-process", false, "")
		if err := parse(); err != nil {
			return err
		}
		r.IntervalMS, r.ReplyMS, r.WarmUpMS = int(interval.Milliseconds()), int(reply.Milliseconds()), int(warmUp.Milliseconds())
		return post()
	case "throughput":
		f.StringVar(&r.To, "to", "", "")
		seconds := f.Float64("seconds", 3, "")
		f.StringVar(&r.Direction, "direction", "down", "")
		if err := parse(); err != nil {
			return err
		}
		r.LengthMS = int(*seconds * 1000)
		return post()
	case "http":
		f.StringVar(&r.URL, "url", "", "")
	case "raw-gtpu":
		raw := &sim.RawGTPU{}
		f.StringVar(&raw.To, "to", "", "")
		f.StringVar(&raw.Source, "source", "", "")
		f.StringVar(&raw.TEID, "teid", "", "")
		f.StringVar(&raw.TunnelOf, "tunnel-of", "", "")
		f.StringVar(&raw.Peer, "peer", "", "")
		f.StringVar(&raw.Payload, "payload", "", "")
		f.IntVar(&raw.Count, "count", 1, "")
		qfi := f.Int("qfi", -1, "")
		wait := f.Duration("wait", 500*time.Millisecond, "")
		if err := parse(); err != nil {
			return err
		}
		raw.Session, raw.WaitMS = uint8(*session), int(wait.Milliseconds())
		if *qfi >= 0 {
			q := uint8(*qfi)
			raw.QFI = &q
		}
		r.Raw = raw
		return post()
	case "add-ue":
		file := f.String("f", "", "")
		if err := parse(); err != nil {
			return err
		}
		return c.addUE(*file, in, out)
	case "remove-ue":
		if err := parse(); err != nil {
			return err
		}
		if *supi == "" {
			return errors.New("-ue SUPI is missing")
		}
		return c.do(http.MethodDelete, "/ues/"+url.PathEscape(*supi), nil, out)
	default:
		more, known := commands[verb]
		if !known {
			return fmt.Errorf("%q is not a command", verb)
		}
		fill := more(f, &r)
		if err := parse(); err != nil {
			return err
		}
		if err := fill(in); err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(verb, "gnb-"); ok {
			return c.cell(name, r, out)
		}
		return post()
	}
	if err := parse(); err != nil {
		return err
	}
	return post()
}

// cell asks a gNB; without a name it is the first.
func (c *Client) cell(verb string, r Request, out io.Writer) error {
	name := r.GNB
	if name == "" {
		name = "first"
	}
	r.GNB = ""
	return c.do(http.MethodPost, "/gnbs/"+url.PathEscape(name)+"/"+verb, r, out)
}

// Address is where a simulation listens unless told otherwise.
func Address() string {
	if a := os.Getenv("RAN_SERVER"); a != "" {
		return a
	}
	return "127.0.0.1:8082"
}

func (c *Client) addUE(file string, in io.Reader, out io.Writer) error {
	var b []byte
	var err error
	switch file {
	case "":
		return errors.New("-f FILE is missing")
	case "-":
		b, err = io.ReadAll(in)
	default:
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return err
	}
	var u map[string]any
	if err := yaml.Unmarshal(b, &u); err != nil {
		return err
	}
	return c.do(http.MethodPost, "/ues", u, out)
}
