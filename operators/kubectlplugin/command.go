package kubectlplugin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/subscriberdatabase/subscribercommand"
)

// Usage of the plug-in.
const Usage = `kubectl core5g shows and operates a core.

  kubectl core5g status                          the whole core on one screen
  kubectl core5g preflight [NODE]                what each node lacks for UPF units, and how to set it;
                                                 exit status 1 where something is missing
  kubectl core5g drain UPFINSTANCE [UNIT]        end all units, or the last one, as spec.drain says
      -wait=false                                do not wait for the end
      -timeout 10m                               how long to wait [spec.drain.timeout and 3 minutes]
  kubectl core5g switch UNIT                     have the standby of a UPF unit take it over; no session ends
      -wait=false -timeout 1m                    do not wait until it has; how long to wait
  kubectl core5g sessions                        all PDU sessions: of core5g's own SMF where there is one,
                                                 else as the UPF units have them
      -slice NAME -supi SUPI -limit 1000         of a Slice, of a UE, so many (own SMF only)
      -unit UNIT                                 those of one unit
  kubectl core5g sessions UPFINSTANCE            as the units of one UPF have them, with what they forwarded
      -ue ADDRESS                                those of one UE; without a name, of all units
  kubectl core5g session SUPI/ID                 one PDU session with its rules and last procedures (own SMF only)
      -o json                                    of sessions and session: JSON
  kubectl core5g ues                             all UEs of core5g's own AMF
      -slice 1-010203 -gnb ID -tac 000001        that are allowed an S-NSSAI, are at a gNB (its ID or its name), in a TAC
      -state connected|idle -supi SUPI           in a state, one; -limit 1000: so many
  kubectl core5g ue SUPI                         one UE with its connection, sessions and last procedures
      -o json                                    of ues and ue: JSON
  kubectl core5g trace ue SUPI                   what is said for a UE: NAS, NGAP, SBI, PFCP, as a ladder; without keys
      -for 1m                                    how long; Ctrl-C ends it before
      -pcap FILE                                 for Wireshark too (pcapng)
      -nas                                       with NAS messages in it as they are without protection
  kubectl core5g subscribers import FILE         CSV, or manifests of Subscribers and Secrets, into the core's database of
                                                 subscribers; - for standard input; -check writes nothing
  kubectl core5g subscribers export              all of them; -format csv|yaml, -keys: with K and OPc
  kubectl core5g subscribers get SUPI …          some, in the same forms
  kubectl core5g subscribers set SUPI            change one, or make it: -barred=true|false -gpsi X -slices "A B" -uplink RATE
                                                 -downlink RATE -amf 8000, and -keys with k=… and opc=… on standard input
  kubectl core5g subscribers delete SUPI …       take some away
  kubectl core5g subscribers reseal | schema     seal all keys with the newest key; the SQL of the schema
      -core NAME                                 where the namespace has several
  kubectl core5g report                          a support bundle, without secrets, as tar.gz
      -o FILE                                    where to [core5g-report-<time>.tar.gz]; - for standard output
      -log-lines 2000                            how much of each container's log

  -n NAMESPACE  -context NAME  -kubeconfig FILE  as kubectl has them
  -rows 12                                       how many rows of a kind status prints

Exit status: 0 done, with preflight: all is well; 1 it is not, or could not be done; 2 the command cannot be
understood. status ends with 0 whatever it shows.`

// defaultLimit is how many PDU sessions of the SMF's, or UEs of the AMF's, are listed.
const defaultLimit = 1000

// outputJSON is the value of -o for JSON.
const outputJSON = "json"

// Plugin runs commands on one cluster and namespace.
type Plugin struct {
	Client    client.Client
	Pods      Pods
	Namespace string
	In        io.Reader
	Out, Err  io.Writer
	// OpenFile opens a file to read.
	OpenFile func(name string) (io.ReadCloser, error)
	Now      func() time.Time
	// Sleep waits, or returns the error of ctx.
	Sleep func(ctx context.Context, d time.Duration) error
	// Create makes the file of a report.
	Create func(name string) (io.WriteCloser, error)

	options
}

// options are the commands' flags.
type options struct {
	namespace, kubeconfig, context string
	ue, output                     string
	slice, unit, supi              string
	gnb, tac, state                string
	rows, limit                    int
	logLines                       int64
	wait, nas                      bool
	last                           time.Duration
	pcap                           string
	timeout                        time.Duration
	core                           string
	// ofSubscribers are passed on to the command of the pod, in given.
	ofSubscribers subscribercommand.Flags
	given         []string
}

// Connector reaches a cluster; Connect is the real one.
type Connector func(kubeconfig, contextName, namespace string) (client.Client, Pods, string, error)

// usageError says that the command cannot be understood.
type usageError struct{ problem string }

func (e *usageError) Error() string {
	return e.problem + "; `kubectl core5g help` explains the commands"
}

// errNotWell ends a command with exit status 1 that has said why already.
var errNotWell = errors.New("not all is well")

type command struct {
	run func(*Plugin, context.Context, []string) error
	// at least and at most so many arguments
	least, most int
	lacks       string   // what is missing where there are fewer
	flags       []string // beside those of the connection
}

func commands() map[string]command {
	return map[string]command{
		"status":      {(*Plugin).status, 0, 0, "", []string{"rows"}},
		"preflight":   {(*Plugin).preflight, 0, 1, "", nil},
		"drain":       {(*Plugin).drain, 1, 2, "the name of the UPFInstance", []string{"wait", "timeout"}},
		"switch":      {(*Plugin).switchUnit, 1, 1, "the name of the unit, for example upf-0,", []string{"wait", "timeout"}},
		"sessions":    {(*Plugin).sessions, 0, 1, "", []string{"ue", "slice", "unit", "supi", "limit", "o"}},
		"session":     {(*Plugin).session, 1, 1, "SUPI/ID, for example imsi-208930000000001/1,", []string{"o"}},
		"ues":         {(*Plugin).ues, 0, 0, "", []string{"slice", "gnb", "tac", "state", "supi", "limit", "o"}},
		"ue":          {(*Plugin).oneUE, 1, 1, "the SUPI, for example imsi-208930000000001,", []string{"o"}},
		"trace":       {(*Plugin).trace, 2, 2, "ue SUPI, for example ue imsi-208930000000001,", []string{"for", "pcap", "nas"}},
		"subscribers": {(*Plugin).subscribers, 1, 1 + subscribercommand.MaxSUPIs, subscribercommand.Names(), append([]string{"core"}, subscribercommand.FlagNames()...)},
		"report":      {(*Plugin).report, 0, 0, "", []string{"o", "log-lines"}},
	}
}

// Run carries out one command and returns the exit status.
func Run(ctx context.Context, args []string, base Plugin, connect Connector) int {
	err := run(ctx, args, &base, connect)
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNotWell):
		return 1
	}
	fmt.Fprintln(base.Err, "kubectl core5g:", err)
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, p *Plugin, connect Connector) error {
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprintln(p.Out, Usage)
		return nil
	}
	// kubectl takes flags before and after the command, and so does this.
	name, rest := "", []string{}
	f := p.flags()
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(p.Out, Usage)
			return nil
		} else if err != nil {
			return &usageError{err.Error()}
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		if name == "" {
			name = args[0]
		} else {
			rest = append(rest, args[0])
		}
		args = args[1:]
	}
	c, known := commands()[name]
	switch {
	case name == "":
		return &usageError{"which command?"}
	case !known:
		return &usageError{fmt.Sprintf("there is no command %q", name)}
	case len(rest) < c.least:
		return &usageError{name + ": " + c.lacks + " is missing"}
	case len(rest) > c.most:
		return &usageError{fmt.Sprintf("%s: unexpected argument %q", name, rest[c.most])}
	}
	var foreign string
	f.Visit(func(set *flag.Flag) {
		if !slices.Contains([]string{"n", "namespace", "context", "kubeconfig"}, set.Name) && !slices.Contains(c.flags, set.Name) {
			foreign = set.Name
		}
		if slices.Contains(subscribercommand.FlagNames(), set.Name) {
			p.given = append(p.given, "-"+set.Name+"="+set.Value.String())
		}
	})
	if foreign != "" {
		return &usageError{fmt.Sprintf("%s has no flag -%s", name, foreign)}
	}
	var err error
	if p.Client, p.Pods, p.Namespace, err = connect(p.kubeconfig, p.context, p.namespace); err != nil {
		return err
	}
	return c.run(p, ctx, rest)
}

func (p *Plugin) flags() *flag.FlagSet {
	f := flag.NewFlagSet("kubectl core5g", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&p.namespace, "n", "", "")
	f.StringVar(&p.namespace, "namespace", "", "")
	f.StringVar(&p.context, "context", "", "")
	f.StringVar(&p.kubeconfig, "kubeconfig", "", "")
	f.StringVar(&p.ue, "ue", "", "")
	f.StringVar(&p.output, "o", "", "")
	f.StringVar(&p.slice, "slice", "", "")
	f.StringVar(&p.unit, "unit", "", "")
	f.StringVar(&p.gnb, "gnb", "", "")
	f.StringVar(&p.tac, "tac", "", "")
	f.StringVar(&p.state, "state", "", "")
	f.StringVar(&p.supi, "supi", "", "")
	f.IntVar(&p.limit, "limit", defaultLimit, "")
	f.IntVar(&p.rows, "rows", 12, "")
	f.Int64Var(&p.logLines, "log-lines", 2000, "")
	f.BoolVar(&p.nas, "nas", false, "")
	f.StringVar(&p.pcap, "pcap", "", "")
	f.DurationVar(&p.last, "for", defaultTrace, "")
	f.StringVar(&p.core, "core", "", "")
	p.ofSubscribers.Define(f)
	f.BoolVar(&p.wait, "wait", true, "")
	f.DurationVar(&p.timeout, "timeout", 0, "")
	return f
}

// table prints rows in columns; the first is the head.
func table(out io.Writer, rows [][]string) {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
}

// short cuts a text for a column.
func short(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
