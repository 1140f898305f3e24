// Package rules is the model of a PFCP session's rules (PDR, FAR, QER, URR of TS 29.244) and turns
// a request's IEs into the next set of rules, whole or not at all. It is pure: nothing here talks
// to upf-u or knows of slots.
package rules
