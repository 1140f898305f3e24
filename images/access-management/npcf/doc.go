// Package npcf is what the AMF asks of a PCF: a policy association for each UE (Npcf_AMPolicyControl, TS 29.507), and
// what the PCF calls back with. UE policies (Npcf_UEPolicyControl, TS 29.525) are not asked for: a PCF that wants to send
// some hears of it from the transfer of class UPDP, which is refused.
//
// A decision is plain data; Merge puts one that says only what has changed in force.
//
// Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown.
package npcf
