package subscribers

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// known columns: those that are written, and op.
var known = append([]string{"op"}, columns...)

// isHeader says whether a line may be the first of CSV.
func isHeader(line string) bool {
	for name := range strings.SplitSeq(line, ",") {
		if clean(name) == "supi" {
			return true
		}
	}
	return false
}

func clean(name string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), `"`))
}

type csvReader struct {
	in *csv.Reader
	// at is the place of each column.
	at map[string]int
	// fields of a whole line.
	fields int
}

func newCSV(in io.Reader) (*csvReader, error) {
	r := &csvReader{in: csv.NewReader(in), at: map[string]int{}}
	r.in.FieldsPerRecord, r.in.ReuseRecord, r.in.TrimLeadingSpace = -1, true, true
	header, err := r.in.Read()
	if err != nil {
		return nil, errors.New("the first line cannot be read: write the names of the columns, with commas between")
	}
	for i, name := range header {
		name = clean(name)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no column %q: write some of %s", name, strings.Join(known, ", "))
		}
		if _, twice := r.at[name]; twice {
			return nil, fmt.Errorf("column %q stands twice", name)
		}
		r.at[name] = i
	}
	r.fields = len(header)
	return r, nil
}

func (r *csvReader) places() string { return "line" }

func (r *csvReader) next() (entry, error) {
	record, err := r.in.Read()
	var malformed *csv.ParseError
	switch {
	case errors.As(err, &malformed): // its text would quote nothing, yet neither help
		return entry{place: malformed.StartLine, problem: errors.New("it is no CSV: a quote stands alone, or within a field that has none around it")}, nil
	case err != nil:
		return entry{}, err
	}
	e := entry{}
	e.place, _ = r.in.FieldPos(0)
	if len(record) != r.fields {
		e.problem = fmt.Errorf("it has %d fields, and the first line names %d columns", len(record), r.fields)
		return e, nil
	}
	e.spec, e.keys, e.problem = r.read(record)
	return e, nil
}

func (r *csvReader) read(record []string) (s v1alpha1.SubscriberSpec, keys *aka.Encoded, err error) {
	of := func(column string) string {
		if i, there := r.at[column]; there {
			return strings.Clone(strings.TrimSpace(record[i])) // the record is used again
		}
		return ""
	}
	s.SUPI, s.GPSI = of("supi"), of("gpsi")
	if s.SUPI != "" && strings.Trim(s.SUPI, "0123456789") == "" {
		s.SUPI = "imsi-" + s.SUPI
	}
	s.Authentication.AMF = of("amf")
	s.AMBR = v1alpha1.AMBR{Uplink: v1alpha1.BitRate(of("uplink")), Downlink: v1alpha1.BitRate(of("downlink"))}
	if text := of("barred"); text != "" {
		if s.Barred, err = strconv.ParseBool(text); err != nil {
			return s, nil, errors.New("barred: write true or false")
		}
	}
	if s.Slices, err = readSlices(of("slices")); err != nil {
		return s, nil, err
	}
	if e := (aka.Encoded{K: of("k"), OPc: of("opc"), OP: of("op")}); e != (aka.Encoded{}) {
		keys = &e
	}
	withDefaults(&s)
	return s, keys, nil
}
