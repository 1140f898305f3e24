package postgresql

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Subscriber is one subscription and its keys. Spec.Authentication.SecretRef and Spec.CoreRef say nothing: the keys are here, and a database is of
// one core.
type Subscriber struct {
	Spec v1alpha1.SubscriberSpec
	Keys Keys
}

// Keys of a USIM. They cannot be printed.
type Keys struct{ k, opc [16]byte }

// Format implements fmt.Formatter for every verb.
func (Keys) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("[redacted]")) }

// MarshalText keeps encoding/json and friends from looking inside.
func (Keys) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// NewKeys checks keys as a Secret of a Subscriber has them; of OP, OPc is made. Its errors name the field that is wrong, and never its value.
func NewKeys(e aka.Encoded) (Keys, error) {
	e.AMF = v1alpha1.DefaultAMF // which is the subscription's, and none of the keys
	plain, err := e.WithOPc()
	if err != nil {
		return Keys{}, err
	}
	var out Keys
	for _, field := range []struct {
		into []byte
		from string
	}{{out.k[:], plain.K}, {out.opc[:], plain.OPc}} {
		if _, err := hex.Decode(field.into, []byte(field.from)); err != nil {
			return Keys{}, errors.New("the keys are no hexadecimal digits")
		}
	}
	return out, nil
}

// Secret is what a Secret of a Subscriber would hold: 32 hexadecimal digits each.
func (k Keys) Secret() map[string][]byte {
	return map[string][]byte{v1alpha1.SecretKeyK: hex.AppendEncode(nil, k.k[:]), v1alpha1.SecretKeyOPc: hex.AppendEncode(nil, k.opc[:])}
}

// keysVersion begins what is sealed, so that there may be other keys one day.
const keysVersion = 1

func (k Keys) seal(s *sessionstore.Sealer, supi string) []byte {
	plain := append(append([]byte{keysVersion}, k.k[:]...), k.opc[:]...)
	return s.Seal(supi, plain)
}

// openKeys opens what was sealed for a SUPI, and for no other.
func openKeys(s *sessionstore.Sealer, supi string, sealed []byte) (Keys, error) {
	var out Keys
	plain, err := s.Open(supi, sealed)
	if err != nil {
		return out, err
	}
	if len(plain) != 1+len(out.k)+len(out.opc) || plain[0] != keysVersion {
		return out, fmt.Errorf("the keys of %s are of another version than this program knows: run a newer one", supi)
	}
	copy(out.k[:], plain[1:])
	copy(out.opc[:], plain[1+len(out.k):])
	return out, nil
}

// row is a subscriber as the database has it.
type row struct {
	supi   string
	gpsi   *string
	barred bool
	// slices and ambr are JSON, as in a Subscriber.
	slices, ambr string
	amf          string
	keys         []byte
}

const columns = `supi, gpsi, barred, slices::text, ambr::text, amf, keys`

func (r *row) scan(from pgx.Row) error {
	return from.Scan(&r.supi, &r.gpsi, &r.barred, &r.slices, &r.ambr, &r.amf, &r.keys)
}

// spec is what a Subscriber would say.
func (r *row) spec() (v1alpha1.SubscriberSpec, error) {
	s := v1alpha1.SubscriberSpec{SUPI: r.supi, Barred: r.barred}
	if r.gpsi != nil {
		s.GPSI = *r.gpsi
	}
	s.Authentication = v1alpha1.Authentication{AMF: r.amf}
	if err := errors.Join(json.Unmarshal([]byte(r.slices), &s.Slices), json.Unmarshal([]byte(r.ambr), &s.AMBR)); err != nil {
		return s, fmt.Errorf("the row of %s cannot be read: %w", r.supi, err)
	}
	return s, nil
}

func rowOf(s *v1alpha1.SubscriberSpec) (row, error) {
	slices, err := json.Marshal(s.Slices)
	if err != nil {
		return row{}, err
	}
	ambr, err := json.Marshal(s.AMBR)
	if err != nil {
		return row{}, err
	}
	r := row{supi: s.SUPI, barred: s.Barred, slices: string(slices), ambr: string(ambr), amf: s.Authentication.AMF}
	if s.GPSI != "" {
		r.gpsi = &s.GPSI
	}
	if r.amf == "" {
		r.amf = v1alpha1.DefaultAMF
	}
	return r, nil
}

// subscriber opens the row.
func (d *Database) subscriber(r *row) (Subscriber, error) {
	spec, err := r.spec()
	if err != nil {
		return Subscriber{}, err
	}
	keys, err := openKeys(d.sealer.Load(), r.supi, r.keys)
	return Subscriber{Spec: spec, Keys: keys}, err
}

// Get returns those of the SUPIs that are there.
func (d *Database) Get(ctx context.Context, supis ...string) (map[string]Subscriber, error) {
	rows, err := d.rows(ctx, supis)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Subscriber, len(rows))
	for supi, r := range rows {
		if out[supi], err = d.subscriber(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rows of those of the SUPIs that are there.
func (d *Database) rows(ctx context.Context, supis []string) (map[string]*row, error) {
	found, err := d.pool.Query(ctx, `SELECT `+columns+` FROM core5g.subscribers WHERE supi = ANY($1)`, supis)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	out := make(map[string]*row, len(supis))
	for found.Next() {
		r := new(row)
		if err := r.scan(found); err != nil {
			return nil, err
		}
		out[r.supi] = r
	}
	return out, found.Err()
}

// page is how many rows are read at a time.
const page = 5000

// Walk calls each with every subscriber, by SUPI. What changes meanwhile may be missed.
func (d *Database) Walk(ctx context.Context, each func(*Subscriber) error) error {
	for after := ""; ; {
		n := 0
		rows, err := d.pool.Query(ctx, `SELECT `+columns+` FROM core5g.subscribers WHERE supi > $1 ORDER BY supi LIMIT $2`, after, page)
		if err != nil {
			return err
		}
		for rows.Next() {
			var r row
			if err = r.scan(rows); err == nil {
				var s Subscriber
				if s, err = d.subscriber(&r); err == nil {
					err = each(&s)
				}
			}
			if err != nil {
				rows.Close()
				return err
			}
			after, n = r.supi, n+1
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if n < page {
			return nil
		}
	}
}

// Addressed are all that have static addresses, or networks behind their UEs: their SUPIs and slices.
func (d *Database) Addressed(ctx context.Context, each func(*v1alpha1.SubscriberSpec)) error {
	rows, err := d.pool.Query(ctx, `SELECT supi, slices::text FROM core5g.subscribers WHERE slices @? '$[*] ? (exists(@.addresses[*]) || exists(@.framedRoutes[*]))'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r := row{ambr: "{}"}
		if err := rows.Scan(&r.supi, &r.slices); err != nil {
			return err
		}
		spec, err := r.spec()
		if err != nil {
			return err
		}
		each(&spec)
	}
	return rows.Err()
}

// Delete those SUPIs, and say how many were there.
func (d *Database) Delete(ctx context.Context, supis ...string) (int, error) {
	done, err := d.pool.Exec(ctx, `DELETE FROM core5g.subscribers WHERE supi = ANY($1)`, supis)
	return int(done.RowsAffected()), err
}
