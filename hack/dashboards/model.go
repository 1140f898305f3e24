package dashboards

// Dashboard is one page of Grafana.
type Dashboard struct {
	// UID is its file's name and part of its address in Grafana; it never changes.
	UID   string
	Title string
	About string
	// Select is the variable beside namespace, if any.
	Select *Select
	Rows   []Row
}

// Select is a variable whose values Prometheus knows: those of a label of a metric.
type Select struct {
	Name, Title string
	Metric      string // a selector
	Label       string
}

// Row is a heading and what stands below it.
type Row struct {
	Title  string
	Panels []Panel
}

// Kind is how a panel shows its queries' answers.
type Kind int

// The kinds of panels in use.
const (
	Lines Kind = iota // over time
	Area              // over time, stacked
	Number
	Bars  // one bar for each series, of the latest value
	Table // one line for each series of an instant query
)

// Panel is a panel.
type Panel struct {
	Title string
	About string
	Kind  Kind
	Unit  string // of Grafana's units
	Width uint32 // of 24
	// Max is the end of the axis, or of the bars, if it is not 0.
	Max float64
	// Warn and Bad colour what is at or above them, if Bad is not 0; below them where Low is set.
	Warn, Bad float64
	Low       bool
	// Empty says what it means that there are no data. Without it there always are.
	Empty   string
	Queries []Query
	// Columns of a table, by label, in order; the value is the last column if Value names it.
	Columns []Column
	Value   string
}

// Column is a label and what stands above it in a table.
type Column struct {
	Label, Title string
}

// Query is a question to Prometheus. $namespace, the dashboard's own variable and Grafana's
// $__rate_interval may stand in it.
type Query struct {
	Expr   string
	Legend string // {{label}} is replaced
}

// Folder is where the JSON files are, seen from the root of the repository.
const Folder = "charts/core5g/files/dashboards"

// All are the dashboards in the order of the README.
func All() []Dashboard {
	return []Dashboard{Core(), Slice(), UPF(), Workers(), N4(), Authentication(), Operator()}
}

func one(expr, legend string) []Query { return []Query{{Expr: expr, Legend: legend}} }
