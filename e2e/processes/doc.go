// Package processes runs a core's functions as they ship, as processes of this machine, for what is measured without a cluster.
//
//	machine.go      a network and names of its own, in which every function has the Service's name that it has in a cluster
//	process.go      a process, its end, and what it has taken
//	credentials.go  certificates of one authority
//	store.go        the session store
//	await.go        waiting for what has to come true
package processes
