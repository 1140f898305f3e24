// Package sim puts a gNB, its N3 and its UEs together out of a configuration, and lets them be used:
// pings, throughput and crafted packets from a chosen UE.
package sim
