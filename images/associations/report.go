// Package associations is what a pod of the SMF says of its PFCP associations with UPF units: who makes units, or names them, cannot
// know it otherwise. It stands beside the pod's metrics, as JSON.
package associations

// Path of the report, and Sessions, the query that names units whose sessions are to be counted, by Node ID.
const (
	Path     = "/associations"
	Sessions = "sessions"
)

// Report of one pod.
type Report struct {
	// Shards that the pod holds.
	Shards []Shard `json:"shards"`
	// Sessions that all shards of the pod's set have at each unit that was asked for, by Node ID, as the session store counts them.
	Sessions map[string]int64 `json:"sessions,omitempty"`
}

// Shard is an SMF as units see it.
type Shard struct {
	Name string `json:"name"`
	// Node is its Node ID on N4.
	Node  string `json:"node"`
	Units []Unit `json:"units"`
}

// Unit is a UPF unit that the shard is to use.
type Unit struct {
	NodeID string `json:"nodeID"`
	// Associated: there is an association, and the path works.
	Associated bool `json:"associated"`
	// Problem says why there is none; "" while nothing is known yet.
	Problem string `json:"problem,omitempty"`
	// Lacks are the features (TS 29.244 8.2.25) without which the unit is not used.
	Lacks []string `json:"lacks,omitempty"`
}
