// Package subscriber is the controller of Subscribers, and how they are found among many.
package subscriber
