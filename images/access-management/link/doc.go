// Package link is what N2 terminators and AMF workers say to each other: frames on a stream of octets.
//
// A worker connects to every terminator of the set. It says which shards it holds, under which epoch; the terminator says which
// associations there are, and hands over what their gNBs send. A message is the terminator's until the worker has said Done: whoever holds
// the shard next gets it again.
//
//	worker -> terminator   Hello, Holds, LetsGo, Send, Done, Keep, Remember, Share, HangUp
//	terminator -> worker   Welcome, Opened, Ended, Node, Deliver, NotSent
//
// Both ends ping with empty frames, so that a peer that is gone without a word is found.
//
//	frame.go   the frames      codec.go   octets      conn.go   a connection      memory.go   without a network
package link
