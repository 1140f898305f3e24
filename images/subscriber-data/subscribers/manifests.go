package subscribers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// manifestReader reads Subscribers and the Secrets that they name, in any order, as `kubectl get subscribers,secrets -o yaml` and export write them.
type manifestReader struct {
	in       *utilyaml.YAMLReader
	document int
	// ready are entries that have been read and not been asked for.
	ready []entry
	// secrets that no Subscriber has named yet, and Subscribers whose Secret has not come yet, by its name.
	secrets map[string]aka.Encoded
	waiting map[string][]entry
	ended   bool
}

func newManifests(in *bufio.Reader) *manifestReader {
	return &manifestReader{in: utilyaml.NewYAMLReader(in), secrets: map[string]aka.Encoded{}, waiting: map[string][]entry{}}
}

func (r *manifestReader) places() string { return "document" }

func (r *manifestReader) next() (entry, error) {
	for len(r.ready) == 0 {
		if r.ended {
			return entry{}, io.EOF
		}
		document, err := r.in.Read()
		switch {
		case errors.Is(err, io.EOF):
			r.ended = true
			for _, list := range r.waiting { // without keys
				r.ready = append(r.ready, list...)
			}
		case err != nil:
			return entry{}, err
		case len(bytes.TrimSpace(document)) > 0:
			r.document++
			r.take(document)
		}
	}
	e := r.ready[0]
	r.ready = r.ready[1:]
	return e, nil
}

// take one document. What is wrong with it is an entry: an error of the parser could quote a key.
func (r *manifestReader) take(document []byte) {
	refuse := func(text string) { r.ready = append(r.ready, entry{place: r.document, problem: errors.New(text)}) }
	raw, err := yaml.YAMLToJSON(document)
	if err != nil {
		refuse("it is neither YAML nor CSV: CSV begins with a line that names its columns, one of them supi")
		return
	}
	var is metav1.TypeMeta
	if json.Unmarshal(raw, &is) != nil {
		refuse("it is no manifest: write Subscribers and Secrets")
		return
	}
	switch is.Kind {
	case "List", "SubscriberList", "SecretList":
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		if json.Unmarshal(raw, &list) != nil {
			refuse("the list has no items that could be read")
			return
		}
		for _, item := range list.Items {
			r.take(item)
		}
	case "Subscriber":
		r.subscriber(raw, refuse)
	case "Secret":
		r.secret(raw, refuse)
	default:
		refuse(fmt.Sprintf("kind %q: write Subscribers and Secrets", is.Kind))
	}
}

func (r *manifestReader) subscriber(raw []byte, refuse func(string)) {
	var s v1alpha1.Subscriber
	if err := yaml.UnmarshalStrict(raw, &s); err != nil {
		refuse("the Subscriber cannot be read: " + err.Error())
		return
	}
	withDefaults(&s.Spec)
	e := entry{place: r.document, spec: s.Spec}
	name := s.Spec.Authentication.SecretRef.Name
	if keys, there := r.secrets[name]; there {
		delete(r.secrets, name)
		e.keys = &keys
		r.ready = append(r.ready, e)
		return
	}
	r.waiting[name] = append(r.waiting[name], e)
}

func (r *manifestReader) secret(raw []byte, refuse func(string)) {
	var s corev1.Secret
	if yaml.Unmarshal(raw, &s) != nil {
		refuse("the Secret cannot be read")
		return
	}
	of := func(key string) string {
		if text, there := s.StringData[key]; there {
			return text
		}
		return string(s.Data[key])
	}
	keys := aka.Encoded{K: of(v1alpha1.SecretKeyK), OPc: of(v1alpha1.SecretKeyOPc), OP: of(v1alpha1.SecretKeyOP)}
	if keys == (aka.Encoded{}) {
		return // one of something else
	}
	waiting := r.waiting[s.Name]
	if len(waiting) == 0 {
		r.secrets[s.Name] = keys
		return
	}
	delete(r.waiting, s.Name)
	for _, e := range waiting {
		e.keys = &keys
		r.ready = append(r.ready, e)
	}
}
