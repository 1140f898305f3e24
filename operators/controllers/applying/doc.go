// Package applying writes objects of the operator: server-side, by one field owner, and only where something differs; Services with the addresses that they
// had. It leaves alone what is somebody else's, and knows no kind's controller.
package applying
