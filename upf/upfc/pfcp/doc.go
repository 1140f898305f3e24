// Package pfcp carries PFCP messages (TS 29.244) over UDP: requests in, each executed once however
// often it is repeated; requests out, repeated until answered. It knows messages and information
// elements, not sessions.
package pfcp
