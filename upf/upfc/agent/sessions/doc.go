// Package sessions is what is done with sessions: the requests of CP functions (TS 29.244 6.3), from the plan of a change
// (package rules) over what upf-u is sent to the answer, and all else that makes a session, changes its rules or ends it. It
// has what sessions are compiled of and what is given to them: pairs of slots, NAT44 blocks, the numbers of groups, and it writes META.
//
// Package reports stands below: what a request makes due is handed to it. Packages filling and agent stand above.
package sessions
