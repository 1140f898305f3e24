// Package grafana does with a dashboard's JSON what Grafana would do: it puts values into the variables,
// asks Prometheus every query of every panel, and draws what comes back. Where no Grafana server is to be
// had, that shows that the panels have something to show, and what they show (Picture makes an SVG).
//
// It knows the kinds of panels, options and variables that core5g's dashboards use, and refuses others
// rather than to draw them wrong.
package grafana
