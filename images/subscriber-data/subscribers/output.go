package subscribers

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Formats of subscribers.
const (
	formatCSV  = "csv"
	formatYAML = "yaml"
)

// columns of CSV, of which k and opc are left out where keys are not asked for.
var columns = []string{"supi", "k", "opc", "amf", "gpsi", "barred", "slices", "uplink", "downlink"}

// writer prints subscribers.
type writer interface {
	write(*postgresql.Subscriber) error
	end() error
}

func (c *Command) writer() writer {
	if c.Format == formatYAML {
		return &manifestWriter{out: bufio.NewWriter(c.Out), keys: c.Keys}
	}
	return &csvWriter{out: csv.NewWriter(c.Out), keys: c.Keys}
}

type csvWriter struct {
	out   *csv.Writer
	keys  bool
	begun bool
}

func (w *csvWriter) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.out.Write(w.chosen(columns))
}

// chosen are the fields without those of the keys, where these are not asked for.
func (w *csvWriter) chosen(fields []string) []string {
	if w.keys {
		return fields
	}
	return append([]string{fields[0]}, fields[3:]...)
}

func (w *csvWriter) write(s *postgresql.Subscriber) error {
	if err := w.begin(); err != nil {
		return err
	}
	slices, err := slicesText(s.Spec.Slices)
	if err != nil {
		return err
	}
	secret := s.Keys.Secret()
	return w.out.Write(w.chosen([]string{
		s.Spec.SUPI, string(secret[v1alpha1.SecretKeyK]), string(secret[v1alpha1.SecretKeyOPc]), s.Spec.Authentication.AMF, s.Spec.GPSI,
		strconv.FormatBool(s.Spec.Barred), slices, string(s.Spec.AMBR.Uplink), string(s.Spec.AMBR.Downlink),
	}))
}

func (w *csvWriter) end() error {
	if err := w.begin(); err != nil {
		return err
	}
	w.out.Flush()
	return w.out.Error()
}

// slicesText are the names of slices where there is no more to say, else the JSON of spec.slices.
func slicesText(list []v1alpha1.SubscribedSlice) (string, error) {
	var names []string
	for i := range list {
		s := &list[i]
		if s.Default || len(s.DNNs)+len(s.Addresses)+len(s.Flows) > 0 || strings.ContainsAny(s.Name, " [") {
			text, err := json.Marshal(list)
			return string(text), err
		}
		names = append(names, s.Name)
	}
	return strings.Join(names, " "), nil
}

// written is a Subscriber, or a Secret, as kubectl would take it.
type written struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        map[string]string `json:"metadata"`
	Spec            any               `json:"spec,omitempty"`
	StringData      map[string]string `json:"stringData,omitempty"`
}

type manifestWriter struct {
	out  *bufio.Writer
	keys bool
}

func (w *manifestWriter) write(s *postgresql.Subscriber) error {
	name := "ue-" + strings.TrimPrefix(s.Spec.SUPI, "imsi-")
	spec := s.Spec
	spec.Authentication.SecretRef.Name = name
	spec.CoreRef.Name = ""
	list := []written{{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Subscriber"}, Metadata: map[string]string{"name": name}, Spec: spec}}
	if w.keys {
		secret := written{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Metadata: map[string]string{"name": name}, StringData: map[string]string{}}
		for key, value := range s.Keys.Secret() {
			secret.StringData[key] = string(value)
		}
		list = append([]written{secret}, list...)
	}
	for _, m := range list {
		text, err := yaml.Marshal(m)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w.out, "---\n"+string(text)); err != nil {
			return err
		}
	}
	return nil
}

func (w *manifestWriter) end() error { return w.out.Flush() }
