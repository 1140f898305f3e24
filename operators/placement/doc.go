// Package placement decides which node and NUMA cell each unit of a UPFInstance gets: a pure function
// from what is asked, what nodes have and what runs already, to a place a unit or a reason why there is
// none. It reads no cluster and no clock.
//
// All units of an instance ask for the same. A cell therefore has a number of units that fit into it, a
// node a number that its cells and maxPerNode let in, and filling places one after the other finds a
// plan whenever there is one. Units that run stay where they are; what is left is filled in the order of
// unit numbers, nodes and cells, so that the same question always has the same answer.
package placement
