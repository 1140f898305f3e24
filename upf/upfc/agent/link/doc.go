// Package link is upf-c's connection to upf-u. It dials, refuses a upf-u whose GTP-U addresses are others than upf-c's,
// has the connection's owner fill the one that it takes, and lends it to whoever has a transaction while it lives. A
// redundant unit's upf-u answers and forwards as far as it is granted (package fencing); that goes over here, too.
//
// It knows nothing of sessions, nor of PFCP: what upf-u is filled with is the owner's. Who grants has it from package
// agent (Agent.Link).
package link
