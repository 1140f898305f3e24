package records

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// servedOnce is what a UDM keeps of a UE, and packedThen how the first program that packs has written it.
const (
	servedOnce = `{"amf":{"amf-3gpp-access":{"body":{"amfInstanceId":"7f5c3c4e-17af-4a10-8b30-9d23aa0100af",` +
		`"deregCallbackUri":"https://amf.site7.example.org:8000/namf-callback/v1/ues/imsi-001017301240001/deregistration",` +
		`"guami":{"amfId":"020040","plmnId":{"mcc":"001","mnc":"01"}},"imsVoPs":"HOMOGENEOUS_NON_SUPPORT","pei":"imeisv-4370816125816151","ratType":"NR",` +
		`"registrationTime":"2026-11-27T19:10:53.123Z"},"snssais":[{"sst":1,"sd":"010203"}]}}}`
	packedThen = "AZzRsQrCQBAE0C+6MLO75yb5Diu7Nd6JoChq4efLYSVI1DRTz8xb8rjXPOlkJdGjJgsi9VtFGnaiESAQdV6lcd" +
		"wO9+JdecTpcizd+br/pgIQdAXFWv8fkCCA4QNVm79A683D1NFzRcktM//yEV9zGIkxa0fRzbwXIdCX1zMAAP//"
)

// What a record takes in the store, and that it is read as it was written.
func TestPackedRecords(t *testing.T) {
	random := make([]byte, 0, 400)
	for n := range cap(random) {
		random = append(random, byte(n*n*7919>>3))
	}
	for name, c := range map[string]struct {
		value string
		most  int
	}{
		"what a UDM keeps of a UE":        {servedOnce, 140},
		"one that repeats itself":         {`{"dnn":"` + strings.Repeat("internet", 200) + `"}`, 40},
		"one that is short is kept as is": {`{"last":1,"dif":7}`, 18},
		"one of which nothing is known":   {"{" + string(random), 401},
	} {
		for range 3 { // by writers and readers that were used before, too
			kept := pack([]byte(c.value))
			if len(kept) > c.most {
				t.Errorf("%s: it takes %d octets, want %d at most", name, len(kept), c.most)
			}
			if value, err := unpack(kept); err != nil || string(value) != c.value {
				t.Errorf("%s: %v, it is read as %q", name, err, value)
			}
		}
	}
}

// A record of before is read for ever.
func TestRecordsOfProgramsBefore(t *testing.T) {
	then, err := base64.StdEncoding.DecodeString(packedThen)
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string][]byte{"one that packs": then, "one that does not": []byte(servedOnce)} {
		store, all := replicas(t, 1)
		if err := all[0].Change(t.Context(), "ue:a", true, func([]byte) (Becomes, error) { return Becomes{Value: []byte("{}")}, nil }); err != nil {
			t.Fatal(err)
		}
		write(t, store, all[0], "ue:a", kept)
		if value, err := all[0].Read(t.Context(), "ue:a"); err != nil || string(value) != servedOnce {
			t.Errorf("%s: %v, it is read as %q", name, err, value)
		}
	}
}

// What no program of this version has written is as none, and is said.
func TestPackedRecordsThatCannotBeRead(t *testing.T) {
	whole := pack([]byte(servedOnce))
	var large bytes.Buffer
	large.WriteByte(packedOnce)
	w, err := flate.NewWriterDict(&large, flate.BestCompression, []byte(words))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(bytes.Repeat([]byte{'a'}, MaxValue+1))
	_ = w.Close()
	for name, kept := range map[string][]byte{
		"of a newer program": append([]byte{packedOnce + 1}, whole[1:]...), "cut off": whole[:len(whole)/2], "larger than a record can be": large.Bytes(),
	} {
		store, all := replicas(t, 1)
		var said []error
		all[0].Unreadable = func(err error) { said = append(said, err) }
		if err := all[0].Change(t.Context(), "ue:a", true, func([]byte) (Becomes, error) { return Becomes{Value: []byte("{}")}, nil }); err != nil {
			t.Fatal(err)
		}
		write(t, store, all[0], "ue:a", kept)
		if value, err := all[0].Read(t.Context(), "ue:a"); err != nil || value != nil || len(said) != 1 {
			t.Errorf("%s: %v, it is read as %q, said %v", name, err, value, said)
		}
		if err := all[0].Change(t.Context(), "ue:a", true, func(was []byte) (Becomes, error) { return Becomes{Value: []byte(servedOnce)}, nil }); err != nil {
			t.Errorf("%s: it is not written anew: %v", name, err)
		}
		if value, err := all[0].Read(t.Context(), "ue:a"); err != nil || string(value) != servedOnce {
			t.Errorf("%s: %v, it is %q then", name, err, value)
		}
	}
}

// Whatever comes, what is packed is read as it was, and what is not is no reason to die.
func FuzzPacked(f *testing.F) {
	f.Add([]byte(servedOnce))
	f.Add(pack([]byte(servedOnce)))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = unpack(b)
		if len(b) > MaxValue || len(b) > 0 && b[0] < ' ' {
			return // no JSON
		}
		if value, err := unpack(pack(b)); err != nil || !bytes.Equal(value, b) {
			t.Fatalf("%v: %x", err, value)
		}
	})
}

func BenchmarkPacked(b *testing.B) {
	for b.Loop() {
		pack([]byte(servedOnce))
	}
}

// write into the store what a program has packed, in the place of a record that is there.
func write(t *testing.T, store sessionstore.Store, r *Records, key string, kept []byte) {
	t.Helper()
	was, err := store.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := r.seat.lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), lease, sessionstore.Change{Key: key, Was: was.Revision, Is: sessionstore.Revision{Writer: 99, Count: 1}, Value: r.sealer.Seal(key, kept)}); err != nil {
		t.Fatal(err)
	}
}
