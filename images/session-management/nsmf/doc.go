// Package nsmf is the service based interface that the SMF serves: Nsmf_PDUSession (TS 29.502 5.2.2 and 6.1), and the
// callbacks that it asks AMF, UDM, PCF and CHF for. It turns requests into plain structs, gives them to a Handler, and
// writes its answers; it decides nothing. The structs of the operations are written and read from one list of their
// members, so that the AMF's client, which writes the requests and reads the answers, has the same format.
//
// Requests are read one information element at a time, so that a refusal names the one that is wrong. What is not known
// is passed over, and null counts as absent. Every refusal of a Create or an Update is an SmContextCreateError or
// SmContextUpdateError in multipart/related, also where there is no binary part: free5GC's AMF looks at jsonData
// whatever the Content-Type.
//
//	create.go, update.go, release.go, retrieve.go   the operations on SM contexts
//	serve.go                                        routes, time limits, references
//	refusal.go                                      refusals and their causes
//	callbacks.go                                    what others are asked to call
package nsmf
