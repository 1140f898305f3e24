// Package peers waits until other programs listen. Network functions that end when a peer is missing
// get it as an init container, so that the order in which a core starts does not matter.
package peers
