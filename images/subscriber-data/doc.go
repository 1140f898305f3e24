// Package subscriberdata is the program subscriber-data: AUSF, UDM, UDR and NSSF of a core in one
// process, served straight from Subscriber, Slice and Core5G objects and Secrets, and where the core has one, from a database of
// subscribers beside them. A change of an object is live at once. What must be remembered of UEs lies in the session store, so that there may be
// several of these processes; without a store there is one, and it remembers in memory.
//
//	subscription  the objects: from a Kubernetes namespace, or from a file of the same manifests
//	postgresql    a database of subscribers
//	records       what is remembered
//	aka, suci     authentication vectors and sequence numbers; SUCI de-concealment
//	ausf … nssf   the four functions, each a set of operations
//	sbi, nrf      the service based interface; registration with the NRF
package subscriberdata
