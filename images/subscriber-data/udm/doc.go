// Package udm serves Nudm_SDM and Nudm_UECM (TS 29.503) from live subscriptions. Every resource of
// Nudm_SDM answers under v1 and v2 alike, because the SMF's client is a generation older than the AMF's.
package udm
