package control

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
)

// command defines the flags of a verb; what it returns fills the request in after they are parsed.
type command func(f *flag.FlagSet, r *Request) (fill func(in io.Reader) error)

func startFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	f.StringVar(&r.To, "to", "", "")
	f.IntVar(&r.Count, "count", 1, "")
	f.BoolVar(&r.InProcess, "in-process", false, "")
	return nothing
}

var commands = map[string]command{
	"start":       startFlags,
	"again":       func(*flag.FlagSet, *Request) func(io.Reader) error { return nothing },
	"modify":      modifyFlags,
	"stream":      streamFlags,
	"handover":    handoverFlags,
	"camp":        gnbFlag,
	"behave":      behaveFlags,
	"repeat-nas":  func(*flag.FlagSet, *Request) func(io.Reader) error { return nothing },
	"raw-5gsm":    rawSMFlags,
	"notify":      notifyFlags,
	"move-tunnel": func(*flag.FlagSet, *Request) func(io.Reader) error { return nothing },
	"gnb-behave":  cellBehaveFlags,
	"gnb-die":     dieFlags,
	"gnb-revive":  gnbFlag,
}

func nothing(io.Reader) error { return nil }

// list reads numbers with commas between them.
func list(name, text string) ([]uint8, error) {
	if text == "" {
		return nil, nil
	}
	var out []uint8
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 8)
		if err != nil {
			return nil, fmt.Errorf("-%s %q: write numbers with commas between them, such as 1,5", name, text)
		}
		out = append(out, uint8(n))
	}
	return out, nil
}

// lists reads several of them.
func lists(into map[string]*gnb.Identities, from map[string]*string) error {
	for name, to := range into {
		l, err := list(name, *from[name])
		if err != nil {
			return err
		}
		*to = l
	}
	return nil
}

func gnbFlag(f *flag.FlagSet, r *Request) func(io.Reader) error {
	f.StringVar(&r.GNB, "gnb", "", "")
	return nothing
}

func dieFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	f.StringVar(&r.GNB, "gnb", "", "")
	f.BoolVar(&r.Silent, "silent", false, "")
	return nothing
}

func modifyFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	file := f.String("f", "", "")
	always := f.Bool("always-on", false, "")
	return func(in io.Reader) error {
		r.Modify = &config.Modify{}
		if *file != "" {
			b, err := input(*file, in)
			if err != nil {
				return err
			}
			if err := yaml.UnmarshalStrict(b, r.Modify); err != nil {
				return fmt.Errorf("%s: %w", *file, err)
			}
		}
		r.Modify.AlwaysOn = r.Modify.AlwaysOn || *always
		return nil
	}
}

// input reads a file, - being standard input.
func input(file string, in io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

func streamFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	f.StringVar(&r.To, "to", "", "")
	f.StringVar(&r.Direction, "direction", "down", "")
	f.IntVar(&r.Count, "count", 10000, "")
	f.IntVar(&r.Rate, "rate", 1000, "")
	f.IntVar(&r.Size, "size", 64, "")
	return nothing
}

func handoverFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	r.Handover = &gnb.HandoverOptions{}
	f.StringVar(&r.GNB, "gnb", "", "")
	f.StringVar(&r.Kind, "kind", "xn", "")
	f.BoolVar(&r.Handover.NoForwarding, "no-forwarding", false, "")
	f.BoolVar(&r.Handover.Indirect, "indirect", false, "")
	f.StringVar(&r.Handover.Cancel, "cancel", "", "")
	leave := f.String("leave", "", "")
	return func(io.Reader) (err error) {
		r.Handover.Leave, err = list("leave", *leave)
		return err
	}
}

func behaveFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	r.Behaviour = &ue.Behaviour{}
	f.BoolVar(&r.Behaviour.IgnorePaging, "ignore-paging", false, "")
	f.IntVar(&r.Behaviour.Repeat, "repeat", 0, "")
	ignore := f.String("ignore", "", "")
	return func(io.Reader) error {
		if *ignore == "" {
			return nil
		}
		r.Behaviour.Ignore = map[string]int{}
		for part := range strings.SplitSeq(*ignore, ",") {
			name, text, counted := strings.Cut(part, "=")
			n, err := -1, error(nil)
			if counted {
				n, err = strconv.Atoi(text)
			}
			if err != nil {
				return fmt.Errorf("-ignore %q: write for example release-command=2, or release-command for all", part)
			}
			r.Behaviour.Ignore[name] = n
		}
		return nil
	}
}

func rawSMFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	r.RawSM = &RawSM{}
	f.StringVar(&r.RawSM.Payload, "payload", "", "")
	f.IntVar(&r.RawSM.Request, "request-type", 0, "")
	f.StringVar(&r.RawSM.DNN, "dnn", "", "")
	slice := &config.SNSSAI{}
	f.IntVar(&slice.SST, "sst", 0, "")
	f.StringVar(&slice.SD, "sd", "", "")
	return func(io.Reader) error {
		switch {
		case slice.SST != 0:
			r.RawSM.SNSSAI = slice
		case slice.SD != "":
			return errors.New("-sd without -sst")
		}
		return nil
	}
}

func notifyFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	r.Notification = &gnb.Notification{}
	texts := map[string]*string{}
	for _, name := range []string{"fulfilled", "not-fulfilled", "released"} {
		texts[name] = f.String(name, "", "")
	}
	f.BoolVar(&r.Notification.Session, "whole", false, "")
	return func(io.Reader) error {
		n := r.Notification
		return lists(map[string]*gnb.Identities{"fulfilled": &n.Fulfilled, "not-fulfilled": &n.NotFulfilled, "released": &n.Released}, texts)
	}
}

func cellBehaveFlags(f *flag.FlagSet, r *Request) func(io.Reader) error {
	b := &gnb.Behaviour{}
	r.Radio = b
	f.StringVar(&r.GNB, "gnb", "", "")
	sessions, flows := f.String("refuse-sessions", "", ""), f.String("refuse-flows", "", "")
	f.BoolVar(&b.RefuseHandover, "refuse-handover", false, "")
	f.BoolVar(&b.SilentHandover, "silent-handover", false, "")
	f.BoolVar(&b.SilentResources, "silent-resources", false, "")
	return func(io.Reader) error {
		if *sessions == "all" {
			b.RefuseAllSessions, *sessions = true, ""
		}
		return lists(map[string]*gnb.Identities{"refuse-sessions": &b.RefuseSessions, "refuse-flows": &b.RefuseFlows}, map[string]*string{"refuse-sessions": sessions, "refuse-flows": flows})
	}
}
