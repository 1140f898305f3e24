package subscribers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// supisOf arguments; digits alone are an IMSI.
func supisOf(args []string) ([]string, error) {
	var out []string
	for _, a := range args {
		if strings.Trim(a, "0123456789") == "" {
			a = "imsi-" + a
		}
		if digits, is := strings.CutPrefix(a, "imsi-"); !is || len(digits) < 5 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
			return nil, fmt.Errorf("%q is no SUPI: write imsi- and 5 to 15 digits, for example imsi-208930000000001", a)
		}
		out = append(out, a)
	}
	return out, nil
}

// get prints some.
func (c *Command) get(ctx context.Context, d *postgresql.Database, supis []string) error {
	found, err := d.Get(ctx, supis...)
	if err != nil {
		return err
	}
	out := c.writer()
	var missing []string
	for _, supi := range supis {
		s, there := found[supi]
		if !there {
			missing = append(missing, supi)
			continue
		}
		if err := out.write(&s); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("not in the database: %s", strings.Join(missing, " "))
	}
	return nil
}

// export prints all.
func (c *Command) export(ctx context.Context, d *postgresql.Database, _ []string) error {
	out := c.writer()
	if err := d.Walk(ctx, out.write); err != nil {
		return err
	}
	return out.end()
}

// remove some. One that is not there is no error: it may have been removed by a call whose answer was lost.
func (c *Command) remove(ctx context.Context, d *postgresql.Database, supis []string) error {
	n, err := d.Delete(ctx, supis...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%d deleted, %d were not there\n", n, len(supis)-n)
	return err
}

// set changes one as the flags say, or makes it.
func (c *Command) set(ctx context.Context, d *postgresql.Database, supis []string) error {
	found, err := d.Get(ctx, supis[0])
	if err != nil {
		return err
	}
	s, there := found[supis[0]]
	if !there && (!c.given["slices"] || !c.Keys) {
		return fmt.Errorf("%s is not in the database: to make it, write -slices and -keys", supis[0])
	}
	s.Spec.SUPI = supis[0]
	if c.given["slices"] {
		if s.Spec.Slices, err = readSlices(c.Slices); err != nil {
			return err
		}
	}
	for name, apply := range map[string]func(){
		"barred":   func() { s.Spec.Barred = c.Barred },
		"gpsi":     func() { s.Spec.GPSI = c.GPSI },
		"uplink":   func() { s.Spec.AMBR.Uplink = v1alpha1.BitRate(c.Uplink) },
		"downlink": func() { s.Spec.AMBR.Downlink = v1alpha1.BitRate(c.Downlink) },
		"amf":      func() { s.Spec.Authentication.AMF = c.AMF },
	} {
		if c.given[name] {
			apply()
		}
	}
	if c.Keys {
		if s.Keys, err = c.readKeys(); err != nil {
			return err
		}
	}
	withDefaults(&s.Spec)
	claims := newClaims(func(uint64) bool { return false })
	c.readObjects(ctx, claims)
	if c.given["slices"] || !there {
		if err := claims.around.refuse(&s.Spec); err != nil {
			return err
		}
		claims.around.note(&s.Spec)
		claims.around.say(c.Err)
	}
	if c.given["slices"] || c.given["gpsi"] || !there { // what was there before has been judged, or is to be changed
		if err := claims.check(ctx, d, &s.Spec); err != nil {
			return err
		}
	}
	done, refused, err := d.Write(ctx, []postgresql.Subscriber{s})
	switch {
	case err != nil:
		return err
	case len(refused) > 0:
		return refused[0].Why
	}
	if name, is := claims.objects[digitsOf(supis[0])]; is {
		_, _ = fmt.Fprintln(c.Err, alsoObjects([]string{name}))
	}
	_, err = fmt.Fprintf(c.Out, "%s %s\n", supis[0], map[postgresql.Written]string{{New: 1}: "made", {Changed: 1}: "changed", {Same: 1}: "is so already"}[done])
	return err
}

// maxKeys is more than keys on standard input take, in octets.
const maxKeys = 4096

// readKeys reads lines like k=… from standard input: a command line is everybody's to see.
func (c *Command) readKeys() (postgresql.Keys, error) {
	var e aka.Encoded
	lines := bufio.NewScanner(io.LimitReader(c.In, maxKeys))
	for lines.Scan() {
		name, value, is := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		switch {
		case name == "" && !is:
		case is && name == v1alpha1.SecretKeyK:
			e.K = value
		case is && name == v1alpha1.SecretKeyOPc:
			e.OPc = value
		case is && name == v1alpha1.SecretKeyOP:
			e.OP = value
		default: // which may be a key, and is not shown
			return postgresql.Keys{}, errors.New("a line of the keys has none of k=, opc= and op= in front: write one of them on each line")
		}
	}
	if err := lines.Err(); err != nil {
		return postgresql.Keys{}, err
	}
	return postgresql.NewKeys(e)
}

// reseal writes the keys of all anew, so that a sealing key can be taken away.
func (c *Command) reseal(ctx context.Context, d *postgresql.Database, _ []string) error {
	n, err := d.Reseal(ctx, func(n int) { _, _ = fmt.Fprintf(c.Err, "%d resealed\n", n) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%d resealed: all keys of the database are sealed with the newest key\n", n)
	return err
}
