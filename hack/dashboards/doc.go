// Package dashboards holds the Grafana dashboards of a core as Go values, and turns them into the JSON
// that the chart ships as ConfigMaps (charts/core5g/files/dashboards, written by
// hack/dashboards/generate).
//
// A dashboard is a list of rows, a row a list of panels, a panel a few queries. What all have in common
// (data source, variables, places on the grid, colours) is added in build.go with the types of the Grafana
// Foundation SDK, so that a field that Grafana does not know does not compile.
//
// A panel either has data in any core that carries traffic, or says in its field Empty what it means that
// it has none ("nothing was dropped"). Grafana shows that text in the empty panel, and the suite
// e2e/operate, which runs every query against a real core, fails for an empty panel without one.
package dashboards
