package onprem

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"text/template"
)

// manifests that the suite applies.
type manifests struct{ upf, slice, ran, dataNetwork, probe string }

//go:embed manifests.yaml.tmpl
var manifestText string

// manifests are rendered from one template file, one document each. routes lead each part of the UE pool to
// the N6 address of the unit that has it.
func (s *settings) manifests(routes map[string]string) manifests {
	type route struct{ To, Via string }
	var sorted []route
	for _, to := range slices.Sorted(maps.Keys(routes)) {
		sorted = append(sorted, route{to, routes[to]})
	}
	key, value, _ := strings.Cut(s.nodes, "=")
	ranKey, ranValue, _ := strings.Cut(s.ranNodes, "=")
	data := map[string]any{
		"Upf": upfInstance, "Slice": slice, "Phones": phones, "Probe": probeName,
		"NodeKey": key, "NodeValue": value, "Taint": s.taint, "RANKey": ranKey, "RANValue": ranValue,
		"N3Resource": s.n3Resource, "N6Resource": s.n6Resource,
		"N3Subnet": s.n3Subnet, "N3Endpoints": s.n3Endpoints, "N3Bits": prefixBits(s.n3Subnet), "GNB": s.gnb,
		"N3VLAN": s.n3VLAN, "N3MTU": s.n3MTU,
		"N6Address": s.n6Address, "N6Further": s.n6Further, "N6Gateway": s.n6Gateway, "N6Bits": prefixBits(s.n6Address),
		"N3Master": s.n3Master, "N6Master": s.n6Master,
		"Pool": s.pool, "Hugepages": s.hugepages, "Memory": s.memory, "Workers": s.workers,
		"Image": s.registry + "/ran:" + s.tag, "Routes": sorted,
	}
	all := template.Must(template.New("").Parse(manifestText))
	render := func(name string) string {
		var b strings.Builder
		if err := all.ExecuteTemplate(&b, name, data); err != nil {
			panic(err) // the template and its data stand side by side
		}
		return b.String()
	}
	return manifests{upf: render("upf"), slice: render("slice"), ran: render("ran"), dataNetwork: render("dn"), probe: render("probe")}
}
