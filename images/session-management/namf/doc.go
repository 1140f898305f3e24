// Package namf is what the SMF asks of an AMF: messages to UEs and access networks (Namf_Communication
// N1N2MessageTransfer, TS 29.518 5.2.2.3.1), and what it tells it: the end of an SM context (TS 29.502 5.2.2.5).
//
// A transfer ends in an Outcome, or in an error: a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown. Reason sorts the
// refusals by what a session management does with them.
package namf
