// Package subscriberdata is the program subscriber-data: AUSF, UDM, UDR and NSSF of a core in one
// process, served straight from Subscriber, Slice and Core5G objects and Secrets. There is no database,
// and a change of an object is live at once.
//
//	subscription  the objects: from a Kubernetes namespace, or from a file of the same manifests
//	aka, suci     authentication vectors and sequence numbers; SUCI de-concealment
//	ausf … nssf   the four functions, each a set of operations
//	sbi, nrf      the service based interface; registration with the NRF
package subscriberdata
