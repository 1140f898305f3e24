// Package admission is the validating admission webhook of the operator: what a schema and its CEL rules,
// which see one object, cannot say is said when somebody applies it.
//
// A request is refused for what no later object can heal: UE pools, N3 endpoints or N6 addresses that another
// object or the cluster has, an S-NSSAI, SUPI or GPSI that is another's, a SUPI of a foreign PLMN, what this
// version does not deploy. What is only missing yet (a Slice before its UPFInstance, a Subscriber before its
// Slice) is a warning, because objects come in any order; and so is what a change restarts, and who still names
// what is deleted. An object that was wrong before may be changed as long as it does not become wrong in another
// way, and is never kept from being deleted.
//
// The rules are those of package specs, which the controllers' conditions come from too: the webhook may be
// switched off, or asleep, and nothing else changes. The API server therefore ignores a webhook that does not
// answer (failurePolicy Ignore): an operator that is down keeps nobody from working on a core. For the same
// reason a question that cannot be answered is no refusal.
//
// Two requests at the same time may each be right by itself. The younger of the two objects has the condition.
package admission
