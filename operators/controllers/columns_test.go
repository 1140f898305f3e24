package controllers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// A column of kubectl shows the first value that its path leads to: what has several stands in one string.
func (e *environment) testColumns(t *testing.T) {
	ns := e.namespace(t)
	slice := controllertest.Parse[api.Slice](t, ns, `
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - {dnn: internet, uePools: [10.45.0.0/16, 10.46.0.0/16]}
  - {dnn: ims, uePools: [10.47.0.0/16]}
`)
	subscriber := controllertest.Parse[api.Subscriber](t, ns, `
metadata: {name: phone}
spec:
  supi: imsi-208930000000001
  barred: true
  authentication: {secretRef: {name: keys}}
  slices: [{name: internet}, {name: meters}]
`)
	e.create(t, slice, subscriber)
	for _, c := range []struct {
		resource string
		want     map[string]string
	}{
		{"slices", map[string]string{"S-NSSAI": "1-010203", "DNN": "internet,ims", "Pools": "10.45.0.0/16,10.46.0.0/16,10.47.0.0/16"}},
		{"subscribers", map[string]string{"SUPI": "imsi-208930000000001", "Slices": "internet,meters", "Barred": "true"}},
	} {
		eventually(t, "columns of "+c.resource, func() error {
			cells, err := e.columns(ns, c.resource)
			if err != nil {
				return err
			}
			got := map[string]string{}
			for name := range c.want {
				got[name] = fmt.Sprint(cells[name])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return nil
		})
	}
}

// columns asks for the only object of a namespace as kubectl does, and returns its cells by the head of their column.
func (e *environment) columns(namespace, resource string) (map[string]any, error) {
	asked, err := rest.HTTPClientFor(e.env.Config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(e.env.Config.Host, "/")+"/apis/"+api.GroupVersion.String()+"/namespaces/"+namespace+"/"+resource, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := asked.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil {
		return nil, fmt.Errorf("%s: %w", body, err)
	}
	if len(table.Rows) != 1 {
		return nil, fmt.Errorf("%d rows: %s", len(table.Rows), body)
	}
	cells := map[string]any{}
	for i, c := range table.ColumnDefinitions {
		cells[c.Name] = table.Rows[0].Cells[i]
	}
	return cells, nil
}
