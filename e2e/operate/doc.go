// Package operate holds the stories of whoever operates a core: everything is scraped, a healthy core
// alerts nobody, every panel of every dashboard has something to show under traffic, and an alert fires
// within two minutes of its cause and clears once that is gone. It runs on the cluster of `make up`, with
// Prometheus beside the core:
//
//	make e2e-operate
//
// It sets the chart's alert times short for itself (the chart's defaults wait for minutes), and leaves
// the release as it found it. Files are named after their level: a story may rely on those before it.
// What the dashboards showed is drawn into out/operate/*.svg.
package operate
